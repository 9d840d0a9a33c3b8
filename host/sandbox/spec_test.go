package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The tests of the WebAssembly specification, as wazero ships them, run side by side: each module as
// it is and each module rewritten. The two must agree with one another and with the specification.

// specRewrite is the rewriting under test, after all that comes before it in the engine.
func specRewrite(wasm []byte) ([]byte, error) {
	s, err := readSections(wasm)
	if err != nil {
		return nil, err
	}
	if err := validate(context.Background(), s.plain()); err != nil {
		return nil, err
	}
	return s.rewrite(), nil
}

// specHost instantiates what rewritten modules import. Fuel is without end here.
func specHost(ctx context.Context, r wazero.Runtime) error {
	i64 := api.ValueTypeI64
	look := api.GoFunc(func(_ context.Context, stack []uint64) {
		if int64(stack[1]) < 0 {
			panic(errors.New(specStackText))
		}
		stack[0] = slice
	})
	_, err := r.NewHostModuleBuilder(ownModule).NewFunctionBuilder().
		WithGoFunction(look, []api.ValueType{i64, i64}, []api.ValueType{i64}).Export(lookFunction).Instantiate(ctx)
	return err
}

// specStackText is how a rewritten guest may end that recurses too deep, besides wazero's own text.
var specStackText = "stack overflow"

// specSuites are the folders of tests below wazero's, with the features that they are written for.
var specSuites = map[string]api.CoreFeatures{"v1": api.CoreFeaturesV1, "v2": api.CoreFeaturesV2}

// specTotals are the commands in wazero 1.12.0 by kind: fewer checked means that some were passed over.
var specTotals = map[string]int{
	"file":                              221,
	"module":                            2379,
	"register":                          32,
	"action":                            197,
	"assert_return":                     61522,
	"assert_trap":                       2866,
	"assert_exhaustion":                 30,
	"assert_invalid":                    3135,
	"assert_malformed":                  1380,
	"assert_malformed of text, not run": 1521,
	"assert_unlinkable":                 178,
	"assert_uninstantiable":             36,
	"memory compared":                   695,
}

// specMaxErrors bounds what one file reports: most errors follow from the first.
const specMaxErrors = 10

// wazeroFolder is where Go keeps wazero's module.
var wazeroFolder = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		return "", fmt.Errorf("ask go for the folder of wazero: %w", err)
	}
	folder := strings.TrimSpace(string(out))
	if folder == "" {
		return "", errors.New("go knows no folder of wazero: a vendored wazero has no tests, and these need them")
	}
	return folder, nil
})

func specFolder(t *testing.T) string {
	t.Helper()
	folder, err := wazeroFolder()
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(folder, "internal", "integration_test", "spectest")
	if _, err := os.Stat(filepath.Join(folder, "testdata", "spectest.wasm")); err != nil {
		t.Fatalf("wazero's copy of the specification tests is missing: %v", err)
	}
	return folder
}

func TestSpec(t *testing.T) {
	notUnderRace(t)
	folder := specFolder(t)
	common := readFile(t, filepath.Join(folder, "testdata", "spectest.wasm"))
	total := &specTally{counts: map[string]int{}}
	t.Run("files", func(t *testing.T) { // ends when all files have ended
		for _, suite := range slices.Sorted(maps.Keys(specSuites)) {
			files, err := filepath.Glob(filepath.Join(folder, suite, "testdata", "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				name := suite + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					total.add(runSpec(t, file, specSuites[suite], common))
				})
			}
		}
	})
	for _, kind := range slices.Sorted(maps.Keys(total.counts)) {
		t.Logf("%6d %s", total.counts[kind], kind)
	}
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // single files were asked for
	}
	for kind, want := range specTotals {
		if have := total.counts[kind]; have < want {
			t.Errorf("%s: %d checked, want %d or more", kind, have, want)
		}
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// specTally counts what was checked, by kind.
type specTally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *specTally) add(more map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for kind, n := range more {
		c.counts[kind] += n
	}
}

// specCommand is a line of a test script (wast2json's format). Fields that a kind lacks are empty.
type specCommand struct {
	Type       string
	Line       int
	Name       string // of a module
	Filename   string
	As         string // what register names the module
	ModuleType string `json:"module_type"`
	Text       string // how it must end
	Action     struct {
		Type   string
		Module string
		Field  string
		Args   []specValue
	}
	Expected []specValue
}

// specRun is one file of commands on its way through both sides.
type specRun struct {
	*testing.T
	folder    string
	line      int
	errors    int
	counts    map[string]int
	plain     *specSide
	rewritten *specSide
}

// runSpec gives what it checked, by kind.
func runSpec(t *testing.T, file string, features api.CoreFeatures, common []byte) map[string]int {
	var script struct{ Commands []specCommand }
	if err := json.Unmarshal(readFile(t, file), &script); err != nil {
		t.Fatal(err)
	}
	asItIs := func(wasm []byte) ([]byte, error) { return wasm, nil }
	nothing := func(context.Context, wazero.Runtime) error { return nil }
	s := &specRun{T: t, folder: filepath.Dir(file), counts: map[string]int{"file": 1}}
	s.plain = newSide(t, features, asItIs, nothing, common)
	s.rewritten = newSide(t, features, specRewrite, specHost, common)
	for i, c := range script.Commands {
		s.line = c.Line
		if c.Type == "module" && i+1 < len(script.Commands) && script.Commands[i+1].Type == "register" {
			c.As = script.Commands[i+1].As // wazero names a module when it is made, and not later
		}
		s.command(c)
		kind := c.Type
		if c.ModuleType == "text" {
			kind += " of text, not run"
		}
		s.counts[kind]++
	}
	s.memories()
	return s.counts
}

