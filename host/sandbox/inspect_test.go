package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// offer is what tests offer.
func offer() Offer {
	return Offer{
		"toolhost": {"arguments", "result", "error", "log", "progress"},
		"records":  {"get", "list", "search"},
	}
}

func good() *guest { return newGuest().run(i32(0)) }

func TestInspectAcceptsAndDescribes(t *testing.T) {
	g := newGuest().imp("toolhost", "log").imp("records", "get", "get").importAs(wasiModule, "fd_write", strings.Repeat(i32Value, 4), i32Value)
	g.memory = vector(append([]byte{1}, append(leb(2), leb(300)...)...))
	g.export("_initialize", kindFunction, g.fn("", "", 0)).run(i32(0))
	wasm := slices.Concat(g.bytes(), section(sectionCustom, append(sized([]byte("name")), 1, 2, 3)))
	m, faults := Inspect(wasm, offer())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got := m.Modules(); !slices.Equal(got, []string{"records", "toolhost"}) {
		t.Errorf("modules %v", got)
	}
	if m.MemoryMin != 2 || m.MemoryMax != 300 || !m.HasMax || m.Size != len(wasm) || m.Functions != 2 {
		t.Errorf("manifest %+v", m)
	}
	if len(m.Digest) != len("sha256:")+64 || !strings.HasPrefix(m.Digest, "sha256:") {
		t.Errorf("digest %q", m.Digest)
	}
	if _, err := compileWith(t, wasm, 1<<24); err != nil {
		t.Errorf("a custom section that would not parse must not matter: %v", err)
	}
}

// A reviewer reads how far tables grow, and which exports are as the ABI wants.
func TestInspectDescribesTablesAndExports(t *testing.T) {
	g := newGuest().imp("records", "get").importAs("records", "list", i32Value, i32Value)
	g.tables = [][]byte{{typeFuncref, 0, 3}, {typeExternref, 1, 2, 7}}
	g.export("_initialize", kindFunction, g.fn("", i32Value, 0, i32(0))).export("also\n", kindMemory, 0)
	m, _ := Inspect(g.bytes(), offer())
	if want := []TableSize{{3, maxElements}, {2, 7}}; !slices.Equal(m.Tables, want) {
		t.Errorf("tables %v, want %v", m.Tables, want)
	}
	var abi []string
	for _, e := range m.ABI {
		abi = append(abi, fmt.Sprint(e.Name, " ", e.Given, " ", e.Fault))
	}
	if want := []string{
		"memory true <nil>", "run false exports no run, want run: () -> i32",
		"_initialize true exports _initialize as () -> i32, want () -> ()", "warm_up false <nil>",
	}; !slices.Equal(abi, want) {
		t.Errorf("exports %q", abi)
	}
	if last := m.Exports[len(m.Exports)-1]; last.String() != `"also\n"` || !m.Imports[0].Offered || m.Imports[1].Offered || m.Imports[1].String() != "records.list" {
		t.Errorf("%v %v", last, m.Imports)
	}
}

// Check and Compile say the same, of what Inspect finds and of what it leaves to the validator.
func TestCheckIsWhatCompileRefuses(t *testing.T) {
	cases := append(importRefusals(), formRefusals()...)
	cases = append(cases, refusal{"sound", good().bytes(), ""}, refusal{"no-module", []byte("#!/bin/sh\n"), "at byte 0"},
		refusal{"nothing-on-the-stack", newGuest().run().bytes(), "the module is not valid"})
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			_, faults := Check(t.Context(), c.wasm, offer())
			_, err := compileWith(t, c.wasm, 1<<20)
			if joined := errors.Join(faults...); fmt.Sprint(joined) != fmt.Sprint(err) || !strings.Contains(fmt.Sprint(joined), c.want) {
				t.Errorf("Check %v, Compile %v", joined, err)
			}
		})
	}
}

// refusal is one fault, in the words that its author reads.
type refusal struct {
	rule string
	wasm []byte
	want string
}

