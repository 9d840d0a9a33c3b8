package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// keeper is a guest that keeps what it is given: in a global, in its memory's first and last page, in a page that it grows,
// and on its stack. Each time it is called it first says what it finds of all that: 0, if nothing.
//
// The argument is one number; run gives the sum of what it found. mode says how it ends.
func keeper(end ...[]byte) *guest {
	g := newGuest().imp("records", "get").global(0)
	g.memory = vector([]byte{0, 2})
	secret := slices.Concat(i32(1024), op(0x28, 2, 0)) // where the host writes it
	// A function that recurses 200 deep with the secret in its locals, and one that adds up locals it never set.
	deep := g.fn(i32Value, i32Value, 8, slices.Concat(
		each(8, func(i int) []byte { return slices.Concat(secret, op(0xad), set(1+i)) }),
		get(0), op(0x04, 0x7f), get(0), i32(1), op(0x6b), callTo(uint64(1)), op(0x05), i32(0), opEndBlock,
		each(8, func(i int) []byte { return slices.Concat(get(1+i), opWrap, op(0x6a)) })))
	fresh := g.fn(i32Value, i32Value, 8, slices.Concat(
		get(0), op(0x04, 0x7f), get(0), i32(1), op(0x6b), callTo(uint64(2)), op(0x05), i32(0), opEndBlock,
		each(8, func(i int) []byte { return slices.Concat(get(1+i), opWrap, op(0x6a)) })))
	found := slices.Concat(
		opCounted,
		i32(8), op(0x28, 2, 0), op(0x6a), // first page
		i32(2*pageSize-8), op(0x28, 2, 0), op(0x6a), // last
		op(0x3f, 0), i32(2), op(0x6b), op(0x6a), // pages beyond two
		i32(200), callTo(fresh), op(0x6a))
	keep := slices.Concat(
		secret, op(0x24, 0),
		i32(8), secret, op(0x36, 2, 0),
		i32(2*pageSize-8), secret, op(0x36, 2, 0),
		i32(200), callTo(deep), opDrop)
	return g.run(found, op(0xad), set(0), g.ask("records.get", 0, 0, 1024, 4), opDrop, keep, slices.Concat(end...), get(0), opWrap)
}

// grownKeeper keeps it in a page that it grows, too.
func grownKeeper() []byte {
	return keeper(i32(1), opGrow, opDrop, i32(2*pageSize), i32(7), op(0x36, 2, 0)).bytes()
}

// TestNothingOfACallIsInTheNext is S4: a guest that keeps a secret in every place it has never finds one, with 64 callers
// side by side; nor after calls that end badly in each way. A million calls with TOOLHOST_NIGHTLY=1.
func TestNothingOfACallIsInTheNext(t *testing.T) { bothWays(t, testSecrets) }

func testSecrets(t *testing.T) {
	calls := 64 * 40
	if os.Getenv("TOOLHOST_NIGHTLY") != "" {
		calls = 1_000_000
	}
	if underRace == 1 {
		calls = 64 * 10
	}
	for _, c := range []struct {
		name string
		wasm []byte
		ends Reason // 0: well
	}{
		{"ends-well", keeper().bytes(), 0},
		{"grows", grownKeeper(), 0},
		{"traps", keeper(opUnreachable).bytes(), Trap},
		{"runs-out-of-fuel", keeper(forever()).bytes(), OutOfFuel},
		{"host-fails", keeper().bytes(), HostError},
		{"cancelled", keeper().bytes(), Cancelled},
		{"deadline", keeper().bytes(), Deadline},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := openModule(t, engineOf(t, Options{}), c.wasm, Limits{Memory: 1 << 20})
			var wait sync.WaitGroup
			for caller := range 64 {
				wait.Go(func() {
					for n := range calls / 64 / 7 {
						if why := secretCall(m, uint32(caller*1000+n+1), c.ends); why != "" {
							t.Error(why)
							return
						}
					}
				})
			}
			wait.Wait()
			if made := m.Instances(); c.name == "ends-well" && made > 64 {
				t.Errorf("%d instances were made for %d calls", made, calls/7)
			}
		})
	}
}

