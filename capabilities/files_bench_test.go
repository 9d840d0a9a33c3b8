//go:build linux

package capabilities

import (
	"os"
	"strings"
	"testing"
)

const benchPath = "a.txt"

func benchTree(b *testing.B) fileTree {
	tree := newFileTree(b)
	fileWrite(b, tree.own(benchPath), strings.Repeat("a", 1024))
	fileWrite(b, tree.own("sub/"+benchPath), "a")
	return tree
}

// BenchmarkFilesCheck is the gate: the file of the grant is opened and closed.
func BenchmarkFilesCheck(b *testing.B) {
	tree := benchTree(b)
	for _, path := range []string{benchPath, "sub/" + benchPath} {
		b.Run(strings.ReplaceAll(path, "/", "-in-"), func(b *testing.B) {
			reach := tree.reach(&path)
			b.ReportAllocs()
			for b.Loop() {
				if err := reach.Admit(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFilesRead is a host function's read of 1 KiB.
func BenchmarkFilesRead(b *testing.B) {
	reach := benchTree(b).reach(nil)
	request := fileRequest(b, "path", benchPath)
	b.ReportAllocs()
	for b.Loop() {
		if a, err := reach.Call(b.Context(), "read", request); err != nil || a.Status != OK {
			b.Fatal(a, err)
		}
	}
}

// BenchmarkOSReadFile is the same read with no check and no answer.
func BenchmarkOSReadFile(b *testing.B) {
	path := benchTree(b).own(benchPath)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := os.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
}
