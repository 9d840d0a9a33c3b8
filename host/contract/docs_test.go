package contract

import (
	"os"
	"regexp"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// The contract that docs/contract.md shows loads and does what it says.
func TestExampleOfTheDocs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(raw)
	if m == nil {
		t.Fatal("docs/contract.md has no example")
	}
	c := load(t, string(m[1]))
	v, err := c.Arguments(read(t, `{"employee":" e001 "}`))
	if got := string(v.AppendJSON(nil)); err != nil || got != `{"employee":"E001"}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := c.Arguments(strictjson.Value{}); err == nil {
		t.Error("no value fits")
	}
}
