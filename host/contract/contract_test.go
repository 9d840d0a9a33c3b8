package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// wrap puts one property's schema into a contract that is otherwise good.
func wrap(property string) string {
	return whole(`{"type":"object","additionalProperties":false,"properties":{"x":` + property + `}}`)
}

func whole(input string) string {
	return `{"name":"t","description":"d","inputSchema":` + input + `,"outputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`
}

func read(t testing.TB, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Read([]byte(text), strictjson.Default(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func load(t testing.TB, text string) *Contract {
	t.Helper()
	c, faults := Parse("contract.json", []byte(text))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return c
}

func TestDoesNotLoad(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"open-object":                 {whole(`{"type":"object","properties":{}}`), `/inputSchema: an object needs "additionalProperties": false`},
		"open-nested-object":          {wrap(`{"type":"object","properties":{}}`), `/properties/x: an object needs "additionalProperties": false`},
		"object-open-by-true":         {whole(`{"type":"object","properties":{},"additionalProperties":true}`), `needs "additionalProperties": false`},
		"object-open-by-schema":       {whole(`{"type":"object","properties":{},"additionalProperties":{"type":"null"}}`), `needs "additionalProperties": false`},
		"object-opened-by-pattern":    {whole(`{"type":"object","properties":{},"additionalProperties":false,"patternProperties":{"^x":{"type":"null"}}}`), `patternProperties: may not be used`},
		"misspelt-closing":            {whole(`{"type":"object","properties":{},"addtionalProperties":false}`), `unknown keyword (did you mean "additionalProperties"?)`},
		"misspelt-bound":              {wrap(`{"type":"string","maxlength":5}`), `/maxlength: unknown keyword (did you mean "maxLength"?)`},
		"string-without-bound":        {wrap(`{"type":"string","pattern":"^a$"}`), `a string needs maxLength`},
		"string-or-null-without":      {wrap(`{"type":["null","string"]}`), `a string needs maxLength`},
		"string-with-open-format":     {wrap(`{"type":"string","format":"uri"}`), `a string needs maxLength`},
		"number-without-maximum":      {wrap(`{"type":"number","minimum":0}`), `a number needs maximum`},
		"integer-without-minimum":     {wrap(`{"type":"integer","maximum":9}`), `a number needs minimum`},
		"array-without-maximum":       {wrap(`{"type":"array","items":{"type":"null"}}`), `an array needs maxItems`},
		"array-of-anything":           {wrap(`{"type":"array","maxItems":3}`), `an array needs items`},
		"array-of-open-strings":       {wrap(`{"type":"array","maxItems":3,"items":{"type":"string"}}`), `/x/items: a string needs maxLength`},
		"no-type":                     {wrap(`{"maxLength":5}`), `accepts anything`},
		"empty-schema":                {wrap(`{}`), `accepts anything`},
		"true-schema":                 {wrap(`true`), `accepts anything`},
		"anyof-with-an-open-branch":   {wrap(`{"anyOf":[{"type":"null"},{"type":"string"}]}`), `/anyOf/1: a string needs maxLength`},
		"allof-bounds-nothing":        {wrap(`{"allOf":[{"type":"string","maxLength":5}]}`), `accepts anything`},
		"ref-to-a-file":               {wrap(`{"$ref":"file:///etc/passwd"}`), `reaches nothing outside its file`},
		"ref-to-the-network":          {wrap(`{"$ref":"https://example.com/s.json#/$defs/a"}`), `reaches nothing outside its file`},
		"ref-to-another-file":         {wrap(`{"$ref":"other.json"}`), `reaches nothing outside its file`},
		"ref-to-nothing":              {wrap(`{"$ref":"#/$defs/missing"}`), `reaches nothing outside its file`},
		"ref-to-the-root":             {wrap(`{"$ref":"#"}`), `reaches nothing outside its file`},
		"ref-in-a-cycle":              {whole(`{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","maxItems":2,"items":{"$ref":"#/$defs/a"}}}}`), `refers to itself`},
		"unbounded-definition":        {whole(`{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`), `/$defs/a: a string needs maxLength`},
		"ref-in-dynamic-form":         {wrap(`{"$dynamicRef":"#x"}`), `may not be used`},
		"id":                          {wrap(`{"$id":"https://example.com/x","type":"null"}`), `/$id: may not be used`},
		"another-draft":               {whole(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"properties":{}}`), `must be https://json-schema.org/draft/2020-12/schema`},
		"pattern-with-lookahead":      {wrap(`{"type":"string","maxLength":9,"pattern":"^(?!a)"}`), `RE2 cannot compile it`},
		"pattern-with-backreference":  {wrap(`{"type":"string","maxLength":9,"pattern":"(a)\\1"}`), `RE2 cannot compile it`},
		"pattern-under-not":           {wrap(`{"type":"string","maxLength":9,"not":{"pattern":"(?=a)"}}`), `/not/pattern: RE2 cannot compile it`},
		"format-unknown":              {wrap(`{"type":"string","maxLength":9,"format":"iban"}`), `no format that toolhost asserts`},
		"format-regex":                {wrap(`{"type":"string","maxLength":9,"format":"regex"}`), `no format that toolhost asserts`},
		"default":                     {wrap(`{"type":"null","default":null}`), `toolhost fills in nothing`},
		"required-but-no-property":    {whole(`{"type":"object","additionalProperties":false,"properties":{},"required":["id"]}`), `asks for "id", which is no property`},
		"definitions-that-double":     {whole(doubling("properties")), `could take more than 20000 steps`},
		"allof-that-doubles":          {whole(doubling("allOf")), `could take more than 20000 steps`},
		"pattern-of-a-thousand":       {wrap(`{"type":"string","maxLength":500,"pattern":"^(?:` + strings.Repeat("(a?)", 200) + `){1000}$"}`), `costs too much`},
		"pattern-for-long-texts":      {wrap(`{"type":"string","maxLength":16000,"pattern":"^([a-z]+ ?){1,400}$"}`), `costs too much`},
		"four-thousand-per-item":      {wrap(`{"type":"array","maxItems":400,"items":{"type":"integer","minimum":0,"maximum":9,"allOf":[{"minimum":0}` + strings.Repeat(`,{"minimum":0}`, 3999) + `]}}`), `could take more than 20000 steps`},
		"pattern-under-anyof":         {wrap(`{"type":"string","maxLength":10,"anyOf":[{"pattern":"^(a?b?){700}$"}]}`), `costs too much`},
		"ten-patterns-for-long-texts": {wrap(`{"type":"string","maxLength":9,"allOf":[{"pattern":"^a{100}$"}` + strings.Repeat(`,{"pattern":"^a{100}$"}`, 9) + `]}`), `could take more than 20000 steps`},
		"own-keyword-by-name-alone":   {whole(`{"type":"object","additionalProperties":false,"properties":{"properties":{"type":"array","maxItems":1,"items":{"type":"null","x-secret":true}}}}`), `stands only at a named property`},
		"bound-that-would-wrap":       {wrap(`{"type":"string","maxLength":18446744073709551617}`), `/maxLength: must be a whole number from 0 to 2147483647`},
		"bound-with-exponent":         {wrap(`{"type":"string","maxLength":1e64}`), `/maxLength: must be a whole number`},
		"properties-that-fold":        {whole(`{"type":"object","additionalProperties":false,"properties":{"id":{"type":"null"},"ID":{"type":"null"}}}`), `differs from "id" by case alone`},
		"property-named-as-ours":      {whole(`{"type":"object","additionalProperties":false,"properties":{"x-secret":{"type":"null"}}}`), `is a keyword of toolhost`},
		"output-folds-to-envelope":    {`{"name":"t","description":"d","inputSchema":{"type":"object","additionalProperties":false,"properties":{}},"outputSchema":{"type":"object","additionalProperties":false,"properties":{"o\u212a":{"type":"null"}}}}`, `is a name of the host's envelope`},
		"ref-with-siblings":           {whole(`{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/a","properties":{"pin":{"type":"null"}}}},"$defs":{"a":{"type":"object","additionalProperties":false,"properties":{"pin":{"type":"string","maxLength":4,"x-secret":true}}}}}`), `/properties/x/properties: may not stand beside $ref`},
		"keyword-with-a-newline":      {wrap(`{"type":"null","a\nb":1}`), `/x/a\nb: unknown keyword`},
		"number-as-type":              {wrap(`{"type":5}`), `/inputSchema/properties/x/type: is no JSON Schema 2020-12: `},
		"unknown-type":                {wrap(`{"type":"text"}`), `/inputSchema/properties/x/type: is no JSON Schema 2020-12: `},
		"bound-as-a-string":           {wrap(`{"type":"integer","minimum":"1","maximum":2}`), `/inputSchema/properties/x/minimum: is no JSON Schema 2020-12: is string, must be number`},
		"place-of-broken-json":        {"{\n \"name\": \"t\",\n}", `contract.json:2:13: not JSON`},
		"place-of-x-tidy":             {wrap(`{"type":"string","maxLength":9,"x-tidy":"trim"}`), `/inputSchema/properties/x/x-tidy: x-tidy must be a list`},
		"input-not-an-object":         {whole(`{"type":"null"}`), `must be a schema with "type": "object"`},
		"x-tidy-unknown":              {wrap(`{"type":"string","maxLength":9,"x-tidy":["lower"]}`), `x-tidy must be a list of "trim" and "upper"`},
		"x-tidy-on-an-item":           {wrap(`{"type":"array","maxItems":1,"items":{"type":"string","maxLength":9,"x-tidy":["trim"]}}`), `stands only at a named property`},
		"x-tidy-under-anyof":          {wrap(`{"anyOf":[{"type":"object","additionalProperties":false,"properties":{"y":{"type":"string","maxLength":9,"x-tidy":["trim"]}}}]}`), `count only where properties, items and $ref lead`},
		"x-words-too-long":            {wrap(`{"type":"null","x-words":"` + strings.Repeat("a", 301) + `"}`), `x-words must be a string of 1 to 300`},
		"x-secret-false":              {wrap(`{"type":"null","x-secret":false}`), `x-secret can only be true`},
		"x-unknown":                   {wrap(`{"type":"null","x-sercet":true}`), `unknown keyword (did you mean "x-secret"?)`},
		"unknown-key-of-the-contract": {`{"name":"t","description":"d","annotations":{},"inputSchema":{"type":"object","additionalProperties":false,"properties":{}},"outputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`, `/annotations: unknown key`},
		"no-output-schema":            {`{"name":"t","description":"d","inputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`, `outputSchema is missing`},
		"output-names-the-envelope":   {`{"name":"t","description":"d","inputSchema":{"type":"object","additionalProperties":false,"properties":{}},"outputSchema":{"type":"object","additionalProperties":false,"properties":{"pending":{"type":"null"}}}}`, `is a name of the host's envelope`},
		"duplicate-key":               {`{"name":"t","name":"u"}`, `a name stands twice`},
		"not-json":                    {`name = "t"`, `not JSON`},
		"array":                       {`[]`, `must be one JSON object`},
		"huge-exponent":               {wrap(`{"type":"number","minimum":0,"maximum":1e10000000}`), `exponent beyond the limit`},
	} {
		t.Run(name, func(t *testing.T) {
			c, faults := Parse("contract.json", []byte(tt.text))
			if c != nil || len(faults) == 0 {
				t.Fatal("loaded")
			}
			if all := fmt.Sprintf("%v", faults); !strings.Contains(all, tt.want) {
				t.Errorf("faults %s\nlack %s", all, tt.want)
			}
		})
	}
}

// doubling has 18 definitions, each of which names the next one twice.
func doubling(how string) string {
	var defs []string
	for i := range 18 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		if how == "allOf" {
			defs = append(defs, fmt.Sprintf(`"d%d":{"type":"integer","minimum":0,"maximum":9,"allOf":[%s,%s]}`, i, next, next))
		} else {
			defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","additionalProperties":false,"properties":{"a":%s,"b":%s}}`, i, next, next))
		}
	}
	defs = append(defs, `"d18":{"type":"null"}`)
	return `{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, faults := Parse("contract.json", []byte(wrap(`{"type":["string","number"],"format":"iban","pattern":"(?!"}`)))
	if len(faults) != 5 {
		t.Errorf("got %d faults: %v", len(faults), faults)
	}
}

func TestArguments(t *testing.T) {
	for name, tt := range map[string]struct{ schema, text, want, field, words string }{
		"fits":                       {`{"type":"string","maxLength":9,"pattern":"^(LK|BB)-\\d{6}$"}`, `{"x":"LK-581106"}`, `{"x":"LK-581106"}`, "", ""},
		"newline-is-not-the-end":     {`{"type":"string","maxLength":10,"pattern":"^LK-\\d{6}$"}`, `{"x":"LK-581106\n"}`, "", "x", `x does not match its pattern.`},
		"digits-are-ascii":           {`{"type":"string","maxLength":9,"pattern":"^\\d$"}`, `{"x":"٣"}`, "", "x", `x does not match its pattern.`},
		"words-of-the-contract":      {`{"type":"string","maxLength":9,"pattern":"^a$","x-words":"Only a."}`, `{"x":"b"}`, "", "x", `Only a.`},
		"nothing-is-coerced":         {`{"type":"integer","minimum":0,"maximum":9}`, `{"x":"5"}`, "", "x", `x is string, must be integer.`},
		"integer-with-fraction":      {`{"type":"integer","minimum":0,"maximum":9}`, `{"x":2.0}`, "", "x", `x must be a whole number, written without fraction or exponent.`},
		"integer-with-exponent":      {`{"type":["integer","null"],"minimum":0,"maximum":99}`, `{"x":2e1}`, "", "x", `x must be a whole number, written without fraction or exponent.`},
		"integers-in-an-array":       {`{"type":"array","maxItems":2,"items":{"type":"integer","minimum":0,"maximum":9}}`, `{"x":[1,1.0]}`, "", "x.1", `x.1 must be a whole number, written without fraction or exponent.`},
		"integer-or-null-by-anyof":   {`{"anyOf":[{"type":"integer","minimum":0,"maximum":9},{"type":"null"}]}`, `{"x":2.0}`, "", "x", `x must be a whole number, written without fraction or exponent.`},
		"integers-by-enum":           {`{"enum":[1,2,"many"]}`, `{"x":2.0}`, "", "x", `x must be a whole number, written without fraction or exponent.`},
		"number-behind-a-ref":        {`{"anyOf":[{"type":"integer","minimum":0,"maximum":9},{"$ref":"#/$defs/n"}]}`, `{"x":2.5}`, `{"x":2.5}`, "", ""},
		"number-or-integer-branch":   {`{"anyOf":[{"type":"integer","minimum":0,"maximum":9},{"type":"number","minimum":0,"maximum":9}]}`, `{"x":2.5}`, `{"x":2.5}`, "", ""},
		"hex-by-exact-repeat":        {`{"type":"string","maxLength":1000,"pattern":"^[0-9a-f]{1000}$"}`, `{"x":"` + strings.Repeat("a", 1000) + `"}`, `{"x":"` + strings.Repeat("a", 1000) + `"}`, "", ""},
		"letters-by-range-repeat":    {`{"type":"string","maxLength":1000,"pattern":"^[\\p{L}\\p{N} .,'-]{1,1000}$"}`, `{"x":"é"}`, `{"x":"é"}`, "", ""},
		"number-with-fraction":       {`{"type":["integer","number"],"minimum":0,"maximum":9}`, `{"x":2.0}`, `{"x":2.0}`, "", ""},
		"long-text-meets-no-pattern": {`{"type":"string","maxLength":3,"pattern":"^a+$","x-words":"Only a."}`, `{"x":"` + strings.Repeat("b", 9999) + `"}`, "", "x", `Only a.`},
		"long-list-makes-one-error":  {`{"type":"array","maxItems":3,"items":{"anyOf":[{"type":"null"},{"type":"boolean"}]}}`, `{"x":[` + strings.Repeat("{},", 9999) + `{}]}`, "", "x", `x must have at most 3 items.`},
		"unknown-argument":           {`{"type":"null"}`, `{"x":null,"customer_id":"C-1"}`, "", "customer_id", `t takes no argument "customer_id".`},
		"unknown-before-unfit":       {`{"type":"null"}`, `{"x":1,"a":1,"b":2}`, "", "a", `t takes no argument "a".`},
		"unprintable-name":           {`{"type":"null"}`, `{"x":null,"a\u202eb":1}`, "", "(unprintable)", `t takes no argument "(unprintable)".`},
		"case-folded-name":           {`{"type":"null"}`, `{"X":null}`, "", "X", `t takes no argument "X".`},
		"real-date":                  {`{"type":["string","null"],"format":"date"}`, `{"x":"2024-02-29"}`, `{"x":"2024-02-29"}`, "", ""},
		"no-such-day":                {`{"type":["string","null"],"format":"date"}`, `{"x":"2026-02-30"}`, "", "x", `x must be a day of the calendar, YYYY-MM-DD.`},
		"date-time":                  {`{"type":"string","format":"date-time"}`, `{"x":"2026-10-15T10:00:00.5Z"}`, `{"x":"2026-10-15T10:00:00.5Z"}`, "", ""},
		"date-time-endless":          {`{"type":"string","format":"date-time"}`, `{"x":"2026-10-15T10:00:00.` + strings.Repeat("5", 500) + `Z"}`, "", "x", `x must be of the format date-time.`},
		"trim":                       {`{"type":"string","maxLength":9,"minLength":1,"x-tidy":["trim"]}`, `{"x":"\u3000 a b\t"}`, `{"x":"a b"}`, "", ""},
		"trim-to-nothing":            {`{"type":"string","maxLength":9,"minLength":1,"x-tidy":["trim"]}`, `{"x":"   "}`, "", "x", `x must have at least 1 character.`},
		"trim-and-upper":             {`{"type":"string","maxLength":4,"pattern":"^E\\d{3}$","x-tidy":["trim","upper"]}`, `{"x":" e001 "}`, `{"x":"E001"}`, "", ""},
		"upper-is-ascii":             {`{"type":"string","maxLength":4,"pattern":"^S\\d{3}$","x-tidy":["upper"]}`, `{"x":"ſ001"}`, "", "x", `x does not match its pattern.`},
		"tidy-through-ref-and-deep":  {`{"type":"object","additionalProperties":false,"properties":{"y":{"type":"array","maxItems":2,"items":{"type":"object","additionalProperties":false,"properties":{"z":{"type":"string","maxLength":2,"x-tidy":["upper"]}}}}}}`, `{"x":{"y":[{"z":"a"},{}]}}`, `{"x":{"y":[{"z":"A"},{}]}}`, "", ""},
		"place-in-an-array":          {`{"type":"array","maxItems":2,"items":{"type":"boolean"}}`, `{"x":[true,1]}`, "", "x.1", `x.1 is number, must be boolean.`},
		"exact-at-the-bound":         {`{"type":"number","exclusiveMinimum":0,"maximum":100000}`, `{"x":100000.00000000000000000000000000001}`, "", "x", `x must be at most 100000.`},
		"more-than":                  {`{"type":"number","exclusiveMinimum":0.5,"maximum":9}`, `{"x":0.50}`, "", "x", `x must be more than 0.5.`},
		"above-2^53":                 {`{"type":"integer","minimum":0,"maximum":9007199254740993}`, `{"x":9007199254740993}`, `{"x":9007199254740993}`, "", ""},
		"choice":                     {`{"oneOf":[{"type":"null"},{"type":"boolean"}]}`, `{"x":5}`, "", "x", `x does not fit the schema of t.`},
		"characters-not-bytes":       {`{"type":"string","maxLength":2}`, `{"x":"读书"}`, `{"x":"读书"}`, "", ""},
		"array-is-no-object":         {`{"type":"null"}`, `[]`, "", "", `The arguments of t must be one JSON object.`},
		"null-is-no-object":          {`{"type":"null"}`, `null`, "", "", `The arguments of t must be one JSON object.`},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, strings.Replace(wrap(tt.schema), `"properties"`, `"$defs":{"n":{"type":"number","minimum":0,"maximum":9}},"properties"`, 1))
			for range 20 { // the validator goes through Go maps; the answer must not
				v, err := c.Arguments(read(t, tt.text))
				if tt.words == "" {
					if err != nil || string(v.AppendJSON(nil)) != tt.want {
						t.Fatalf("got %s, %v", v.AppendJSON(nil), err)
					}
					continue
				}
				var m *Misfit
				if !errors.As(err, &m) || m.Field != tt.field || m.Words != tt.words {
					t.Fatalf("got %#v, %v", m, err)
				}
			}
		})
	}
}

func TestModelsSeeNoKeywordOfOurs(t *testing.T) {
	c := load(t, wrap(`{"type":"string","maxLength":9,"x-tidy":["trim"],"x-words":"w","x-secret":true,"description":"kept"}`))
	if got := string(c.Input.AppendJSON(nil)); strings.Contains(got, "x-") || !strings.Contains(got, "kept") {
		t.Error(got)
	}
	c = load(t, whole(`{"type":"object","additionalProperties":false,"properties":{"examples":{"type":"string","maxLength":1,"x-words":"w","x-secret":true},"enum":{"type":"null","x-words":"w"}}}`))
	if got := string(c.Input.AppendJSON(nil)); strings.Contains(got, "x-") || !strings.Contains(got, `"examples":{"type"`) {
		t.Error(got)
	}
	c = load(t, wrap(`{"enum":[{"x-words":1}],"x-words":"w"}`))
	if got := string(c.Input.AppendJSON(nil)); !strings.Contains(got, `"enum":[{"x-words":1}]`) || strings.Contains(got, `"w"`) {
		t.Error(got)
	}
}

func TestRequiredText(t *testing.T) {
	c := load(t, whole(`{"type":"object","additionalProperties":false,"required":["a","n","r"],"properties":{
		"a":{"type":"string","maxLength":9},"n":{"type":"null"},"o":{"type":"string","maxLength":9},"r":{"$ref":"#/$defs/id"}},
		"$defs":{"id":{"type":"string","maxLength":9}}}`))
	for name, want := range map[string]bool{"a": true, "r": true, "n": false, "o": false, "none": false} {
		if got := c.RequiresText(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A list and a member of no name are not the same place.
func TestSecretInAListBesideANamelessMember(t *testing.T) {
	c := load(t, wrap(`{"type":["array","object"],"maxItems":2,"additionalProperties":false,"properties":{"":{"type":"null"}},"items":{"type":"object","additionalProperties":false,"properties":{"pin":{"type":"string","maxLength":4,"x-secret":true}}}}`))
	if got := string(c.RedactedArguments(read(t, `{"x":[{"pin":"1234"}]}`)).AppendJSON(nil)); strings.Contains(got, "1234") {
		t.Error(got)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	c := load(t, wrap(`{"type":"array","maxItems":2,"items":{"type":"object","additionalProperties":false,"properties":{"pin":{"type":"string","maxLength":4,"x-secret":true},"n":{"type":"null"}}}}`))
	v := c.RedactedArguments(read(t, `{"x":[{"pin":"1234","n":null}]}`))
	if got := string(v.AppendJSON(nil)); got != `{"x":[{"pin":"(secret)","n":null}]}` {
		t.Error(got)
	}
	if got := c.Secrets(read(t, `{"x":[{"pin":"1234","n":null},{"pin":"99"}]}`)); !slices.Equal(got, []string{"1234", "99"}) {
		t.Error(got)
	}
}

// FuzzParse: a contract loads or has faults, never both, and never panics;
// what loaded takes any JSON without panic.
func FuzzParse(f *testing.F) {
	f.Add(wrap(`{"type":"string","maxLength":9,"x-tidy":["trim"]}`), `{"x":" a "}`)
	f.Add(whole(`{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"enum":[1]}}}`), `{"x":1}`)
	f.Add(wrap(`{"anyOf":[{"type":"null"},{"const":1e2}],"not":{"type":"null"}}`), `{"x":1e2}`)
	f.Fuzz(func(t *testing.T, text, args string) {
		c, faults := Parse("contract.json", []byte(text))
		if (c == nil) == (len(faults) == 0) {
			t.Fatalf("contract %v, faults %v", c, faults)
		}
		v, err := strictjson.Read([]byte(args), strictjson.Default(4096))
		if c == nil || err != nil {
			return
		}
		_, _ = c.Arguments(v)
		_ = c.Result(v)
	})
}

func BenchmarkArguments(b *testing.B) {
	c := load(b, wrap(`{"type":"string","maxLength":9,"pattern":"^(LK|BB)-\\d{6}$"}`))
	v := read(b, `{"x":"LK-581106"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Arguments(v); err != nil {
			b.Fatal(err)
		}
	}
}
