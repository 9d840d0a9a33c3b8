package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Offer lists what the host offers: for each module the names of its functions, all of the one
// shape (request_ptr, request_len, response_ptr, response_cap i32) -> i64. An empty Offer offers nothing.
type Offer map[string][]string

// Kind is what an import or export is.
type Kind string

// The kinds of the core specification, section 5.5.5.
const (
	Function Kind = "function"
	Table    Kind = "table"
	Memory   Kind = "memory"
	Global   Kind = "global"
)

// Import is one name that a module asks for. A module may ask for a name twice.
type Import struct {
	Module, Name string
	Kind         Kind
	Offered      bool // there is such a function, with the signature that it is imported with
}

// String is the name as faults write it: quoted unless it is an ordinary one.
func (i Import) String() string { return dotted(i.Module, i.Name) }

// Export is one name that a module gives.
type Export struct {
	Name string
	Kind Kind
}

// String is the name as faults write it: quoted unless it is an ordinary one.
func (e Export) String() string { return plain(e.Name) }

// ABIExport is an export that the ABI names (docs/abi.md, A1 to A3).
type ABIExport struct {
	Name  string
	Given bool
	Fault error // nil: it is as it must be, or need not be there
}

// TableSize is the elements of a table: at the start, and the most while it runs.
type TableSize struct{ Min, Most uint32 }

// Manifest is what a module's sections say about it.
type Manifest struct {
	Imports   []Import
	Exports   []Export
	ABI       []ABIExport // each that the ABI names, in one order
	Tables    []TableSize // of its own
	Memories  int         // of its own; the next three are of the first
	MemoryMin uint32      // pages of 64 KiB
	MemoryMax uint32      // pages; nothing unless HasMax
	HasMax    bool
	Functions int      // of its own, imports not counted
	Renewal   []string // why each call needs a new instance; none: one can be put back to its first state
	Draws     bool     // it can draw random numbers while it is initialised; what it makes of them repeats in every call
	Size      int      // bytes
	Digest    string   // "sha256:" and 64 hex digits, of the bytes as they were given
}

