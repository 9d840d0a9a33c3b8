package host

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/capabilities"
)

// docs/abi.md has the functions that the host offers and no others, each in the
// section of its module: a capability's in a row, the host's own under a number.
func TestDocumentedABI(t *testing.T) {
	raw, err := os.ReadFile("../docs/abi.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	var kinds []string
	for _, k := range capabilities.Kinds() {
		kinds = append(kinds, "`"+k.Name+"`")
	}
	if list := "named after kinds of capability (" + strings.Join(kinds, ", ") + ")"; !strings.Contains(page, list) {
		t.Errorf("A6 does not say %q", list)
	}
	function := regexp.MustCompile("(?m)^(?:\\| |\\*\\*A[0-9]+\\*\\* )`([a-z]+)`(?: \\||:)")
	for module, functions := range offer() {
		_, section, ok := strings.Cut(page, "\n## The module `"+module+"`\n")
		if !ok {
			t.Errorf("no section of the module %s", module)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var written []string
		for _, m := range function.FindAllStringSubmatch(section, -1) {
			written = append(written, m[1])
		}
		if !slices.Equal(slices.Sorted(slices.Values(written)), slices.Sorted(slices.Values(functions))) {
			t.Errorf("module %s: the page has %q, the host offers %q", module, written, functions)
		}
	}
}
