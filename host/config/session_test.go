package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func wantSession() Session {
	return Session{
		ID: "T-80001", Subject: "usr-1", Tenant: "larkfield", Role: "customer",
		Attributes: map[string]string{"customer": "C-20417", "ticket": ""},
	}
}

func TestSessionIsRead(t *testing.T) {
	data := "id = \"T-80001\"\nsubject = \"usr-1\"\ntenant = \"larkfield\"\nrole = \"customer\"\n" +
		"[attributes]\ncustomer = \"C-20417\"\nticket = \"\"\n"
	path := filepath.Join(t.TempDir(), "session.toml")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := LoadSession(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := wantSession(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFlatSessionIsTheSame(t *testing.T) {
	got, err := ParseFlat(map[string]string{
		"id": "T-80001", "subject": "usr-1", "tenant": "larkfield", "role": "customer",
		"customer": "C-20417", "ticket": "",
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := wantSession(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestShortestSessions(t *testing.T) {
	want := Session{Role: "staff", Attributes: map[string]string{}}
	for name, read := range map[string]func() (Session, error){
		"file": func() (Session, error) { return ParseSession("s.toml", []byte(`role = "staff"`)) },
		"flat": func() (Session, error) { return ParseFlat(map[string]string{"role": "staff"}) },
	} {
		got, err := read()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestRefusedSessionFiles(t *testing.T) {
	const known = "; known here: id, subject, tenant, role, attributes"
	cases := []struct {
		rule, data string
		want       []string
	}{
		{"missing-role", "id = \"x\"", []string{`session.toml:1: role: missing; for example role = "customer"`}},
		{"empty-role", "\nrole = \"\"", []string{"session.toml:2: role: an empty string; a session has a role"}},
		{"unknown-key-suggests", "role = \"a\"\ntennant = \"x\"", []string{`session.toml:2: tennant: unknown key (did you mean "tenant"?)` + known}},
		{"wrong-case-is-unknown", "role = \"a\"\nTenant = \"x\"", []string{`session.toml:2: Tenant: unknown key (did you mean "tenant"?)` + known}},
		{"attribute-outside-its-table", "role = \"a\"\ncustomer = \"x\"", []string{`session.toml:2: customer: unknown key` + known}},
		{"wrong-types", "id = 1\nrole = [\"a\"]\ntenant = 1.5\nsubject = true", []string{
			"session.toml:1: id: found an integer, expected a string",
			"session.toml:2: role: found an array, expected a string",
			"session.toml:3: tenant: found a float, expected a string",
			"session.toml:4: subject: found a boolean, expected a string",
		}},
		{"attributes-as-a-string", "role = \"a\"\nattributes = \"x\"", []string{"session.toml:2: [attributes]: found a string, expected a table"}},
		{"wrong-attributes", "role = \"a\"\n[attributes]\nCustomer = \"x\"\nrole = \"owner\"\nticket = 5", []string{
			`session.toml:3: [attributes] Customer: "Customer" is not an attribute name ^[a-z][a-z0-9_]{0,31}$`,
			`session.toml:4: [attributes] role: "role" is a value of every session, not an attribute`,
			"session.toml:5: [attributes] ticket: found an integer, expected a string",
		}},
		{"syntax", "role = ", []string{"session.toml:1: not valid TOML: expected value, not end of input"}},
		{"long-value", "role = \"a\"\nid = \"" + strings.Repeat("x", 201) + "\"", []string{"session.toml:2: id: longer than 200 characters"}},
		{"control-character", "role = \"a\"\nid = \"x\\u001b[2J\"", []string{`session.toml:2: id: "x\x1b[2J" holds a control character`}},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			got, err := ParseSession("session.toml", []byte(c.data))
			if !reflect.DeepEqual(got, Session{}) {
				t.Errorf("a session with faults was read: %+v", got)
			}
			checkFaults(t, err, c.want)
		})
	}
}

func TestRefusedFlatSessions(t *testing.T) {
	cases := []struct {
		rule  string
		pairs map[string]string
		want  []string
	}{
		{"nothing", nil, []string{"role is missing; for example role=customer"}},
		{"no-role-and-more", map[string]string{"tenant": "a\nb", "Customer": "x"}, []string{
			"role is missing; for example role=customer",
			`tenant: "a\nb" holds a control character`,
			`Customer: "Customer" is not an attribute name ^[a-z][a-z0-9_]{0,31}$`,
		}},
		{"empty-role", map[string]string{"role": ""}, []string{"role: an empty string; a session has a role"}},
		{"wrong-attribute-name", map[string]string{"role": "a", "Customer": "x"}, []string{`Customer: "Customer" is not an attribute name ^[a-z][a-z0-9_]{0,31}$`}},
		{"long-value", map[string]string{"role": "a", "tenant": strings.Repeat("é", 201)}, []string{"tenant: longer than 200 characters"}},
		{"broken-utf-8", map[string]string{"role": "a", "customer": "\xff"}, []string{"customer: not valid UTF-8"}},
		{"control-character", map[string]string{"role": "a", "customer": "a\nb"}, []string{`customer: "a\nb" holds a control character`}},
		{"text-that-turns-direction", map[string]string{"role": "a", "customer": "a\u202eb"}, []string{`customer: "a\u202eb" holds a control character`}},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			_, err := ParseFlat(c.pairs)
			checkFaults(t, err, c.want)
			if err != nil && err.Error() != strings.Join(c.want, "\n") {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

func TestValueOf200CharactersIsTaken(t *testing.T) {
	value := strings.Repeat("é", 200)
	got, err := ParseFlat(map[string]string{"role": value})
	if err != nil || got.Role != value {
		t.Errorf("got %v", err)
	}
}

func TestUnreadableSessionIsNotAFault(t *testing.T) {
	if _, err := LoadSession(filepath.Join(t.TempDir(), "s.toml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
