package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const (
	foreignFiles  = 7973             // in wazero 1.12.0: with fewer, some were passed over
	foreignValid  = 2865             // of them, to be rewritten
	foreignGuests = 2314             // of them, which the engine loads once they export what guests export
	foreignTime   = 20 * time.Second // for one file
	foreignReason = 8 << 10          // bytes of one reason: names of 1 KiB, each byte of them escaped
	foreignLimit  = 32 << 20         // bytes of memory
)

// foreignAlloc is what reading a file may allocate.
func foreignAlloc(size int) uint64 { return 64*uint64(size) + 1<<20 }

// foreign gives every module in wazero's folder: those of other compilers, the specification's valid and
// invalid ones, and what fuzzers found.
func foreign(t *testing.T) (folder string, paths []string) {
	t.Helper()
	folder, err := wazeroFolder()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".wasm" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) < foreignFiles {
		t.Fatalf("%d modules below %s, want %d: %v", len(paths), folder, foreignFiles, err)
	}
	return folder, paths
}

// TestForeignRead is S1: reading allocates in proportion to the file, whatever the file is.
func TestForeignRead(t *testing.T) {
	notUnderRace(t)
	folder, paths := foreign(t)
	var most uint64
	for _, path := range paths { // one after the other, because the counter is the process's
		wasm := readFile(t, path)
		name, _ := filepath.Rel(folder, path)
		for step, do := range map[string]func() []error{
			"Inspect":      func() []error { _, faults := Inspect(wasm, offer()); return faults },
			"readSections": func() []error { _, err := readSections(wasm); return onlyError(err) },
		} {
			allocated, faults := foreignAllocations(do)
			if want := foreignAlloc(len(wasm)); allocated > want {
				t.Errorf("%s: %s allocates %d bytes for %d, want %d at most", name, step, allocated, len(wasm), want)
			}
			for _, err := range faults {
				checkReason(t, name, err)
			}
			most = max(most, allocated/uint64(len(wasm)+1))
		}
	}
	t.Logf("%d files, at most %d bytes allocated for a byte", len(paths), most)
}

// onlyError is a list of no error or one.
func onlyError(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

func foreignAllocations(do func() []error) (uint64, []error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	faults := do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, faults
}

// checkReason wants a reason to be one line of bounded length that says something.
func checkReason(t *testing.T, name string, err error) {
	t.Helper()
	text := err.Error()
	if strings.TrimSpace(text) == "" || strings.Contains(text, "\n") || len(text) > foreignReason {
		t.Errorf("%s is refused with %d bytes: %.300q", name, len(text), text)
	}
	if errors.Is(err, errPanic) {
		t.Errorf("%s: %v", name, err)
	}
}

// TestForeignCompile takes every module through the engine, and past its rules through the rewriting: what
// wazero accepts is rewritten into what it accepts, or refused with a reason; what wazero refuses stays refused.
func TestForeignCompile(t *testing.T) {
	notUnderRace(t)
	folder, paths := foreign(t)
	f := &foreignRun{T: t, reasons: map[string]int{}, ends: map[string]int{}}
	var err error
	if f.engine, err = NewEngine(Options{Offer: offer()}); err != nil {
		t.Fatal(err)
	}
	work := make(chan string)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for path := range work {
				name, _ := filepath.Rel(folder, path)
				f.file(name, path)
			}
		})
	}
	for _, path := range paths {
		work <- path
	}
	close(work)
	workers.Wait()
	f.report()
}

// foreignRun counts how files end.
type foreignRun struct {
	*testing.T
	engine  *Engine
	mu      sync.Mutex
	reasons map[string]int
	ends    map[string]int
}

func (f *foreignRun) file(name, path string) {
	wasm, err := os.ReadFile(path)
	if err != nil {
		f.Error(err)
		return
	}
	done := make(chan []error, 1)
	go func() { done <- f.compile(name, wasm) }()
	select {
	case faults := <-done:
		for _, err := range faults {
			checkReason(f.T, name, err)
		}
		f.count(faults)
	case <-time.After(foreignTime): // what runs is left behind: nothing can end it
		f.Errorf("%s takes longer than %v", name, foreignTime)
	}
}

// compile says why the engine does not load the module.
func (f *foreignRun) compile(name string, wasm []byte) []error {
	f.compareCompilers(name, wasm)
	f.asGuest(name, wasm)
	if _, faults := Inspect(wasm, offer()); len(faults) > 0 {
		return faults
	}
	m, err := f.engine.Compile(context.Background(), wasm, Limits{Memory: foreignLimit})
	if err != nil {
		return []error{err}
	}
	return onlyError(m.Close(context.Background()))
}

// asGuest takes the module through the engine, which hardly any foreign one would reach as it is.
func (f *foreignRun) asGuest(name string, wasm []byte) {
	g := guestOf(wasm)
	if g == nil {
		return
	}
	m, err := f.engine.Compile(context.Background(), g, Limits{Memory: foreignLimit})
	if err == nil {
		f.end("made a guest, it is loaded", "", nil)
		if err := m.Close(context.Background()); err != nil {
			f.Errorf("%s: %v", name, err)
		}
		return
	}
	f.end("made a guest, it is refused", "", nil)
	for line := range strings.SplitSeq(err.Error(), "\n") { // a fault each, but for those of wazero's validation
		if checkReason(f.T, name, errors.New(line)); strings.HasPrefix(line, "\t") {
			continue // "have" and "want", which belong to the line before
		}
		f.mu.Lock()
		f.reasons["as a guest: "+folded(line)]++
		f.mu.Unlock()
	}
}

