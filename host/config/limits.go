package config

import (
	"strconv"
	"time"
)

// The bounds of the limits themselves. None may be zero, except the log: a
// call that could take no time is a mistake, a call whose log is not kept is not.
const (
	minTime, maxTime         = time.Millisecond, 10 * time.Minute
	minFuel, maxFuel         = 10_000, 1_000_000_000_000
	minMemory, maxMemory     = 64 << 10, 2 << 30
	minArguments, maxChars   = 2, 1_000_000 // "{}" is the shortest argument text
	minResult                = 64           // room for the host's envelope
	minHostCalls, maxHostCal = 1, 10_000
	maxLog                   = 1 << 20
	page                     = 64 << 10 // WebAssembly memory grows by pages
)

// MaxMemory is the most that limits.memory can be, in bytes.
const MaxMemory = maxMemory

// configLimits reads [limits]: the defaults, changed.
func (s section) configLimits() Limits {
	base := DefaultLimits()
	limits, ok := s.child("limits", "[limits]")
	if !ok {
		s.r.badLimits = s.has("limits")
		return base
	}
	before := len(s.r.faults)
	base = limits.limits(base, nil)
	s.r.badLimits = len(s.r.faults) > before
	return base
}

// toolLimits reads the limits of one tool: those of the config, lowered.
func (s section) toolLimits(base Limits) Limits {
	limits, ok := s.child("limits", s.at("limits"))
	if !ok {
		return base
	}
	if s.r.badLimits {
		return limits.limits(base, nil)
	}
	return limits.limits(base, &base)
}

// limits reads the limits of a section over base. None may be above its limit
// in upper, if there is one.
func (s section) limits(base Limits, upper *Limits) Limits {
	s.known([]string{"time", "fuel", "memory", "argument_chars", "result_chars", "host_calls", "log"})
	top := Limits{}
	if upper != nil {
		top = *upper
	}
	if v, ok := s.duration("time", minTime, maxTime); ok {
		s.lowers("time", upper != nil && v > top.Time, showDuration(top.Time))
		base.Time = v
	}
	if v, ok := s.integer("fuel", minFuel, maxFuel); ok {
		s.lowers("fuel", upper != nil && int64(v) > top.Fuel, strconv.FormatInt(top.Fuel, 10))
		base.Fuel = int64(v)
	}
	if v, ok := s.size("memory", minMemory, maxMemory); ok {
		if v%page != 0 {
			s.fault("memory", "%s is not a multiple of 64KiB, by which WebAssembly memory grows", quote(ShowSize(v)))
		}
		s.lowers("memory", upper != nil && v > top.Memory, ShowSize(top.Memory))
		base.Memory = v
	}
	if v, ok := s.size("log", 0, maxLog); ok {
		s.lowers("log", upper != nil && v > top.Log, ShowSize(top.Log))
		base.Log = v
	}
	count := func(key string, low, high int64, limit *int, most int) {
		if v, ok := s.integer(key, low, high); ok {
			s.lowers(key, upper != nil && v > most, strconv.Itoa(most))
			*limit = v
		}
	}
	count("argument_chars", minArguments, maxChars, &base.ArgumentChars, top.ArgumentChars)
	count("result_chars", minResult, maxChars, &base.ResultChars, top.ResultChars)
	count("host_calls", minHostCalls, maxHostCal, &base.HostCalls, top.HostCalls)
	return base
}

// lowers reports a tool's limit that is above the config's.
func (s section) lowers(key string, above bool, upper string) {
	if above {
		s.fault(key, "above the %s of [limits]; a tool may only lower a limit", upper)
	}
}
