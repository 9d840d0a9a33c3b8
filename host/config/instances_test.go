package config

import (
	"testing"
	"time"
)

func TestRefusedInstances(t *testing.T) {
	of := func(rule, line, want string) refusal {
		return refusal{rule, "", "[instances]\n" + line + "\n", []string{"config.toml:37: [instances] " + want}}
	}
	testRefusals(t, []refusal{
		of("unknown-key", "eachh = 2", `eachh: unknown key (did you mean "each"?); known here: each, memory, idle, prepare`),
		of("none-of-a-tool", "each = 0", "each: 0 is out of bounds, from 1 to 10000"),
		of("too-many-of-a-tool", "each = 10_001", "each: 10001 is out of bounds, from 1 to 10000"),
		of("memory-as-a-number", "memory = 2", `memory: found an integer, expected a string`),
		of("no-idle-time", `idle = "0s"`, `idle: "0s" is out of bounds, from 100ms to 1440m`),
		of("another-moment", `prepare = "first-use"`, `prepare: no moment "first-use" (did you mean "first_use"?); write "ahead" or "first_use"`),
		{"instances-as-a-value", "", "[[instances]]\n", []string{"config.toml:36: [instances]: found an array, expected a table"}},
		{"a-tool-that-never-runs", "", "[instances]\nmemory = \"1MiB\"\n", []string{
			"config.toml:16: [tools.get_order] limits.memory is 32MiB, and [instances] memory only 1MiB for all tools together",
		}},
		{"tool-raises-it", `effect = "read"`, "effect = \"read\"\ninstances = 65", []string{"config.toml:19: [tools.get_order] instances: above the 64 of [instances] each; a tool may only lower it"}},
		{"tool-without-any", `effect = "read"`, "effect = \"read\"\ninstances = 0", []string{"config.toml:19: [tools.get_order] instances: 0 is out of bounds, from 1 to 10000"}},
	})
}

func TestInstances(t *testing.T) {
	for rule, c := range map[string]struct {
		data string
		want Instances
	}{
		"none-set": {"", Instances{64, 2 << 30, time.Minute, false}},
		"all-set":  {"[instances]\neach = 4\nmemory = \"64MiB\"\nidle = \"5s\"\nprepare = \"first_use\"", Instances{4, 64 << 20, 5 * time.Second, true}},
		"ahead":    {"[instances]\nprepare = \"ahead\"", Instances{64, 2 << 30, time.Minute, false}},
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := Parse("config.toml", []byte(c.data), Options{})
			if err != nil || got.Instances != c.want {
				t.Errorf("got %+v, want %+v, %v", got.Instances, c.want, err)
			}
		})
	}
	got, err := Parse("config.toml", []byte(readGood(t)+"\n[instances]\neach = 9\n"), Options{})
	if err != nil || got.Tools[0].Instances != 9 {
		t.Errorf("%+v %v", got, err)
	}
}