// importRefusals are S2 and the imports of S3.
func importRefusals() []refusal {
	return []refusal{
		{"imported-memory", good().importOther("env", "memory", 2, 0, 1).bytes(), "imports memory env.memory"},
		{"imported-table", good().importOther("env", "t", 1, typeFuncref, 0, 1).bytes(), "imports table env.t"},
		{"imported-global", good().importOther("env", "g", 3, typeI32, 0).bytes(), "imports global env.g"},
		{"unknown-module", newGuest().imp("env", "abort").run(i32(0)).bytes(), `imports env.abort: toolhost offers no module "env"`},
		{"unknown-function", newGuest().imp("records", "drop").run(i32(0)).bytes(), `imports records.drop: module "records" offers get, list, search and no "drop"`},
		{"control-characters-quoted", newGuest().imp("a\x1b[2J", "b").run(i32(0)).bytes(), `imports "a\x1b[2J".b`},
		{"wasi-files", newGuest().importAs(wasiModule, "path_open", i32Value, i32Value).run(i32(0)).bytes(), "path_open: toolhost does not offer this function of WASI"},
		{"wasi-signature", newGuest().importAs(wasiModule, "fd_write", i32Value, i32Value).run(i32(0)).bytes(), "fd_write as (i32) -> i32, want (i32, i32, i32, i32) -> i32"},
		{"wrong-shape", newGuest().importAs("records", "get", i32Value+i32Value, i32Value).run(i32(0)).bytes(), "imports records.get as (i32, i32) -> i32, want (i32, i32, i32, i32) -> i64"},
	}
}

// formRefusals are S1 and the rest of S3.
func formRefusals() []refusal {
	noMemory := func() *guest {
		g := &guest{memory: vector([]byte{0, 1}), named: map[string]uint64{}}
		return g.run(i32(0))
	}
	return []refusal{
		{"start-section", func() []byte {
			g := good()
			g.after = section(sectionStart, leb(g.fn("", "", 0)))
			return g.bytes()
		}(), "has a start section"},
		{"no-memory", noMemory().bytes(), "exports no memory"},
		{"memory-is-function", noMemory().export("memory", kindFunction, 0).bytes(), "exports memory as a function"},
		{"no-run", newGuest().bytes(), "exports no run, want run: () -> i32"},
		{"run-with-parameter", func() []byte {
			g := newGuest()
			return g.export("run", kindFunction, g.fn(i32Value, i32Value, 0, i32(0))).bytes()
		}(), "exports run as (i32) -> i32, want () -> i32"},
		{"run-is-memory", newGuest().export("run", kindMemory, 0).bytes(), "exports run as a memory"},
		{"run-does-not-exist", newGuest().export("run", kindFunction, 7).bytes(), "function 7 does not exist"},
		{"initialize-with-result", func() []byte {
			g := good()
			return g.export("_initialize", kindFunction, g.fn("", i32Value, 0, i32(0))).bytes()
		}(), "exports _initialize as () -> i32, want () -> ()"},
		{"name-twice", good().export("run", kindFunction, 0).bytes(), "exports run twice"},
		{"two-memories", func() []byte {
			g := good()
			g.memory = vector([]byte{0, 1}, []byte{0, 1})
			return g.bytes()
		}(), "has 2 memories"},
		{"shared-memory", func() []byte {
			g := good()
			g.memory = vector([]byte{3, 1, 2})
			return g.bytes()
		}(), "has a shared memory"},
		{"memory64", func() []byte {
			g := good()
			g.memory = vector([]byte{4, 1})
			return g.bytes()
		}(), "64-bit memories and tables are not supported"},
		{"huge-table", func() []byte {
			g := good()
			g.tables = [][]byte{append([]byte{typeFuncref, 0}, leb(maxElements+1)...)}
			return g.bytes()
		}(), "has tables of 100001 elements"},
		{"many-locals", func() []byte { // ten bytes for which wazero would allocate 32 GB
			g := good()
			g.fn("", "", 1<<32-1)
			return g.bytes()
		}(), "4294967295 locals in one function"},
	}
}

func TestInspectRefuses(t *testing.T) {
	for _, c := range append(importRefusals(), formRefusals()...) {
		t.Run(c.rule, func(t *testing.T) {
			_, faults := Inspect(c.wasm, offer())
			if len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want) {
				t.Fatalf("faults %v, want one with %q", faults, c.want)
			}
			if _, err := compileWith(t, c.wasm, 1<<20); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Compile must not lead around Inspect: %v", err)
			}
		})
	}
}

// TestLocalsOfAllFunctions: each function may have as many as it likes up to its bound, all of them together not.
func TestLocalsOfAllFunctions(t *testing.T) {
	most := good()
	for range maxAllLocals/maxLocals - 1 {
		most.fn("", "", maxLocals)
	}
	if _, err := readSections(most.bytes()); err != nil {
		t.Error(err)
	}
	most.fn("", "", maxLocals)
	_, faults := Inspect(most.bytes(), offer())
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "2000001 parameters and locals in all functions, at most 2000000 are allowed") {
		t.Errorf("%v", faults)
	}
}

