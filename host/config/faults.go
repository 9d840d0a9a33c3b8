package config

import (
	"fmt"
	"sort"
	"strings"
)

// Place is where something stands in a file.
type Place struct {
	File string // as Options.Name or ParseSession's name has it; empty for a session that came from no file
	Line int    // starting at 1; 0: the file as a whole
}

// Where gives the place as "config.toml:58". It is not named String, because
// every struct that embeds a Place would then print as a place only.
func (p Place) Where() string {
	if p.Line == 0 {
		return printable(p.File)
	}
	return fmt.Sprintf("%s:%d", printable(p.File), p.Line)
}

// Fault is one thing that is wrong in a file.
type Fault struct {
	Place
	Text string
}

func (f Fault) String() string {
	if f.Place == (Place{}) {
		return f.Text
	}
	return f.Where() + ": " + f.Text
}

// Faults is all that is wrong in one file, sorted by line, never empty.
//
//nolint:errname // "fault" is the word that people see, in the output and in the docs
type Faults struct {
	List []Fault

	partial *Config
	flat    bool // of ParseFlat: nothing was to be loaded
}

// Partial gives what could be read of a config that has faults, so that a
// loader can look for further faults and tell all of them at once. It must
// never be run. It is nil where nothing could be read, and for sessions.
func (f *Faults) Partial() *Config { return f.partial }

// Error prints each fault on a line of its own, then, if they are of a file,
// how many there are.
func (f *Faults) Error() string {
	lines := make([]string, 0, len(f.List)+1)
	for _, fault := range f.List {
		lines = append(lines, fault.String())
	}
	if !f.flat {
		noun := "faults"
		if len(f.List) == 1 {
			noun = "fault"
		}
		lines = append(lines, fmt.Sprintf("%d %s; nothing was loaded", len(f.List), noun))
	}
	return strings.Join(lines, "\n")
}

// report notes a fault and goes on, so that one load shows all of them.
func (r *reader) report(line int, format string, args ...any) {
	r.faults = append(r.faults, Fault{
		Place: Place{File: r.file, Line: line},
		Text:  fmt.Sprintf(format, args...),
	})
}

// err gives the faults so far, or nil. Faults of one line stay in the order in
// which they were found.
func (r *reader) err() *Faults {
	if len(r.faults) == 0 {
		return nil
	}
	sort.SliceStable(r.faults, func(i, j int) bool { return r.faults[i].Line < r.faults[j].Line })
	return &Faults{List: r.faults}
}