// secretCall gives a guest a secret, ends it in a way, and then wants that a call finds nothing.
func secretCall(m *Module, secret uint32, ends Reason) string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	given := func(context.Context, string, string, []byte) (Status, []byte, error) {
		return OK, []byte{byte(secret), byte(secret >> 8), byte(secret >> 16), byte(secret >> 24)}, nil
	}
	call := bounds(&answers{f: given})
	switch ends {
	case OutOfMemory, TooManyHostCalls, Trap, Exit: // the guest sees to it
	case OutOfFuel:
		call.Fuel = 1_000_000
	case HostError:
		call.Functions = &answers{f: func(context.Context, string, string, []byte) (Status, []byte, error) {
			return OK, nil, errors.New("no")
		}}
	case Cancelled:
		call.Functions = &answers{f: func(ctx context.Context, _, _ string, _ []byte) (Status, []byte, error) {
			cancel()
			return given(ctx, "", "", nil)
		}}
	case Deadline:
		call.Time = 2 * time.Millisecond
		call.Functions = &answers{f: func(ctx context.Context, _, _ string, _ []byte) (Status, []byte, error) {
			<-ctx.Done()
			return given(ctx, "", "", nil)
		}}
	}
	_, found, err := m.Run(ctx, call)
	var stop *Stop
	switch {
	case ends == 0 && (err != nil || found != 0):
		return fmt.Sprintf("found %d, %v", found, err)
	case ends != 0 && (!errors.As(err, &stop) || stop.Reason != ends && stop.Reason != Deadline):
		return fmt.Sprintf("%v, want %v", err, ends)
	}
	return ""
}

