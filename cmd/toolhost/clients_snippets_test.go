package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each piece of JavaScript in docs/clients.md stands, word for word, in a file
// that the page links and that a script runs; and each of those files has one.
func TestClientSnippets(t *testing.T) {
	raw, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	blocks := regexp.MustCompile("(?s)```js\n(.*?)```").FindAllStringSubmatch(page, -1)
	shown := make([]bool, len(blocks))
	for _, name := range []string{"openai", "anthropic", "google", "langchain"} {
		file, script := "testdata/mcp/"+name+".mjs", "testdata/scripts/clients_"+name+".txtar"
		for _, path := range []string{file, script} {
			if !strings.Contains(page, "(../"+path+")") {
				t.Errorf("no link to %s", path)
			}
		}
		if !strings.Contains(readText(t, script), "$ROOT/"+file+" ") {
			t.Errorf("%s does not run %s", script, file)
		}
		source, any := readText(t, file), false
		for i, block := range blocks {
			if strings.Contains(source, block[1]) {
				shown[i], any = true, true
			}
		}
		if !any {
			t.Errorf("the page shows nothing of %s", file)
		}
	}
	for i, ok := range shown {
		if !ok {
			t.Errorf("this stands in no file:\n%s", blocks[i][1])
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
