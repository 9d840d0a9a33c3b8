package sandbox

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestValidateStopsBeforeCompiling: validate says what wazero's validator says, and does not compile: the
// function here would take the interpreter's lowering some time and memory.
func TestValidateStopsBeforeCompiling(t *testing.T) {
	valid := newGuest().run(rep(200_000, opZero, opDrop), i32(0)).bytes()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := validate(t.Context(), valid); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes were allocated for %d: was it compiled?", got, len(valid))
	}
	for rule, wasm := range map[string][]byte{
		"type-mismatch": newGuest().run(op(0x42, 0)).bytes(), "too-few-values": newGuest().run().bytes(),
		"no-functions-and-invalid": newGuest().export("g", kindGlobal, 3).bytes(),
	} {
		if err := validate(t.Context(), wasm); err == nil || !strings.HasPrefix(err.Error(), "the module is not valid: ") {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if err := validate(t.Context(), newGuest().bytes()); err != nil {
		t.Errorf("a module without functions: %v", err)
	}
}

// TestCompileTimeIsBounded: the caller gets an answer in time, and what was begun ends by itself.
func TestCompileTimeIsBounded(t *testing.T) {
	slow := newGuest().run(i32(0))
	slow.fn("", "", 1, rep(20_000, opZero, op(0x29, 3, 0, 0x21, 0)))
	before := runtime.NumGoroutine()
	e, err := NewEngine(Options{Offer: offer(), CompileTime: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Compile(t.Context(), slow.bytes(), Limits{Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "longer than 1ms") {
		t.Errorf("%v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	patient, err := NewEngine(Options{Offer: offer()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := patient.Compile(gone, slow.bytes(), Limits{Memory: 1 << 20}); err == nil {
		t.Error("it compiled for a caller who is gone")
	}
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before %d", runtime.NumGoroutine(), before)
}
