package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// written is a type as the cases below have it.
func written(t Type) string {
	switch t.Kind {
	case Text:
		return fmt.Sprintf("text(%d)", t.Most)
	case List:
		return fmt.Sprintf("list(%d) of %s", t.Most, written(*t.Item))
	case Object:
		var fields []string
		for _, f := range t.Fields {
			fields = append(fields, f.Name+": "+written(f.Type))
		}
		return t.Name + "{" + strings.Join(fields, ", ") + "}"
	case Unusable:
		return "unusable: " + t.Why
	default:
		return t.Kind.String()
	}
}

func TestFromSchema(t *testing.T) {
	const several = "unusable: " + severalKinds
	const noItems = "unusable: is a list whose items have no one type"
	for _, c := range []struct{ rule, schema, want string }{
		{"text-with-its-length", `{"type":"string","maxLength":20}`, "text(20)"},
		{"text-of-a-pattern", `{"type":"string","pattern":"^a$","maxLength":1}`, "text(1)"},
		{"const-is-as-long-as-it-is", `{"const":"été"}`, "text(3)"},
		{"longest-of-an-enum", `{"enum":["a","éééé","bb"]}`, "text(4)"},
		{"enum-with-a-type", `{"type":"string","enum":["a","bb"]}`, "text(2)"},
		{"enum-longer-than-maxLength", `{"type":"string","enum":["abc"],"maxLength":2}`, "text(3)"},
		{"enum-with-null", `{"enum":["a",null]}`, "text(1)"},
		{"enum-of-numbers", `{"enum":[1,2.5]}`, "number"},
		{"enum-of-several-kinds", `{"enum":["1",1]}`, several},
		{"enum-of-booleans", `{"enum":[true]}`, "boolean"},
		{"date", `{"type":"string","format":"date"}`, "date"},
		{"date-that-may-be-null", `{"type":["string","null"],"format":"date"}`, "date"},
		{"date-time", `{"type":"string","format":"date-time"}`, "time"},
		{"other-format-is-a-text", `{"type":"string","format":"email","maxLength":9}`, "text(9)"},
		{"integer", `{"type":"integer","minimum":0,"maximum":9}`, "number"},
		{"number", `{"type":"number","minimum":0,"maximum":9}`, "number"},
		{"integer-or-number", `{"type":["integer","number"]}`, "number"},
		{"boolean", `{"type":"boolean"}`, "boolean"},
		{"null-first", `{"type":["null","integer"]}`, "number"},
		{"null-alone", `{"type":"null"}`, several},
		{"list-of-types", `{"type":["string","number"],"maxLength":2}`, several},
		{"anyOf-with-null", `{"anyOf":[{"type":"null"},{"type":"string","maxLength":7}]}`, "text(7)"},
		{"oneOf-with-null", `{"oneOf":[{"type":"number"},{"type":"null"}]}`, "number"},
		{"anyOf-takes-the-longest", `{"anyOf":[{"type":"string","maxLength":7},{"type":"string","maxLength":9},{"const":"x"}]}`, "text(9)"},
		{"anyOf-of-two-kinds", `{"anyOf":[{"type":"string","maxLength":7},{"type":"number"}]}`, several},
		{"anyOf-of-a-date-and-a-text", `{"anyOf":[{"type":"string","format":"date"},{"type":"string","maxLength":3}]}`, several},
		{"anyOf-of-two-objects", `{"anyOf":[{"type":"object","properties":{"a":{"type":"number"}}},{"type":"object","properties":{}}]}`, several},
		{"anyOf-of-an-object-and-null", `{"anyOf":[{"type":"object","properties":{"a":{"type":"number"}}},{"type":"null"}]}`, "x{a: number}"},
		{"anyOf-of-two-lists", `{"anyOf":[{"type":"array","maxItems":1,"items":{"type":"number"}},{"type":"array","maxItems":2,"items":{"type":"number"}}]}`, several},
		{"anyOf-of-a-list-and-null", `{"anyOf":[{"type":"null"},{"type":"array","maxItems":1,"items":{"type":"number"}}]}`, "list(1) of number"},
		{"anyOf-of-an-unusable-one", `{"anyOf":[{"type":["string","number"]},{"type":"string","maxLength":1}]}`, several},
		{"anyOf-of-an-unusable-one-last", `{"anyOf":[{"type":"string","maxLength":1},{"type":["string","number"]}]}`, several},
		{"anyOf-of-null-alone", `{"anyOf":[{"type":"null"}]}`, several},
		{"anyOf-that-narrows-a-type", `{"type":"string","maxLength":5,"anyOf":[{"const":"a"},{"maxLength":3}]}`, "text(5)"},
		{"anyOf-and-oneOf", `{"anyOf":[{"type":"string","maxLength":5}],"oneOf":[{"type":"string","maxLength":9}]}`, "text(5)"}, // both must hold
		{"nothing-at-all", `{}`, "unusable: has no type in its schema"},
		{"ref", `{"$ref":"#/$defs/money","$defs":{"money":{"type":"number"}}}`, "number"},
		{"ref-to-a-ref", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string","maxLength":3}}}`, "text(3)"},
		{"ref-in-anyOf", `{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"type":"boolean"}}}`, "boolean"},
		{"ref-to-null-is-not-looked-through", `{"anyOf":[{"$ref":"#/$defs/no"},{"type":"number"}],"$defs":{"no":{"type":"null"}}}`, several},
		{"ref-to-nothing", `{"$ref":"#/$defs/a"}`, "unusable: has no type in its schema"},
		{"object", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string","maxLength":2}}}`, "x{a: number, b: text(2)}"},
		{"object-in-an-object", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"boolean"}}}}}`, "x{a: x.a{b: boolean}}"},
		{"object-without-members", `{"type":"object","properties":{}}`, "x{}"},
		{"object-without-properties", `{"type":"object"}`, "unusable: is an object without named members"},
		{"member-that-is-unusable", `{"type":"object","properties":{"a":{"type":["string","number"]}}}`, "x{a: " + several + "}"},
		{"one-definition-twice", `{"type":"object","properties":{"a":{"$ref":"#/$defs/o"},"b":{"$ref":"#/$defs/o"}},"$defs":{"o":{"type":"object","properties":{"n":{"type":"number"}}}}}`, "x{a: x.a{n: number}, b: x.b{n: number}}"},
		{"list", `{"type":"array","maxItems":5,"items":{"type":"string","maxLength":2}}`, "list(5) of text(2)"},
		{"list-of-objects", `{"type":"array","maxItems":5,"items":{"type":"object","properties":{"a":{"type":"number"}}}}`, "list(5) of x{a: number}"},
		{"list-of-lists", `{"type":"array","maxItems":5,"items":{"type":"array","maxItems":2,"items":{"type":"number"}}}`, "list(5) of list(2) of number"},
		{"list-without-an-end", `{"type":"array","items":{"type":"number"}}`, noItems},
		{"list-of-anything", `{"type":"array","maxItems":5}`, noItems},
		{"list-of-places", `{"type":"array","maxItems":2,"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, noItems},
		{"list-of-nothing", `{"type":"array","maxItems":0,"items":false}`, noItems},
		{"list-of-several-kinds", `{"type":"array","maxItems":5,"items":{"type":["string","number"]}}`, several},
	} {
		t.Run(c.rule, func(t *testing.T) {
			schema, err := strictjson.Read([]byte(c.schema), strictjson.Default(2000))
			if err != nil {
				t.Fatal(err)
			}
			of := FromSchema("x", schema)
			if got := written(of); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if _, err := NewEnv([]Field{{"x", of}}); err != nil {
				t.Errorf("no environment: %v", err)
			}
		})
	}
}
