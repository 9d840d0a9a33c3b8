package contract

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

const smallSchema = `{"type":"object","additionalProperties":false,"required":["team"],"properties":{
	"team":{"enum":["delivery","payment"]},
	"order":{"anyOf":[{"type":"null"},{"type":"object","additionalProperties":false,"required":["order_id"],"properties":{"order_id":{"type":"string","pattern":"^LK-\\d{6}$","maxLength":9}}}]},
	"reply":{"type":"string","maxLength":20}}}`

func TestSchemaDoesNotLoad(t *testing.T) {
	for _, c := range []struct{ rule, schema, want string }{
		{"not-json", `{`, "s.json:1:2: "},
		{"name-twice", `{"type":"object","type":"object"}`, "a name stands twice"},
		{"no-object", `{"type":"string","maxLength":3}`, `must be a schema with "type": "object"`},
		{"open", `{"type":"object","properties":{}}`, "additionalProperties"},
		{"unbounded", strings.Replace(smallSchema, `,"maxLength":20`, "", 1), "/properties/reply"},
		{"misspelt", strings.Replace(smallSchema, "additionalProperties", "addtionalProperties", 1), `did you mean "additionalProperties"`},
		{"pattern-that-is-no-RE2", strings.Replace(smallSchema, `^LK-`, `(?=L)`, 1), "pattern"},
		{"tidied", strings.Replace(smallSchema, `"maxLength":20`, `"maxLength":20,"x-tidy":["trim"]`, 1), "is for arguments"},
		{"secret", strings.Replace(smallSchema, `"maxLength":20`, `"maxLength":20,"x-secret":true`, 1), "x-secret"},
	} {
		s, faults := ParseSchema("s.json", []byte(c.schema))
		if s != nil || len(faults) == 0 || !strings.Contains(faults[0].Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.rule, faults, c.want)
		}
	}
}

func TestSchemaChecks(t *testing.T) {
	s, faults := ParseSchema("s.json", []byte(smallSchema))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, c := range []struct{ rule, value, words string }{
		{"fits", `{"team":"delivery","order":{"order_id":"LK-581106"}}`, ""},
		{"null-branch", `{"team":"delivery","order":null}`, ""},
		{"missing", `{}`, "team is missing."},
		{"foreign", `{"team":"delivery","note":"x"}`, "note is not in the schema."},
		{"foreign-odd-name", `{"team":"delivery","\u202e":"x"}`, "(unprintable) is not in the schema."},
		{"none-of-the-values", `{"team":"sales"}`, "team is none of the values that the schema lists."},
		{"too-long", `{"team":"delivery","reply":"` + strings.Repeat("x", 21) + `"}`, "reply must have at most 20 characters."},
		{"no-object", `[]`, "The text is array, must be object."},
	} {
		v, err := strictjson.Read([]byte(c.value), strictjson.Default(1000))
		if err != nil {
			t.Fatal(err)
		}
		words := ""
		if err := s.Check(v); err != nil {
			words = err.(*Misfit).Words //nolint:errorlint // Check promises it
		}
		if words != c.words {
			t.Errorf("%s: %q, want %q", c.rule, words, c.words)
		}
	}
}
