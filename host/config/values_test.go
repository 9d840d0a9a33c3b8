package config

import (
	"testing"
	"time"
)

func TestRefusedValues(t *testing.T) {
	const kind, roles = `type = "decimal"`, `roles = { customer = "100.00", staff = "unlimited" }`
	misfit := func(found, expected string) string {
		return `3: roles.customer: found ` + found + `, expected ` + expected
	}
	role := func(rule, of, value string, want ...string) refusal {
		return refusal{rule, kind + "\n" + roles, `type = "` + of + "\"\nroles = { customer = " + value + " }", want}
	}
	ruledRefusals(t, "[values.limit]", []refusal{
		{"no-type", kind + "\n", "\n", []string{`1: type: missing; for example type = "decimal"`}},
		{"no-roles", roles, "", []string{`1: roles: missing; for example roles = { staff = "100.00", owner = "unlimited" }`}},
		{"unknown-type-suggests", kind, `type = "Decimal"`, []string{`2: type: no type "Decimal" (did you mean "decimal"?); known here: decimal, integer, text, boolean, duration`}},
		{"float-is-no-type", kind, `type = "float"`, []string{`2: type: no type "float"; known here: decimal, integer, text, boolean, duration`}},
		{"type-as-a-boolean", kind, `type = true`, []string{`2: type: found a boolean, expected a string`}},
		{"unknown-key-suggests", kind, kind + "\nrole = {}", []string{`3: role: unknown key (did you mean "roles"?); known here: type, roles`}},
		{"roles-as-a-string", roles, `roles = "staff"`, []string{`3: roles: found a string, expected a table`}},
		{"role-in-another-case", roles, `roles = { Customer = "1.00" }`, []string{`3: roles.Customer: "Customer" is not a role ^[a-z][a-z0-9_]{0,31}$`}},
		{"misspelt-role-suggests", roles, `roles = { custmer = "1.00" }`, []string{`3: roles: "custmer" is in no tool's callers (did you mean "customer"?)`}},
		role("decimal-as-a-float", "decimal", "100.00", misfit("a float", `a decimal in a string, like "100.00", or "unlimited"`)),
		role("decimal-as-an-integer", "decimal", "100", misfit("an integer", `a decimal in a string, like "100.00", or "unlimited"`)),
		role("decimal-that-is-none", "decimal", `"1,00"`, `3: roles.customer: "1,00" is no decimal; write one like "100.00", or "unlimited"`),
		role("unlimited-in-another-case", "decimal", `"Unlimited"`, `3: roles.customer: "Unlimited" is no decimal; write one like "100.00", or "unlimited"`),
		role("not-a-number", "decimal", `"NaN"`, `3: roles.customer: "NaN" is no decimal; write one like "100.00", or "unlimited"`),
		role("infinity", "decimal", `"Infinity"`, `3: roles.customer: "Infinity" is no decimal; write one like "100.00", or "unlimited"`),
		role("empty-decimal", "decimal", `""`, "3: roles.customer: an empty string; write a value or remove the key"),
		role("integer-as-a-float", "integer", "1.0", misfit("a float", `an integer, or "unlimited"`)),
		role("integer-with-a-fraction", "integer", `"1.5"`, `3: roles.customer: "1.5" is no integer; write one like 100, or "unlimited"`),
		role("text-as-an-integer", "text", "1", misfit("an integer", "a string")),
		role("boolean-as-a-string", "boolean", `"true"`, misfit("a string", "true or false")),
		role("duration-as-an-integer", "duration", "36", misfit("an integer", `a duration, like "36h" or "14d"`)),
		role("duration-without-a-unit", "duration", `"36"`, `3: roles.customer: "36" is no duration; write whole numbers of d, h, m and s, like "14d" or "1h30m"`),
		role("duration-with-a-fraction", "duration", `"1.5h"`, `3: roles.customer: "1.5h" is no duration; write whole numbers of d, h, m and s, like "14d" or "1h30m"`),
		role("negative-duration", "duration", `"-1h"`, `3: roles.customer: "-1h" is no duration; write whole numbers of d, h, m and s, like "14d" or "1h30m"`),
	})
}

// A value that CEL would read as a subtraction has no name.
func TestNamesOfValues(t *testing.T) {
	for _, name := range []string{"limit-a", "Limit", "1st", "a.b"} {
		_, err := Parse("config.toml", []byte(readGood(t)+`[values."`+name+`"]`+"\ntype = \"text\"\nroles = {}\n"), testOptions())
		checkFaults(t, err, []string{"config.toml:36: [values." + showKey(name) + `]: "` + name + `" is not a name ^[a-z][a-z0-9_]{0,63}$`})
	}
}

func TestLongDurations(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"14d", 14 * 24 * time.Hour, true},
		{"1d12h", 36 * time.Hour, true},
		{"90m", 90 * time.Minute, true},
		{"1h30m5s", 90*time.Minute + 5*time.Second, true},
		{"0s", 0, true},
		{"99999d", 99999 * 24 * time.Hour, true},
		{"99999d999999h", 0, false},
		{"", 0, false},
		{"d", 0, false},
		{"1w", 0, false},
		{"30m1h", 0, false},
		{"100000d", 0, false},
		{"1h 30m", 0, false},
	} {
		got, ok := longDuration(c.text)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %s, %t", c.text, got, ok)
		}
	}
}