// moduleOf makes a module that need not be one that the host takes: it exports no run.
func moduleOf(t testing.TB, wasm []byte) *Module {
	t.Helper()
	s, err := readSections(wasm)
	if err != nil {
		t.Fatal(err)
	}
	e := engineOf(t, Options{})
	m := &Module{
		instances: instances{most: 2, quiet: make(chan struct{})}, engine: e, pool: e.pool, limit: 1 << 24, turn: make(chan struct{}, 1),
		source: source{inspected: &Inspected{read: s}, digest: sha256.Sum256(wasm)},
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	e.pool.open(m)
	if err := m.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// outcome is all that can be seen of a call.
type outcome struct {
	results []uint64
	end     string
	fuel    uint64
	memory  int64
	bytes   [32]byte
}

// callIn calls an export in an instance.
func (i *instance) callIn(c *call, name string, results int, args ...uint64) outcome {
	stack := make([]uint64, max(len(args), results, 1))
	copy(stack, args)
	i.begin(c)
	err := i.guest.ExportedFunction(name).CallWithStack(&c.ctx, stack)
	i.end(c)
	return outcome{results: stack[:results], end: trapText(err), fuel: c.used, memory: c.memory.most, bytes: digestOf(i.memory.bytes)}
}

// pooledIsNew calls exports in instances of the pool, and each in a new instance too, and says how they differ first.
func pooledIsNew(t testing.TB, m *Module, functions []signature, calls []int) string {
	t.Helper()
	given := Call{Time: time.Minute, Fuel: 3_000_000, Functions: &answers{}}
	for n, f := range calls {
		sig := functions[f]
		args := genArguments(sig, n)
		c := m.newCall(context.Background(), given, now())
		pooled, err := m.take(c)
		if err != nil {
			return err.Error()
		}
		got := pooled.callIn(c, genName(f), len(sig.results), args...)
		m.pool.give(m, pooled, got.end == "no error")
		c = m.newCall(context.Background(), given, now())
		fresh := &instance{memory: linearMemory{limit: m.limit}}
		if err := m.makeNew(fresh, c); err != nil {
			return err.Error()
		}
		want := fresh.callIn(c, genName(f), len(sig.results), args...)
		fresh.close()
		if !slices.Equal(got.results, want.results) || got.end != want.end || got.fuel != want.fuel || got.memory != want.memory || got.bytes != want.bytes {
			return fmt.Sprintf("call %d, %s%x: pooled %+v, new %+v", n, genName(f), args, got, want)
		}
	}
	return ""
}

// TestPooledIsNew: whatever was called before in an instance, a call gives the same as in a new one: results, traps, memory
// and fuel.
func TestPooledIsNew(t *testing.T) {
	notUnderRace(t)
	bothWays(t, testPooledIsNew)
}

func testPooledIsNew(t *testing.T) {
	ends, made := map[string]int{}, uint64(0)
	for seed := range uint64(150) {
		wasm, functions := generateSteady(genStream(5000 + seed))
		m := moduleOf(t, wasm)
		if m.compiled.Load().code.renewed {
			t.Fatalf("module %d cannot be put back", seed)
		}
		r := rand.New(rand.NewPCG(seed, 2))
		calls := make([]int, 20)
		for i := range calls {
			calls[i] = r.IntN(len(functions))
		}
		if why := pooledIsNew(t, m, functions, calls); why != "" {
			t.Errorf("module %d: %s", seed, why)
		}
		made += m.Instances()
		ends["modules"]++
	}
	t.Logf("%d instances for 3,000 calls in the pool and 3,000 new ones", made)
	if made > 3000+2200 {
		t.Errorf("%d instances: next to none were used again", made)
	}
}

func FuzzPooledIsNew(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(genStream(7000+seed), []byte{0, 1, 1, 0, 2})
	}
	f.Fuzz(func(t *testing.T, stream, order []byte) {
		wasm, functions := generateSteady(stream)
		calls := make([]int, min(len(order), 12))
		for i := range calls {
			calls[i] = int(order[i]) % len(functions)
		}
		if why := pooledIsNew(t, moduleOf(t, wasm), functions, calls); why != "" {
			t.Errorf("%s\nmodule: %x", why, wasm)
		}
	})
}

// TestRenewal: each kind of state that cannot be put back is told, and its module gets a new instance for each call.
func TestRenewal(t *testing.T) {
	table := func(code ...[]byte) *guest {
		g := newGuest()
		g.tables = [][]byte{{typeFuncref, 0, 4}}
		return g.run(slices.Concat(code...), i32(0))
	}
	null := op(0xd0, typeFuncref)
	big := newGuest()
	big.memory = vector(append([]byte{0}, leb(largestImage/pageSize+1)...))
	typed := func(typ byte, constant ...byte) *guest {
		g := newGuest()
		g.globals = append(g.globals, slices.Concat([]byte{typ, 1}, constant, []byte{opEnd}))
		return g.run(i32(0))
	}
	data := func(code ...byte) *guest {
		g := newGuest()
		g.data = append(g.data, slices.Concat([]byte{1}, sized([]byte("x"))))
		g.after = section(sectionDataCount, leb(1))
		return g.run(op(code...), i32(0))
	}
	for _, c := range []struct {
		guest *guest
		why   string
	}{
		{table(i32(0), null, op(0x26, 0)), "it uses table.set"},
		{table(null, i32(1), op(0xfc, 15, 0), opDrop), "it uses table.grow"},
		{table(i32(0), null, i32(1), op(0xfc, 17, 0)), "it uses table.fill"},
		{table(i32(0), i32(0), i32(1), op(0xfc, 14, 0, 0)), "it uses table.copy"},
		{data(0xfc, 9, 0), "it uses data.drop"},
		{typed(typeV128, slices.Concat([]byte{0xfd, 12}, make([]byte, 16))...), "its global 0 is mutable and of type v128"},
		{typed(typeFuncref, null...), "its global 0 is mutable and of type funcref"},
		{typed(typeExternref, 0xd0, typeExternref), "its global 0 is mutable and of type externref"},
		{big.run(i32(0)), "its memory starts with 513 pages, more than 512"},
		{newGuest().global(0).run(opCount, i32(0)), ""},
		{table(i32(0), op(0x25, 0), opDrop), ""},
	} {
		m, faults := Inspect(c.guest.bytes(), offer())
		if len(faults) > 0 {
			t.Errorf("%s: %v", c.why, faults)
			continue
		}
		if got := strings.Join(m.Renewal, "; "); !strings.HasPrefix(got, c.why) || (c.why == "") != (got == "") {
			t.Errorf("%q, want %q", got, c.why)
		}
		module := openModule(t, engineOf(t, Options{}), c.guest.bytes(), Limits{Memory: 64 << 20})
		for range 4 {
			if _, code, err := module.Run(t.Context(), bounds(&answers{})); err != nil || code != 0 {
				t.Errorf("%s: %d %v", c.why, code, err)
			}
		}
		eventually(t, "the pool is quiet", func() bool {
			module.pool.mu.Lock()
			defer module.pool.mu.Unlock()
			return module.calls == 0
		})
		if made := module.Instances(); (made >= 4) != (c.why != "") {
			t.Errorf("%s: %d instances for four calls", c.why, made)
		}
	}
}

// TestInitialisedOnce: _initialize and warm_up run once, in this order, with nothing granted, and what they leave is there
// in every call.
func TestInitialisedOnce(t *testing.T) {
	g := newGuest().imp("records", "get").imp("toolhost", "arguments", "log").global(0)
	status := func(name string) []byte { return slices.Concat(g.ask(name, 0, 0, 0, 1024), opHigh) }
	times10 := slices.Concat(opCounted, i32(10), op(0x6c))
	g.export("_initialize", kindFunction, g.fn("", "", 0, times10, status("records.get"), op(0x6a), op(0x24, 0)))
	g.export("warm_up", kindFunction, g.fn("", "", 0, times10, status("toolhost.arguments"), op(0x6a), op(0x24, 0)))
	g.run(g.ask("toolhost.log", 0, 0, 0, 0), opDrop, opCount, opCounted)
	m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20})
	f := &answers{}
	for range 5 {
		if _, code, err := m.Run(t.Context(), bounds(f)); err != nil || code != 34 { // 3 and 3 are denied, and 1 for the call
			t.Errorf("%d %v", code, err)
		}
	}
	if want := slices.Repeat([]string{"toolhost.log "}, 5); !slices.Equal(f.calls, want) {
		t.Errorf("asked %q", f.calls)
	}
}

