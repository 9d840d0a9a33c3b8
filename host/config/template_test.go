package config

import (
	"reflect"
	"testing"
)

// readTemplate reads one string as the template of a key.
func readTemplate(source string, takes ...Space) (Template, *reader) {
	r := &reader{file: "config.toml", env: testOptions().Env, attributes: []string{"customer", "ticket"}}
	table := newTable(1)
	child(table, part{key: "key", line: 1}).scalar = source
	t, ok := section{r: r, node: table}.template("key", takes...)
	if ok != (len(r.faults) == 0) {
		panic("ok and the faults do not agree")
	}
	return t, r
}

func TestTemplateRenders(t *testing.T) {
	values := map[Ref]string{
		{Space: SpaceArgs, Name: "order_id"}:   "{args.other}",
		{Space: SpaceSession, Name: "tenant"}:  "larkfield",
		{Space: SpaceSession, Name: "subject"}: "",
	}
	resolve := func(ref Ref) (string, bool) { v, ok := values[ref]; return v, ok }
	cases := []struct {
		rule, source, want string
		ok                 bool
	}{
		{"literal-is-itself", "plain", "plain", true},
		{"reference-is-its-value", "{session.tenant}", "larkfield", true},
		{"text-around-references-stays", "a {session.tenant}-{args.order_id} b", "a larkfield-{args.other} b", true},
		{"value-is-never-parsed-again", "{args.order_id}", "{args.other}", true},
		{"empty-value-is-a-value", "[{session.subject}]", "[]", true},
		{"absent-value-renders-nothing", "x {args.absent}", "", false},
		{"environment-is-literal", "{env.DESK}", "var/{args.x}.db", true},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			tmpl, r := readTemplate(c.source, SpaceSession, SpaceArgs, SpaceEnv)
			if len(r.faults) > 0 {
				t.Fatal(r.err())
			}
			got, ok := tmpl.Render(resolve)
			if got != c.want || ok != c.ok {
				t.Errorf("got %q, %v", got, ok)
			}
			if tmpl.String() != c.source {
				t.Errorf("String gives %q", tmpl.String())
			}
		})
	}
}

func TestTemplateLiteralAndRefs(t *testing.T) {
	tmpl, _ := readTemplate("{session.tenant} {args.a} {env.DESK} {args.a}", SpaceSession, SpaceArgs, SpaceEnv)
	want := []Ref{{SpaceSession, "tenant"}, {SpaceArgs, "a"}, {SpaceArgs, "a"}}
	if got := tmpl.Refs(); !reflect.DeepEqual(got, want) {
		t.Errorf("refs %v, want %v", got, want)
	}
	if text, ok := tmpl.Literal(); ok {
		t.Errorf("a template with references is the literal %q", text)
	}
	tmpl, _ = readTemplate("plain")
	if text, ok := tmpl.Literal(); !ok || text != "plain" {
		t.Errorf("literal %q, %v", text, ok)
	}
}

func TestZeroTemplateGivesNothing(t *testing.T) {
	var zero Template
	if _, ok := zero.Literal(); ok || !zero.IsZero() || zero.String() != "" || zero.Refs() != nil {
		t.Error("the zero template is a literal")
	}
	if _, ok := zero.Render(func(Ref) (string, bool) { return "x", true }); ok {
		t.Error("the zero template renders")
	}
}

