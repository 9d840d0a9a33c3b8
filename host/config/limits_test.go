package config

import (
	"strings"
	"testing"
	"time"
)

func TestRefusedLimits(t *testing.T) {
	const known = "; known here: time, fuel, memory, argument_chars, result_chars, host_calls, log"
	noDuration := ` is no duration; write whole numbers of m, s and ms, like "1m30s" or "500ms"`
	noSize := ` is no size; write a whole number of B, KiB, MiB or GiB, like "32MiB"`
	limit := func(rule, line, want string) refusal {
		return refusal{rule, "host_calls = 10", line, []string{"config.toml:27: [limits] " + want}}
	}
	lower := func(rule, line, want string) refusal {
		return refusal{rule, `time = "1s"`, line, []string{"config.toml:22: [tools.get_order] limits" + want}}
	}
	testRefusals(t, []refusal{
		limit("unknown-key-names-line-and-suggests", `tiem = "2s"`, `tiem: unknown key (did you mean "time"?)`+known),
		limit("wrong-case-is-unknown", `TIME = "2s"`, `TIME: unknown key (did you mean "time"?)`+known),
		limit("misspelt-fuel-is-unknown", "fuels = 50_000", `fuels: unknown key (did you mean "fuel"?)`+known),
		limit("fuel-in-capitals-is-unknown", "FUEL = 50_000", `FUEL: unknown key (did you mean "fuel"?)`+known),
		limit("zero-fuel-denies", "fuel = 0", "fuel: 0 is out of bounds, from 10000 to 1000000000000"),
		limit("fuel-without-end", "fuel = 1_000_000_000_001", "fuel: 1000000000001 is out of bounds, from 10000 to 1000000000000"),
		limit("fuel-as-a-float", "fuel = 5e8", "fuel: found a float, expected an integer"),
		limit("bare-number-is-no-duration", "time = 2", "time: found an integer, expected a string"),
		limit("duration-without-unit", `time = "2"`, `time: "2"`+noDuration),
		limit("duration-with-fraction", `time = "1.5s"`, `time: "1.5s"`+noDuration),
		limit("duration-in-hours", `time = "1h"`, `time: "1h"`+noDuration),
		limit("duration-in-microseconds", `time = "5000us"`, `time: "5000us"`+noDuration),
		limit("duration-with-sign", `time = "-2s"`, `time: "-2s"`+noDuration),
		limit("duration-out-of-order", `time = "2s1m"`, `time: "2s1m"`+noDuration),
		limit("zero-time-denies", `time = "0s"`, `time: "0s" is out of bounds, from 1ms to 10m`),
		limit("time-over-ten-minutes", `time = "10m1ms"`, `time: "10m1ms" is out of bounds, from 1ms to 10m`),
		limit("empty-string", `time = ""`, "time: an empty string; write a value or remove the key"),
		limit("size-with-decimal-unit", `memory = "32MB"`, `memory: "32MB"`+noSize),
		limit("size-with-fraction", `memory = "1.5MiB"`, `memory: "1.5MiB"`+noSize),
		limit("size-with-blank", `memory = "32 MiB"`, `memory: "32 MiB"`+noSize),
		limit("size-with-leading-zero", `memory = "032MiB"`, `memory: "032MiB"`+noSize),
		limit("size-past-64-bits", `memory = "99999999999999GiB"`, `memory: "99999999999999GiB"`+noSize),
		limit("zero-memory-denies", `memory = "0B"`, `memory: "0B" is out of bounds, from 64KiB to 2GiB`),
		limit("memory-over-2-gib", `memory = "3GiB"`, `memory: "3GiB" is out of bounds, from 64KiB to 2GiB`),
		limit("memory-not-in-pages", `memory = "100KiB"`, `memory: "100KiB" is not a multiple of 64KiB, by which WebAssembly memory grows`),
		limit("argument-chars-below-two", "argument_chars = 1", "argument_chars: 1 is out of bounds, from 2 to 1000000"),
		limit("argument-chars-as-a-float", "argument_chars = 16384.0", "argument_chars: found a float, expected an integer"),
		limit("result-chars-below-64", "result_chars = 63", "result_chars: 63 is out of bounds, from 64 to 1000000"),
		limit("zero-host-calls-denies", "host_calls = 0", "host_calls: 0 is out of bounds, from 1 to 10000"),
		limit("negative-host-calls", "host_calls = -1", "host_calls: -1 is out of bounds, from 1 to 10000"),
		limit("host-calls-as-a-string", `host_calls = "64"`, "host_calls: found a string, expected an integer"),
		limit("log-over-1-mib", `log = "2MiB"`, `log: "2MiB" is out of bounds, from 0B to 1MiB`),
		limit("log-as-a-date", "log = 2026-01-01", "log: found a date or time, expected a string"),
		limit("log-as-a-boolean", "log = false", "log: found a boolean, expected a string"),
		{"limits-as-a-value", "[limits]\nhost_calls = 10", "[[limits]]", []string{"config.toml:26: [limits]: found an array, expected a table"}},
		lower("tool-cannot-raise-time", `time = "3s"`, ".time: above the 2s of [limits]; a tool may only lower a limit"),
		lower("tool-cannot-raise-memory", `memory = "33MiB"`, ".memory: above the 32MiB of [limits]; a tool may only lower a limit"),
		lower("tool-cannot-raise-log", `log = "9KiB"`, ".log: above the 8KiB of [limits]; a tool may only lower a limit"),
		lower("tool-cannot-raise-argument-chars", "argument_chars = 16385", ".argument_chars: above the 16384 of [limits]; a tool may only lower a limit"),
		lower("tool-cannot-raise-result-chars", "result_chars = 4001", ".result_chars: above the 4000 of [limits]; a tool may only lower a limit"),
		lower("tool-cannot-raise-host-calls", "host_calls = 11", ".host_calls: above the 10 of [limits]; a tool may only lower a limit"),
		lower("tool-cannot-raise-fuel", "fuel = 2_000_000_001", ".fuel: above the 2000000000 of [limits]; a tool may only lower a limit"),
		lower("unknown-limit-of-a-tool", "times = 1", `.times: unknown key (did you mean "time"?)`+known),
	})
}

