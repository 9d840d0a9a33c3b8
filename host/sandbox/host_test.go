package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestTooManyHostCalls(t *testing.T) {
	g := newGuest().imp("records", "get").imp("toolhost", "log")
	log, get := g.ask("toolhost.log", 0, 0, 0, 0), g.ask("records.get", 0, 0, 0, 0)
	g.run(log, opDrop, get, opDrop, log, opDrop, get, opDrop, get, opDrop, i32(0))
	f := &answers{}
	call := bounds(f)
	call.HostCalls = 2
	usage, _, err := compiled(t, g).Run(t.Context(), call)
	wantStop(t, err, TooManyHostCalls, "records.get would be call 3 of at most 2")
	if len(f.calls) != 4 || usage.HostCalls != 2 {
		t.Errorf("log does not count and the third get is not made: %v, usage %+v", f.calls, usage)
	}
}

func TestRequestTooLongIsInvalid(t *testing.T) {
	g := newGuest().imp("records", "get")
	g.memory = vector([]byte{0, 17})
	g.run(g.ask("records.get", 0, MaxRequest+1, 0, 200), opHigh)
	m, err := compileWith(t, g.bytes(), 17*pageSize)
	if err != nil {
		t.Fatal(err)
	}
	f := &answers{}
	_, code, err := m.Run(t.Context(), bounds(f))
	if err != nil || Status(code) != Invalid || len(f.calls) != 0 {
		t.Errorf("status %d, %v, asked %v", code, err, f.calls)
	}
}

// TestShortBuffer is S7: the guest asks with 3 bytes of room, then again with more.
func TestShortBuffer(t *testing.T) {
	const response = "a longer response"
	again := func(q2, between string) *guest {
		g := newGuest().imp("records", "get", "list").bytesAt(0, "key1key2")
		code := [][]byte{g.ask("records.get", 0, 4, 64, 3), opSet0} // i64 into the local
		if between != "" {
			code = append(code, g.ask(between, 0, 0, 64, 100), opDrop)
		}
		at := int64(strings.Index("key1key2", q2))
		code = append(code, g.ask("records.get", at, 4, 64, 100), opDrop)
		// the result: the status of the first answer * 1000 + the first byte at 64
		code = append(code, opGet0, opHigh, i32(1000), op(0x6c), i32(0), opLoad64, i32(255), op(0x71), op(0x6a))
		return g.run(code...)
	}
	cases := []struct {
		rule, second, between string
		calls                 int
	}{
		{"same-request-runs-once", "key1", "", 1},
		{"other-request-runs", "key2", "", 2},
		{"only-the-very-next-call", "key1", "records.list", 3},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			f := saying(OK, response)
			usage, code, err := compiled(t, again(c.second, c.between)).Run(t.Context(), bounds(f))
			if err != nil || code != int32(Short)*1000+'a' {
				t.Fatalf("%d %v, want %d", code, err, int32(Short)*1000+'a')
			}
			if len(f.calls) != c.calls {
				t.Errorf("the functions ran %v, want %d runs", f.calls, c.calls)
			}
			if c.between == "" && usage.HostCalls != 2 {
				t.Errorf("a second asking counts: %+v", usage)
			}
		})
	}
}

func TestShortBufferWritesNothing(t *testing.T) {
	g := newGuest().imp("records", "get")
	g.run(g.ask("records.get", 0, 0, 64, 3), opDrop, i32(0), opLoad64)
	if _, code, err := compiled(t, g).Run(t.Context(), bounds(saying(OK, "long"))); err != nil || code != 0 {
		t.Errorf("%d %v", code, err)
	}
}

func TestStatusAndLengthReachTheGuest(t *testing.T) {
	for _, s := range []Status{OK, NotAvailable, Denied, Invalid} {
		g := newGuest().imp("records", "get")
		g.run(g.ask("records.get", 0, 0, 64, 100), opSet0, opGet0, opHigh, i32(100), op(0x6c), opGet0, opWrap, op(0x6a))
		_, code, err := compiled(t, g).Run(t.Context(), bounds(saying(s, "five!")))
		if err != nil || code != int32(s)*100+5 {
			t.Errorf("status %d: %d %v", s, code, err)
		}
	}
}

// TestOutputIsBounded is S10: log requests and stdout share one bound, and the notice comes once.
func TestOutputIsBounded(t *testing.T) {
	g := newGuest().imp("toolhost", "log").importAs(wasiModule, "fd_write", strings.Repeat(i32Value, 4), i32Value)
	g.bytesAt(0, "\x20\x00\x00\x00\x0a\x00\x00\x00").bytesAt(32, "0123456789") // one iovec of ten bytes
	log := slices.Concat(g.ask("toolhost.log", 32, 10, 0, 0), opDrop)
	write := slices.Concat(i32(1), i32(0), i32(1), i32(64), callTo(g.named[wasiModule+".fd_write"]), opDrop)
	g.run(log, write, log, write, log, write, i32(0), opLoad64)
	f, out := &answers{}, &bytes.Buffer{}
	call := bounds(f)
	call.LogBytes, call.Output, call.HostCalls = 35, out, 0
	_, code, err := compiled(t, g).Run(t.Context(), call)
	if err != nil || code != 10 {
		t.Fatalf("the guest must not notice: wrote %d, %v", code, err)
	}
	if len(f.calls) != 2 {
		t.Errorf("log calls passed on: %v, want 2", f.calls)
	}
	if got := out.String(); !strings.HasPrefix(got, "0123456789"+"01234\n[the guest said more than 35 bytes") || strings.Count(got, "\n") != 2 {
		t.Errorf("output %q", got)
	}
}
