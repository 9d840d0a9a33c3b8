package sandbox

import (
	"fmt"
	"slices"
)

// What a guest can change is its memory, its mutable globals, its tables, and which segments it has dropped.
// The first two can be read and written from outside, so an instance can be put back to where it was; a module that
// can change anything else gets a new instance for each call. Whoever knows of a fifth kind of state adds it here.

// renewal gives the reasons why an instance of the module cannot be used again; none: it can.
func (s *sections) renewal() []string {
	var why []string
	for _, name := range []string{"table.set", "table.grow", "table.fill", "table.copy", "table.init", "data.drop", "elem.drop"} {
		if slices.Contains(s.changing, name) {
			why = append(why, fmt.Sprintf("it uses %s, and what that changes cannot be put back", name))
		}
	}
	for _, l := range s.memories {
		if uint64(l.min)*pageSize > largestImage {
			why = append(why, fmt.Sprintf("its memory starts with %d pages, more than %d", l.min, largestImage/pageSize))
		}
	}
	for n, g := range s.globals {
		if g.mutable && !settable(g.typ) {
			why = append(why, fmt.Sprintf("its global %d is mutable and of type %s, which cannot be set from outside", n, valueName(g.typ)))
		}
	}
	return why
}

// settable: wazero's Set takes 64 bits, which is half of a vector, and a reference is a pointer into the host.
func settable(typ byte) bool {
	return typ == typeI32 || typ == typeI64 || typ == typeF32 || typ == typeF64
}

// changes notes an instruction whose effect cannot be put back.
func (s *sections) changes(name string) {
	if !slices.Contains(s.changing, name) {
		s.changing = append(s.changing, name)
	}
}

// draws says whether the module can draw random numbers while it is initialised: what it makes of them is in its
// image, and the same for every call.
func (s *sections) draws() bool {
	return slices.ContainsFunc(s.imports, func(i rawImport) bool { return i.module == wasiModule && i.name == "random_get" })
}

// mutableNames are the names under which the rewriting exports the mutable globals of the module's own.
func (s *sections) mutableNames() (names []string) {
	for index := s.imported(kindGlobal); index < len(s.globals); index++ {
		if s.globals[index].mutable {
			names = append(names, globalExportName(index))
		}
	}
	return names
}
