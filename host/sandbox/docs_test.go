package sandbox

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A17 of docs/abi.md lists the functions of WASI that there are, and no others.
func TestDocumentedWASI(t *testing.T) {
	raw, err := os.ReadFile("../../docs/abi.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "there are, with their standard signatures: ")
	list, _, _ = strings.Cut(list, ". ")
	var written []string
	for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(list, -1) {
		written = append(written, m[1])
	}
	if want := slices.Sorted(maps.Keys(wasiFunctions())); !slices.Equal(written, want) {
		t.Errorf("the page has %q, there are %q", written, want)
	}
}