func TestInspectReportsEveryFaultAtOnce(t *testing.T) {
	g := newGuest().imp("env", "abort", "abort").imp("files", "read")
	_, faults := Inspect(g.bytes(), offer())
	if len(faults) != 3 {
		t.Errorf("want three faults (two modules, no run), each once: %v", faults)
	}
}

func TestInspectRefusesMalformedBytes(t *testing.T) {
	types := section(sectionType, vector())
	cases := []struct {
		rule string
		wasm []byte
		want string
	}{
		{"empty", nil, "8 bytes announced, 0 left"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "no WebAssembly module of version 1"},
		{"order", slices.Concat(header(), section(sectionImport, vector()), types), "out of order"},
		{"repeated", slices.Concat(header(), types, types), "repeated"},
		{"tag-section", slices.Concat(header(), section(13, vector())), "section 13 is unknown"},
		{"section-too-long", slices.Concat(header(), []byte{sectionType, 9, 0}), "9 bytes announced, 1 left"},
		{"section-too-short", slices.Concat(header(), section(sectionType, append(vector(), 0))), "1 bytes too many"},
		{"count-beyond-bytes", slices.Concat(header(), section(sectionType, leb(9000))), "9000 types announced in 0 bytes"},
		{"count-beyond-bound", slices.Concat(header(), section(sectionType, leb(1<<31))), "at most 10000 are allowed"},
		{"leb-too-long", slices.Concat(header(), section(sectionType, []byte{0xff, 0xff, 0xff, 0xff, 0x1f})), "longer than 32 bits"},
		{"leb-six-bytes", slices.Concat(header(), section(sectionType, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0})), "longer than 32 bits"},
		{"typed-reference", slices.Concat(header(), section(sectionType, vector([]byte{0x60, 1, 0x63, 0x70, 0}))), "0x63 is no value type"},
		{"rec-group", slices.Concat(header(), section(sectionType, vector([]byte{0x4e, 0}))), "no function type"},
		{"utf-8", slices.Concat(header(), section(sectionCustom, sized([]byte{0xff}))), "not valid UTF-8"},
		{"missing-bodies", slices.Concat(header(), section(sectionType, vector([]byte{0x60, 0, 0})), section(sectionFunction, vector(leb(0)))), "1 functions with 0 bodies"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			m, faults := Inspect(c.wasm, offer())
			if m != nil || len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want) {
				t.Errorf("manifest %v, faults %v, want %q", m, faults, c.want)
			}
		})
	}
}

// FuzzInspect: no bytes make Inspect panic; what it accepts, wazero accepts or refuses without a
// panic, and if wazero accepts, both see the same imports.
func FuzzInspect(f *testing.F) {
	full := newGuest().imp("toolhost", "log").importAs(wasiModule, "sched_yield", "", i32Value).global(0).bytesAt(0, "hello")
	full.tables = [][]byte{{typeFuncref, 0, 1}}
	full.run(i32(0))
	f.Add(full.bytes())
	f.Add(good().bytes())
	f.Add(newGuest().imp("env", "abort").bytes())
	f.Add(slices.Concat(good().bytes(), section(sectionCustom, sized([]byte("name")))))
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(65535))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, faults := Inspect(wasm, offer())
		if (m == nil) && len(faults) == 0 {
			t.Fatal("no manifest and no fault")
		}
		if len(faults) > 0 {
			return
		}
		s, err := readSections(wasm)
		if err != nil {
			t.Fatalf("accepted, then refused: %v", err)
		}
		compiled, err := r.CompileModule(context.Background(), s.plain())
		if err != nil {
			return
		}
		defer func() { _ = compiled.Close(context.Background()) }()
		var theirs []Import
		for _, d := range compiled.ImportedFunctions() {
			module, name, _ := d.Import()
			theirs = append(theirs, Import{module, name, Function, true})
		}
		if !slices.Equal(theirs, m.Imports) {
			t.Errorf("wazero sees imports %v, Inspect %v", theirs, m.Imports)
		}
	})
}

// compileWith compiles without a cache.
func compileWith(t testing.TB, wasm []byte, memoryLimit int64) (*Module, error) {
	t.Helper()
	e, err := NewEngine(Options{Offer: offer()})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Compile(context.Background(), wasm, Limits{Memory: memoryLimit})
	if err == nil {
		t.Cleanup(func() {
			if err := errors.Join(m.Close(context.Background()), m.Close(context.Background())); err != nil {
				t.Error(err)
			}
		})
	}
	return m, err
}
