package config

import (
	"testing"
	"time"
)

func TestRefusedBounds(t *testing.T) {
	bound := func(rule, line, want string) refusal {
		return refusal{rule, "", "[session]\n" + line + "\n", []string{"config.toml:37: [session] " + want}}
	}
	testRefusals(t, []refusal{
		bound("unknown-bound", "step = 16", `step: unknown key (did you mean "steps"?); known here: steps, time, repeats, refusals, waiting`),
		bound("bound-in-capitals", "Steps = 16", `Steps: unknown key (did you mean "steps"?); known here: steps, time, repeats, refusals, waiting`),
		bound("zero-steps-deny", "steps = 0", "steps: 0 is out of bounds, from 1 to 100000"),
		bound("steps-without-end", "steps = 100_001", "steps: 100001 is out of bounds, from 1 to 100000"),
		bound("steps-as-text", `steps = "16"`, "steps: found a string, expected an integer"),
		bound("zero-session-time", `time = "0s"`, `time: "0s" is out of bounds, from 1s to 1440m`),
		bound("session-over-a-day", `time = "1441m"`, `time: "1441m" is out of bounds, from 1s to 1440m`),
		bound("session-time-in-hours", `time = "12h"`, `time: "12h" is no duration; write whole numbers of m, s and ms, like "1m30s" or "500ms"`),
		bound("zero-repeats", "repeats = 0", "repeats: 0 is out of bounds, from 1 to 10000"),
		bound("refusals-as-a-number", "refusals = 20", "refusals: found an integer, expected a table"),
		bound("zero-refusals", `refusals = { count = 0, within = "10m" }`, "refusals.count: 0 is out of bounds, from 1 to 1000"),
		bound("refusals-without-end", `refusals = { count = 1001, within = "10m" }`, "refusals.count: 1001 is out of bounds, from 1 to 1000"),
		bound("refusals-without-window", "refusals = { count = 20 }", `refusals.within: missing; for example within = "10m"`),
		bound("window-without-count", `refusals = { within = "10m" }`, "refusals.count: missing; for example count = 20"),
		bound("window-over-a-day", `refusals = { count = 20, within = "1441m" }`, `refusals.within: "1441m" is out of bounds, from 1s to 1440m`),
		bound("unknown-key-of-refusals", `refusals = { count = 20, within = "10m", per = "session" }`, "refusals.per: unknown key; known here: count, within"),
		{"session-as-a-value", "", "[[session]]\n", []string{"config.toml:36: [session]: found an array, expected a table"}},
	})
}

func TestBoundsOfSessions(t *testing.T) {
	for rule, c := range map[string]struct {
		data string
		want Bounds
	}{
		"none-set":  {"", Bounds{500, 12 * time.Hour, 20, 20, 10 * time.Minute, 20}},
		"one-set":   {"[session]\nsteps = 16", Bounds{16, 12 * time.Hour, 20, 20, 10 * time.Minute, 20}},
		"of-design": {"[session]\nsteps = 16\ntime = \"5m\"\nrepeats = 2\nrefusals = { count = 20, within = \"10m\" }", Bounds{16, 5 * time.Minute, 2, 20, 10 * time.Minute, 20}},
		"lowest":    {"[session]\nsteps = 1\ntime = \"1s\"\nrepeats = 1\nrefusals = { count = 1, within = \"1s\" }", Bounds{1, time.Second, 1, 1, time.Second, 20}},
		"highest": {
			"[session]\nsteps = 100_000\ntime = \"1440m\"\nrepeats = 10_000\nrefusals = { count = 1000, within = \"1440m\" }",
			Bounds{100_000, 24 * time.Hour, 10_000, 1000, 24 * time.Hour, 20},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := Parse("config.toml", []byte(c.data), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Session != c.want {
				t.Errorf("got %+v, want %+v", got.Session, c.want)
			}
		})
	}
}