// TestInitialisingIsTriedAgain: a call whose bounds end it leaves the next to make the image.
func TestInitialisingIsTriedAgain(t *testing.T) {
	g := newGuest().global(0)
	g.export("_initialize", kindFunction, g.fn("", "", 1, opI64(50_000), opSet0, opLoop, opGet0, opI64Sub1, opTee0, opWrap, opBrIf0, opEndBlock))
	m := openModule(t, engineOf(t, Options{}), g.run(i32(3)).bytes(), Limits{Memory: 1 << 20})
	call := bounds(&answers{})
	call.Fuel = 1000
	for range 2 {
		usage, _, err := m.Run(t.Context(), call)
		wantStop(t, err, OutOfFuel, "used up its 1000 units")
		if usage.Fuel != 1000 {
			t.Errorf("%+v", usage)
		}
	}
	usage, code, err := m.Run(t.Context(), bounds(&answers{}))
	if err != nil || code != 3 || usage.Fuel > 20 {
		t.Errorf("%+v %d %v", usage, code, err)
	}
	if _, code, err := m.Run(t.Context(), call); err != nil || code != 3 {
		t.Errorf("with an image it needs next to nothing: %d %v", code, err)
	}
}

// TestDeepStackIsNotKept: wazero never gives back what the stack of a function has grown to.
func TestDeepStackIsNotKept(t *testing.T) {
	g := newGuest()
	g.fn(i32Value, i32Value, 40, get(0), op(0x04, 0x7f), get(0), i32(1), op(0x6b), callTo(0), op(0x05), i32(0), opEndBlock)
	for _, c := range []struct {
		depth int64
		kept  bool
	}{{10, true}, {5_000, false}} {
		g := *g
		g.exports = slices.Clone(g.exports)
		m := openModule(t, engineOf(t, Options{}), (&g).run(i32(c.depth), callTo(0)).bytes(), Limits{Memory: 1 << 20})
		if _, _, err := m.Run(t.Context(), bounds(&answers{})); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is put back", func() bool { _, ready, _ := m.state(); return ready == 1 })
		if kept := m.ready[0].run != nil; kept != c.kept {
			t.Errorf("after %d calls in calls the function is kept: %v", c.depth, kept)
		}
	}
}

// TestRandomIsNewForEachCall, whatever the image holds.
func TestRandomIsNewForEachCall(t *testing.T) {
	g := newGuest().importAs(wasiModule, "random_get", i32Value+i32Value, i32Value)
	draw := func(at int64) []byte { return slices.Concat(i32(at), i32(4), callTo(0), opDrop) }
	g.export("_initialize", kindFunction, g.fn("", "", 0, draw(16)))
	m := openModule(t, engineOf(t, Options{}), g.run(draw(8), i32(8), op(0x28, 2, 0), i32(16), op(0x28, 2, 0), op(0x73)).bytes(), Limits{Memory: 1 << 20})
	seen := map[int32]bool{}
	for range 20 {
		_, code, err := m.Run(t.Context(), bounds(&answers{}))
		if err != nil || seen[code] {
			t.Fatalf("%d again, or %v", code, err)
		}
		seen[code] = true
	}
	manifest, _ := Inspect(g.bytes(), offer())
	if !manifest.Draws {
		t.Error("nobody is told that what it draws in _initialize repeats")
	}
}

func digestOf(b []byte) [32]byte { return sha256.Sum256(b) }

// TestTableOfACallIsNotInTheNext: a guest that hides a function in a table does not find it in the next call, under 64 callers.
func TestTableOfACallIsNotInTheNext(t *testing.T) {
	g := newGuest()
	g.tables = [][]byte{{typeFuncref, 0, 4}}
	hidden := g.fn("", "", 0)
	g.elements(hidden)                                                      // so that ref.func may name it; it stands in place 0
	found := slices.Concat(i32(3), op(0x25, 0), op(0xd1), i32(1), op(0x73)) // 1, if place 3 is not null
	keep := slices.Concat(i32(3), op(0xd2), leb(hidden), op(0x26, 0))
	m := openModule(t, engineOf(t, Options{}), g.run(found, op(0xad), set(0), keep, get(0), opWrap).bytes(), Limits{Memory: 1 << 20})
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			for range 10 {
				if _, code, err := m.Run(context.Background(), bounds(&answers{})); err != nil || code != 0 {
					t.Errorf("found %d, %v", code, err)
				}
			}
		})
	}
	wait.Wait()
}