// guestOf adds to a module what a guest must have, a memory and a function run; nil if it cannot be read.
func guestOf(wasm []byte) []byte {
	s, err := readSections(wasm)
	if err != nil {
		return nil
	}
	bodies := map[byte][]byte{}
	for r := (&reader{data: s.plain(), pos: 8}); r.more(); {
		id := r.byte()
		bodies[id] = r.take(r.u32())
	}
	add := func(id byte, item ...byte) {
		r := &reader{data: append(bodies[id], 0)} // the 0 is the count of an absent section
		n := r.u32()
		bodies[id] = slices.Concat(leb(uint64(n)+1), bodies[id][min(r.pos, len(bodies[id])):], item)
	}
	functions := len(s.functions)
	for _, i := range s.imports {
		if i.kind == kindFunction {
			functions++
		}
	}
	add(sectionType, 0x60, 0, 1, typeI32)
	add(sectionFunction, leb(uint64(len(s.types)))...)
	add(sectionCode, sized(slices.Concat(vector(), i32(0), op(opEnd)))...)
	if len(s.memories) == 0 {
		add(sectionMemory, 0, 1)
	}
	have := func(name string) bool {
		return slices.ContainsFunc(s.exports, func(e rawExport) bool { return e.name == name })
	}
	if !have("memory") {
		add(sectionExport, slices.Concat(sized([]byte("memory")), []byte{kindMemory, 0})...)
	}
	if !have("run") {
		add(sectionExport, slices.Concat(sized([]byte("run")), []byte{kindFunction}, leb(uint64(functions)))...)
	}
	out := header()
	for _, id := range []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, sectionDataCount, 10, 11} {
		if body, ok := bodies[id]; ok {
			out = append(out, section(id, body)...)
		}
	}
	return out
}

// compareCompilers compiles the module as it is and rewritten.
func (f *foreignRun) compareCompilers(name string, wasm []byte) {
	plain := compileAsItIs(wasm)
	rewritten, err := rewriteGuarded(wasm)
	if err != nil {
		checkReason(f.T, name, err)
		f.end("the rewriting refuses it", "wazero too", plain)
		return
	}
	err = compileAsItIs(rewritten)
	if (plain == nil) != (err == nil) {
		f.Errorf("%s: wazero says %v, and of the rewritten module %v", name, plain, err)
	}
	f.end("it is rewritten", "wazero refuses both", plain)
}

func (f *foreignRun) end(what, refused string, plain error) {
	if plain != nil {
		what += ", " + refused
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ends[what]++
}

func rewriteGuarded(wasm []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w in the rewriting: %v", errPanic, r)
		}
	}()
	return specRewrite(wasm)
}

// compileAsItIs uses a runtime for each module, as the engine does.
func compileAsItIs(wasm []byte) (err error) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).
		WithCustomSections(false).WithDebugInfoEnabled(false))
	defer func() {
		if r := recover(); r != nil { // the compiler's own; to the engine it is a refusal
			err = fmt.Errorf("the compiler failed: %v", r)
		}
		err = errors.Join(err, r.Close(ctx))
	}()
	_, err = r.CompileModule(ctx, wasm)
	return err
}

func (f *foreignRun) count(faults []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(faults) == 0 {
		f.ends["loaded"]++
		return
	}
	f.ends["refused"]++
	for _, err := range faults {
		f.reasons[folded(err.Error())]++
	}
}

var (
	foldNames   = regexp.MustCompile(`"[^"]*"|[^\s".]+\.[^\s".]+`)
	foldExports = regexp.MustCompile(`exports \S+ (as|twice|of)`)
	foldNumbers = regexp.MustCompile(`0x[0-9a-f]+|\d+`)
)

// folded gives reasons of one kind one text.
func folded(reason string) string {
	reason = foldNames.ReplaceAllString(reason, "NAME")
	reason = foldExports.ReplaceAllString(reason, "exports NAME $1")
	return foldNumbers.ReplaceAllString(reason, "N")
}

func (f *foreignRun) report() {
	for _, end := range slices.Sorted(maps.Keys(f.ends)) {
		f.Logf("%6d %s", f.ends[end], end)
	}
	most := slices.SortedFunc(maps.Keys(f.reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.reasons[b], f.reasons[a]), strings.Compare(a, b))
	})
	for _, reason := range most[:min(10, len(most))] {
		f.Logf("%6d times: %.200s", f.reasons[reason], reason)
	}
	if n := f.ends["it is rewritten"]; n < foreignValid {
		f.Errorf("%d valid files are rewritten, want %d", n, foreignValid)
	}
	if n := f.ends["made a guest, it is loaded"]; n < foreignGuests {
		f.Errorf("%d files are loaded as guests, want %d", n, foreignGuests)
	}
	if n := f.ends["loaded"] + f.ends["refused"]; n < foreignFiles && !f.Failed() {
		f.Errorf("%d files ended, want %d", n, foreignFiles)
	}
}
