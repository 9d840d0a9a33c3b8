package config

import (
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/nearest"
)

// Instances are what plugins are kept ready in. Every field is set: what the file leaves out has the value of
// DefaultInstances. They decide how fast a call is and never what it may do.
type Instances struct {
	Each     int           // of one tool, at once
	Memory   int64         // bytes of those of all tools together
	Idle     time.Duration // after so long without a call one is closed
	FirstUse bool          // a tool is compiled by its first call, and not ahead of it
}

// DefaultInstances gives those of a config that sets none.
func DefaultInstances() Instances {
	return Instances{Each: 64, Memory: 2 << 30, Idle: time.Minute}
}

// The bounds of them.
const (
	maxEach          = 10_000
	maxAllMemory     = 1 << 40
	minIdle, maxIdle = 100 * time.Millisecond, 24 * time.Hour
)

// instances reads [instances]: the defaults, changed.
func (s section) instances() Instances {
	i := DefaultInstances()
	of, ok := s.child("instances", "[instances]")
	if !ok {
		return i
	}
	of.known([]string{"each", "memory", "idle", "prepare"})
	if v, ok := of.integer("each", 1, maxEach); ok {
		i.Each = v
	}
	if v, ok := of.size("memory", minMemory, maxAllMemory); ok {
		i.Memory = v
	}
	if v, ok := of.duration("idle", minIdle, maxIdle); ok {
		i.Idle = v
	}
	prepare, ok := of.text("prepare")
	if whens := []string{"ahead", "first_use"}; ok && !slices.Contains(whens, prepare) {
		of.fault("prepare", `no moment %s%s; write "ahead" or "first_use"`, quote(prepare), nearest.DidYouMean(prepare, whens))
	}
	i.FirstUse = prepare == "first_use"
	return i
}

// toolInstances reads how many there may be of one tool.
func (s section) toolInstances(of Instances) int {
	v, ok := s.integer("instances", 1, maxEach)
	if !ok {
		return of.Each
	}
	if v > of.Each {
		s.fault("instances", "above the %d of [instances] each; a tool may only lower it", of.Each)
	}
	return v
}

// instancesHaveMemory says which tool could never run: one instance counts with all the memory that a call may come to have.
func (r *reader) instancesHaveMemory(of Instances, tools []Tool) {
	for _, t := range tools {
		if t.Limits.Memory > of.Memory {
			r.report(t.Line, "[tools.%s] limits.memory is %s, and [instances] memory only %s for all tools together", t.Name, ShowSize(t.Limits.Memory), ShowSize(of.Memory))
		}
	}
}