// Modules gives the modules that are imported, without WASI, sorted, each once.
func (m *Manifest) Modules() []string {
	seen := map[string]bool{}
	for _, i := range m.Imports {
		if i.Module != wasiModule {
			seen[i.Module] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

const (
	kindFunction = 0
	kindTable    = 1
	kindMemory   = 2
	kindGlobal   = 3
)

func kindOf(b byte) Kind {
	return [...]Kind{kindFunction: Function, kindTable: Table, kindMemory: Memory, kindGlobal: Global}[b]
}

// Inspect reads a module's sections strictly, before anything is compiled, and reports every fault
// at once. The Manifest is nil only if the bytes are no well-formed module; then there is one fault,
// the first byte that is wrong. A module without faults may still be refused by [Engine.Compile],
// which validates instructions and indexes. No bytes make Inspect panic (FuzzInspect).
func Inspect(wasm []byte, offered Offer) (*Manifest, []error) {
	m, faults := Read(wasm, offered)
	if m == nil {
		return nil, faults
	}
	return m.Manifest, faults
}

// Inspected is a module that was read, for [Engine.CompileInspected]. It holds all of the module's bytes.
type Inspected struct {
	*Manifest
	read *sections
}

// Read is Inspect, and keeps what it read, so that it need not be read again to be compiled.
func Read(wasm []byte, offered Offer) (*Inspected, []error) {
	s, err := readSections(wasm)
	if err != nil {
		return nil, []error{fmt.Errorf("the module cannot be read: %w", err)}
	}
	m, faults := s.judge(offered)
	m.Size, m.Digest = len(wasm), Digest(wasm)
	return &Inspected{m, s}, faults
}

// Digest is how a module's bytes are named: "sha256:" and 64 hex digits.
func Digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s *sections) judge(offered Offer) (*Manifest, []error) {
	m := &Manifest{Functions: len(s.bodies), Renewal: s.renewal(), Draws: s.draws()}
	var f faults
	if s.start {
		f.add("has a start section, which would run before any bound of a call; export _initialize instead")
	}
	for _, i := range s.imports {
		err := s.judgeImport(i, offered)
		m.Imports = append(m.Imports, Import{i.module, i.name, kindOf(i.kind), err == nil})
		if err != nil {
			f.add("%w", err)
		}
	}
	if s.tooDear != nil {
		f.add("compiling it would take too long or too much memory: %w", s.tooDear)
	}
	s.judgeMemory(m, &f)
	s.judgeTables(m, &f)
	s.judgeExports(m, &f)
	return m, f.list
}

// judgeImport is S2, and what S3 says of imports.
func (s *sections) judgeImport(i rawImport, offered Offer) error {
	module, name := i.module, i.name
	if i.kind != kindFunction {
		return fmt.Errorf("imports %s %s: a guest has its own memories, tables and globals", kindOf(i.kind), dotted(module, name))
	}
	sig, want := s.types[i.typ], shape()
	functions, ok := offered[module]
	switch {
	case module == wasiModule:
		f, ok := wasiFunctions()[name]
		if !ok {
			return fmt.Errorf("imports %s: toolhost does not offer this function of WASI", dotted(module, name))
		}
		want = f.signature
	case !ok:
		return fmt.Errorf("imports %s: toolhost offers no module %q", dotted(module, name), module)
	case !slices.Contains(functions, name):
		return fmt.Errorf("imports %s: module %q offers %s and no %q", dotted(module, name), module, strings.Join(functions, ", "), name)
	}
	if sig != want {
		return fmt.Errorf("imports %s as %v, want %v", dotted(module, name), sig, want)
	}
	return nil
}

func (s *sections) judgeMemory(m *Manifest, f *faults) {
	own := s.memories[s.imported(kindMemory):]
	m.Memories = len(own)
	if len(own) > 1 {
		f.add("has %d memories, want one", len(own))
	}
	for _, l := range own {
		if l.shared {
			f.add("has a shared memory, which only threads need")
		}
	}
	if len(own) > 0 {
		l := own[0]
		m.MemoryMin, m.MemoryMax, m.HasMax = l.min, l.max, l.hasMax
	}
}

// judgeTables bounds the minimums: a table's memory is outside the memory limit. A maximum is not
// asked for, because Go's linker writes none; table.grow is bounded by rewriting (doc.go).
func (s *sections) judgeTables(m *Manifest, f *faults) {
	for _, t := range s.tables[s.imported(kindTable):] {
		m.Tables = append(m.Tables, TableSize{t.min, t.most()})
	}
	var total uint64
	for _, t := range s.tables {
		total += uint64(t.min)
		if t.shared {
			f.add("has a shared table")
		}
	}
	if total > maxElements {
		f.add("has tables of %d elements, at most %d are allowed", total, maxElements)
	}
}

func (s *sections) judgeExports(m *Manifest, f *faults) {
	found := map[string]rawExport{}
	for _, e := range s.exports {
		if e.kind > kindGlobal {
			f.add("exports %s of unknown kind 0x%02x", plain(e.name), e.kind)
			continue
		}
		if _, twice := found[e.name]; twice {
			f.add("exports %s twice", plain(e.name))
			continue
		}
		if strings.HasPrefix(e.name, ownModule) {
			f.add("exports %s: names that begin with %s are the host's", plain(e.name), ownModule)
		}
		found[e.name] = e
		m.Exports = append(m.Exports, Export{e.name, kindOf(e.kind)})
	}
	m.ABI = []ABIExport{
		{Name: "memory", Fault: memoryFault(found)},
		{Name: "run", Fault: s.functionFault(found, "run", signature{results: string([]byte{typeI32})}, true)},
		{Name: "_initialize", Fault: s.functionFault(found, "_initialize", signature{}, false)},
		{Name: "warm_up", Fault: s.functionFault(found, "warm_up", signature{}, false)},
	}
	for i := range m.ABI {
		_, m.ABI[i].Given = found[m.ABI[i].Name]
		if err := m.ABI[i].Fault; err != nil {
			f.add("%w", err)
		}
	}
}

func memoryFault(found map[string]rawExport) error {
	if e, ok := found["memory"]; !ok {
		return errors.New("exports no memory")
	} else if e.kind != kindMemory {
		return fmt.Errorf("exports memory as a %s", kindOf(e.kind))
	}
	return nil
}

func (s *sections) functionFault(found map[string]rawExport, name string, want signature, needed bool) error {
	e, ok := found[name]
	switch {
	case !ok && needed:
		return fmt.Errorf("exports no %s, want %s: %v", name, name, want)
	case !ok:
		return nil
	case e.kind != kindFunction:
		return fmt.Errorf("exports %s as a %s, want %v", name, kindOf(e.kind), want)
	case uint64(e.index) >= uint64(len(s.functions)):
		return fmt.Errorf("exports %s, but function %d does not exist", name, e.index)
	case s.types[s.functions[e.index]] != want:
		return fmt.Errorf("exports %s as %v, want %v", name, s.types[s.functions[e.index]], want)
	}
	return nil
}

// shape is the one signature of every offered function.
func shape() signature {
	return signature{params: string([]byte{typeI32, typeI32, typeI32, typeI32}), results: string([]byte{typeI64})}
}

// faults collects errors, each text once: Go modules import some names twice.
type faults struct{ list []error }

func (f *faults) add(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	same := func(other error) bool { return other.Error() == err.Error() }
	if !slices.ContainsFunc(f.list, same) {
		f.list = append(f.list, err)
	}
}

// plain quotes a foreign name unless it is an ordinary one, so that no control character of a
// module reaches a terminal.
func plain(name string) string {
	odd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_'
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

func dotted(module, name string) string { return plain(module) + "." + plain(name) }