// wrong reports what is wrong with the command.
func (s *specRun) wrong(format string, args ...any) {
	s.Helper()
	s.Errorf("line %d: %s", s.line, fmt.Sprintf(format, args...))
	if s.errors++; s.errors >= specMaxErrors {
		s.Fatal("too many errors in this file")
	}
}

func (s *specRun) command(c specCommand) {
	switch c.Type {
	case "module":
		s.module(c)
	case "register": // done with the module before it
		s.registered(c)
	case "action", "assert_return":
		s.returns(c)
	case "assert_trap":
		s.traps(c)
	case "assert_exhaustion":
		s.exhausts(c)
	case "assert_malformed", "assert_invalid", "assert_unlinkable":
		if c.ModuleType != "text" {
			s.refused(c)
		}
	case "assert_uninstantiable":
		s.uninstantiable(c)
	default:
		s.Fatalf("line %d: unknown command %q", c.Line, c.Type)
	}
}

func (s *specRun) module(c specCommand) {
	wasm := readFile(s, filepath.Join(s.folder, c.Filename))
	for _, side := range s.sides() {
		if err := side.instantiate(s.Context(), wasm, c.As); err != nil {
			s.wrong("%s does not instantiate %s: %v", s.nameOf(side), c.Filename, err)
		} else if c.Name != "" {
			side.named[c.Name] = side.last()
		}
	}
}

func (s *specRun) sides() []*specSide { return []*specSide{s.plain, s.rewritten} }

func (s *specRun) nameOf(side *specSide) string {
	if side == s.plain {
		return "plain"
	}
	return "rewritten"
}

func (s *specRun) registered(c specCommand) {
	for _, side := range s.sides() {
		if side.runtime.Module(c.As) == nil {
			s.wrong("%s has no module %q", s.nameOf(side), c.As)
		}
	}
}

func (s *specRun) returns(c specCommand) {
	plain, err := s.plain.act(s.Context(), c)
	rewritten, err2 := s.rewritten.act(s.Context(), c)
	if err != nil || err2 != nil {
		s.wrong("%s %s: plain ends with %v, rewritten with %v", c.Action.Type, c.Action.Field, err, err2)
		return
	}
	if c.Type == "action" { // nothing is expected of its results, but that they are the same
		for i := range c.Expected {
			c.Expected[i].Value = nil
		}
	}
	if why := compareResults(c.Expected, plain, rewritten); why != "" {
		s.wrong("%s %s: %s", c.Action.Type, c.Action.Field, why)
	}
}

// specTraps are wazero's words for those of the specification's tests.
var specTraps = map[string]string{
	"indirect call type mismatch": "indirect call type mismatch",
	"indirect call":               "indirect call type mismatch",
	"undefined element":           "invalid table access",
	"undefined":                   "invalid table access",
	"uninitialized":               "invalid table access",
	"uninitialized element":       "invalid table access",
	"uninitialized element 2":     "invalid table access",
	"uninitialized element 7":     "invalid table access",
	"out of bounds table access":  "invalid table access",
}

func (s *specRun) traps(c specCommand) {
	want, other := specTraps[c.Text]
	if !other {
		want = c.Text
	}
	for _, side := range s.sides() {
		if _, err := side.act(s.Context(), c); trapText(err) != want {
			s.wrong("%s: %s ends with %v, want %s", c.Action.Field, s.nameOf(side), err, want)
		}
	}
}

// trapText is how a guest ended, in one line and without what wazero sets before it.
func trapText(err error) string {
	if err == nil {
		return "no error"
	}
	return strings.TrimPrefix(firstLine(err.Error()), "wasm error: ")
}

func (s *specRun) exhausts(c specCommand) {
	for _, side := range s.sides() {
		_, err := side.act(s.Context(), c)
		ours := side == s.rewritten && strings.HasPrefix(trapText(err), specStackText)
		if trapText(err) != "stack overflow" && !ours {
			s.wrong("%s: %s ends with %v, want a stack overflow", c.Action.Field, s.nameOf(side), err)
		}
	}
}

// refused modules stay refused: by the rewriting, by the compiler or at the instantiation.
func (s *specRun) refused(c specCommand) {
	wasm := readFile(s, filepath.Join(s.folder, c.Filename))
	for _, side := range s.sides() {
		if err := side.attempt(s.Context(), wasm); err == nil || errors.Is(err, errPanic) {
			s.wrong("%s ends with %v for %s, want it refused for %q", s.nameOf(side), err, c.Filename, c.Text)
		}
	}
}

// uninstantiable modules fail at the end of instantiation. One kind does not in wazero, on purpose: an
// element segment out of bounds leaves the instance in use.
func (s *specRun) uninstantiable(c specCommand) {
	wasm := readFile(s, filepath.Join(s.folder, c.Filename))
	want := c.Text != "out of bounds table access"
	for _, side := range s.sides() {
		if err := side.attempt(s.Context(), wasm); (err != nil) != want {
			s.wrong("%s ends the instantiation of %s with %v", s.nameOf(side), c.Filename, err)
		}
	}
}

// memories compares the memories of all instances, two by two.
func (s *specRun) memories() {
	s.line = 0
	for i, plain := range s.plain.instances {
		if i >= len(s.rewritten.instances) {
			s.wrong("%d instances, %d of them rewritten", len(s.plain.instances), len(s.rewritten.instances))
			return
		}
		a, b := memoryBytes(plain), memoryBytes(s.rewritten.instances[i])
		if !bytes.Equal(a, b) {
			s.wrong("the memories of instance %d differ: %s", i, memoryDifference(a, b))
		}
		if a != nil {
			s.counts["memory compared"]++
		}
	}
}