// One wrong number in [limits] must not make the tools' right ones look wrong.
func TestFaultyLimitsAreNotHeldAgainstTools(t *testing.T) {
	data := strings.NewReplacer("host_calls = 10", `time = "30min"`, `time = "1s"`, `time = "5s"`).Replace(readGood(t))
	_, err := Parse("config.toml", []byte(data), testOptions())
	checkFaults(t, err, []string{
		`config.toml:27: [limits] time: "30min" is no duration; write whole numbers of m, s and ms, like "1m30s" or "500ms"`,
	})
}

func TestBoundsOfLimitsAreIncluded(t *testing.T) {
	for rule, c := range map[string]struct {
		data string
		want Limits
	}{
		"lowest": {
			"time = \"1ms\"\nfuel = 10_000\nmemory = \"64KiB\"\nargument_chars = 2\nresult_chars = 64\nhost_calls = 1\nlog = \"0B\"",
			Limits{time.Millisecond, 10_000, 64 << 10, 2, 64, 1, 0},
		},
		"highest": {
			"time = \"10m\"\nfuel = 1_000_000_000_000\nmemory = \"2GiB\"\nargument_chars = 1_000_000\nresult_chars = 1_000_000\nhost_calls = 10_000\nlog = \"1MiB\"",
			Limits{10 * time.Minute, 1_000_000_000_000, 2 << 30, 1_000_000, 1_000_000, 10_000, 1 << 20},
		},
		"mixed-units": {
			"time = \"1m30s5ms\"",
			Limits{90*time.Second + 5*time.Millisecond, 2_000_000_000, 32 << 20, 16384, 4000, 64, 8 << 10},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := Parse("config.toml", []byte("[limits]\n"+c.data), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Limits != c.want {
				t.Errorf("got %+v, want %+v", got.Limits, c.want)
			}
		})
	}
}

func TestDurationsAreShownAsTheFileWritesThem(t *testing.T) {
	for text, d := range map[string]time.Duration{
		"10m": 10 * time.Minute, "1m30s": 90 * time.Second, "2s": 2 * time.Second, "1s500ms": 1500 * time.Millisecond,
	} {
		if got := showDuration(d); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}