func TestRefusedTemplates(t *testing.T) {
	brace := " holds a brace that names no value; a reference looks like {session.tenant}"
	cases := []struct {
		rule, source string
		want         string
	}{
		{"open-brace", "a {session.tenant", `"a {session.tenant"` + brace},
		{"closing-brace", "a } b", `"a } b"` + brace},
		{"empty-braces", "{}", `"{}"` + brace},
		{"double-braces", "{{session.tenant}}", `"{{session.tenant}}"` + brace},
		{"no-space", "{tenant}", `"{tenant}"` + brace},
		{"blank-within", "{ session.tenant }", `"{ session.tenant }"` + brace},
		{"name-of-three-parts", "{facts.a.b.c}", `"{facts.a.b.c}"` + brace},
		{"wrong-case", "{Session.tenant}", `"{Session.tenant}"` + brace},
		{"reference-in-reference", "{args.{args.x}}", `"{args.{args.x}}"` + brace},
		{"misspelt-space", "{sesion.tenant}", `"{sesion.tenant}" names no value (did you mean "session"?); a reference begins with session, args, facts, values, approval, row or env`},
		{"approval-comes-later", "{approval.id}", `"{approval.id}" may not stand here; this key takes {session.x} or {args.x} or {env.x}`},
		{"unknown-session-value", "{session.x}", `"{session.x}" is no session value (customer, ticket, subject, tenant, role, id)`},
		{"variable-not-set", "{env.UNSET}", "the environment variable UNSET is not set"},
		{"variable-with-a-control-character", "{env.BELL}", "the environment variable BELL holds a control character or is not valid UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			_, r := readTemplate(c.source, SpaceSession, SpaceArgs, SpaceEnv)
			checkFaults(t, r.err(), []string{"config.toml:1: key: " + c.want})
		})
	}
}

// What lacks its braces as a whole was meant as a reference. Text around it,
// another word before the dot and another form after it are the author's words.
func TestReferenceWithoutBraces(t *testing.T) {
	for _, source := range []string{
		"session.tenant", "args.order_id", "facts.order", "facts.order.total", "values.limit", "approval.id", "env.DESK", "session.unknown", "args._", "args.x-1",
	} {
		t.Run(source, func(t *testing.T) {
			tmpl, r := readTemplate(source, SpaceSession, SpaceArgs, SpaceEnv)
			checkFaults(t, r.err(), []string{`config.toml:1: key: "` + source + `" is literal text; write "{` + source + `}" for the value`})
			if !tmpl.IsZero() {
				t.Errorf("the template %q was read", tmpl)
			}
		})
	}
	for _, source := range []string{
		"session", "session.", "session.1", "session.a.b", "Session.tenant", "sessions.tenant", "order.id", "a session.tenant",
		"session.tenant ", "session.tenant is closed", "args.x.", "x{session.tenant}",
	} {
		t.Run("literal "+source, func(t *testing.T) {
			tmpl, r := readTemplate(source, SpaceSession)
			if len(r.faults) > 0 || tmpl.String() != source {
				t.Errorf("%q, %v", tmpl, r.faults)
			}
		})
	}
	t.Run("where-no-reference-may-stand", func(t *testing.T) {
		if tmpl, r := readTemplate("args.x"); len(r.faults) > 0 || tmpl.String() != "args.x" {
			t.Errorf("%q, %v", tmpl, r.faults)
		}
	})
}

func TestEachPlaceSaysWhichSpacesItTakes(t *testing.T) {
	for _, c := range []struct {
		rule   string
		source string
		takes  []Space
		want   string
	}{
		{"none", "{env.DESK}", nil, `"{env.DESK}" may not stand here; this key takes no reference`},
		{"one", "{args.x}", []Space{SpaceSession}, `"{args.x}" may not stand here; this key takes {session.x}`},
		{"two", "{env.DESK}", []Space{SpaceSession, SpaceArgs}, `"{env.DESK}" may not stand here; this key takes {session.x} or {args.x}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, r := readTemplate(c.source, c.takes...)
			checkFaults(t, r.err(), []string{"config.toml:1: key: " + c.want})
		})
	}
}

func TestEveryFaultOfATemplateIsReported(t *testing.T) {
	_, r := readTemplate("{session.x} {args.y} {env.UNSET}", SpaceSession, SpaceEnv)
	checkFaults(t, r.err(), []string{
		`config.toml:1: key: "{session.x}" is no session value (customer, ticket, subject, tenant, role, id)`,
		`config.toml:1: key: "{args.y}" may not stand here; this key takes {session.x} or {env.x}`,
		"config.toml:1: key: the environment variable UNSET is not set",
	})
}
