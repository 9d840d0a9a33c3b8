package config

import (
	"slices"
	"strings"
	"time"
)

// Audit says where records go and how they are kept.
type Audit struct {
	Place                    // line 0: the file has no [audit], all is as by default
	Folder            string // absolute and cleaned
	Key               string // absolute and cleaned
	CheckpointEntries int
	CheckpointTime    time.Duration
	CheckpointCommand []string // a program (absolute and cleaned) and its arguments; empty: none
	KeepDays          int
	WarnFree          int64 // bytes; 0 never warns

	lines keyLines
}

// At is Database.At for the audit.
func (a Audit) At(key string) Place { return a.lines.at(a.Place, key) }

const (
	defaultState  = "var/state/state.db"
	defaultFolder = "var/audit"
	defaultKey    = "var/keys/audit.key"

	maxCheckpointEntries                 = 1_000_000
	minCheckpointTime, maxCheckpointTime = time.Second, time.Hour
	maxCommandStrings                    = 32
	minKeepDays, maxKeepDays             = 1, 36_500
	maxWarnFree                          = 1024 << 30
)

// audit reads [audit]. It is on in a file that does not have it: nothing runs
// that is not recorded, so that there is no key that turns it off.
func (s section) audit() Audit {
	a := Audit{CheckpointEntries: 1000, CheckpointTime: time.Minute, KeepDays: 365, WarnFree: 1 << 30}
	table, ok := s.childOrEmpty("audit", "[audit]")
	if !ok {
		return a
	}
	a.Place, a.lines = table.place(), table.lines()
	table.known([]string{"folder", "key", "checkpoint_entries", "checkpoint_time", "checkpoint_command", "keep_values", "warn_free"})
	own := &s.r.own
	own.folder = table.ownPath("folder", "the audit folder", defaultFolder)
	own.key = table.ownPath("key", "the audit key", defaultKey)
	a.Folder, a.Key = own.folder.path, own.key.path
	if v, ok := table.integer("checkpoint_entries", 1, maxCheckpointEntries); ok {
		a.CheckpointEntries = v
	}
	if v, ok := table.duration("checkpoint_time", minCheckpointTime, maxCheckpointTime); ok {
		a.CheckpointTime = v
	}
	a.CheckpointCommand = table.command("checkpoint_command")
	if v, ok := table.days("keep_values", minKeepDays, maxKeepDays); ok {
		a.KeepDays = v
	}
	if v, ok := table.size("warn_free", 0, maxWarnFree); ok {
		a.WarnFree = v
	}
	return a
}

// command reads a program and its arguments, which run without a shell. It is
// not words: an argument may stand there twice.
func (s section) command(key string) []string {
	n := s.node.table[key]
	switch {
	case n == nil:
		return nil
	case !n.isList:
		s.fault(key, "found %s, expected an array of strings", found(n))
		return nil
	case len(n.list) > maxCommandStrings:
		s.fault(key, "%d strings, at most %d; put the rest into a script", len(n.list), maxCommandStrings)
		return nil
	}
	before := len(s.r.faults)
	var command []string
	for i, item := range n.list {
		one := s.with(key, item) // so that a fault has the line of its own string
		t, ok := one.template(key)
		text, _ := t.Literal()
		if ok && i == 0 && !strings.Contains(text, "/") {
			one.fault(key, "%s: a bare name would be looked up in PATH; write a path", quote(text))
		}
		command = append(command, text)
	}
	if len(command) == 0 || len(s.r.faults) > before {
		return nil
	}
	s.r.own.program = ownPath{what: "the program of checkpoint_command", shown: command[0], path: s.r.path(command[0])}
	return slices.Concat([]string{s.r.own.program.path}, command[1:])
}
