package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Status is the first half of what an offered function returns: status<<32 | response length.
type Status uint32

// The statuses of docs/abi.md. Functions answers with any but Short, which is the sandbox's own.
const (
	OK           Status = 0
	Short        Status = 1 // the response is longer than the buffer; the length says how long
	NotAvailable Status = 2 // no such row or file within reach; the response is empty
	Denied       Status = 3 // not granted; the response is {"error":"..."} for the author
	Invalid      Status = 4 // the request was not understood; the same form of response
)

// Functions answers what the guest asks. The request is the callee's own copy. An error ends the guest
// at once and comes back from Run, wrapped in a Stop of reason HostError. It is called from Run's
// goroutine, one call after the other.
type Functions interface {
	Call(ctx context.Context, module, function string, request []byte) (Status, []byte, error)
	// TooLong is asked instead when the request has more than MaxRequest bytes: it is not read.
	// An error ends the guest; nil answers it with status 4.
	TooLong(module, function string, size int64) error
}

// The one function that does not count against Call.HostCalls: its bytes count against LogBytes.
const (
	logModule   = "toolhost"
	logFunction = "log"
)

// newHost makes a host module without a name. It holds no state of a call: that travels in the context.
func newHost(ctx context.Context, r wazero.Runtime, module string, functions []string) (api.Module, error) {
	b := r.NewHostModuleBuilder(module)
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	for _, function := range functions {
		f := &offered{module, function, dotted(module, function)}
		serve := api.GoModuleFunc(func(ctx context.Context, guest api.Module, stack []uint64) {
			request := region{uint32(stack[0]), uint32(stack[1])}
			response := region{uint32(stack[2]), uint32(stack[3])}
			stack[0] = callOf(ctx).serve(f, guest.Memory(), request, response)
		})
		b.NewFunctionBuilder().
			WithGoModuleFunction(serve, []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i64}).
			Export(function)
	}
	return withoutName(ctx, r, b)
}

// withoutName instantiates a host module outside the runtime's table of names, so that only the
// import resolver of a call leads to it (S2).
func withoutName(ctx context.Context, r wazero.Runtime, b wazero.HostModuleBuilder) (api.Module, error) {
	compiled, err := b.Compile(ctx)
	if err != nil {
		return nil, err
	}
	return r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
}

// offered is one function that guests can import.
type offered struct{ module, name, shown string }

func (f *offered) logs() bool { return f.module == logModule && f.name == logFunction }

// answer is a response with the question that it belongs to.
type answer struct {
	to       *offered // nil: it is not kept
	request  []byte   // of one that is kept
	status   Status
	response []byte
}

// serve is the one way from a guest to Functions. It returns to the guest or ends it.
func (c *call) serve(f *offered, mem api.Memory, request, response region) uint64 {
	c.alive()
	logs := f.logs()
	if !logs {
		if c.calls >= c.HostCalls {
			c.stop(TooManyHostCalls, fmt.Errorf("%s would be call %d of at most %d", f.shown, c.calls+1, c.HostCalls))
		}
		c.calls++
	}
	asked, tooLong, err := copyRequest(mem, request)
	if err == nil { // before anything is done whose answer could not be delivered
		err = response.in(mem, "the response buffer")
	}
	if err != nil {
		c.stop(Trap, fmt.Errorf("%s: %w", f.shown, err))
	}
	kept := c.kept
	c.kept = nil
	var a answer
	switch {
	case tooLong:
		a = c.tooLong(f, request.size)
	case logs && !c.output.take(len(asked)):
		a = answer{status: OK}
	case kept != nil && kept.to == f && bytes.Equal(kept.request, asked):
		a = *kept
	default:
		a = c.ask(f, asked)
	}
	return c.deliver(mem, a, f, request, response)
}

// ask calls Functions, which may keep or change the request, and ends the guest if that fails or the call's time is over.
func (c *call) ask(f *offered, request []byte) (a answer) {
	a.to = f
	err := guarded(func() (err error) {
		a.status, a.response, err = c.Functions.Call(&c.ctx, f.module, f.name, request)
		return err
	})
	switch {
	case c.ctx.over(err):
		c.stopDone()
	case err != nil:
		c.stop(HostError, fmt.Errorf("%s: %w", f.shown, err))
	case a.status == Short || a.status > Invalid:
		c.stop(HostError, fmt.Errorf("%s answered with status %d", f.shown, a.status))
	case uint64(len(a.response)) > math.MaxInt32:
		c.stop(HostError, fmt.Errorf("%s answered with %d bytes", f.shown, len(a.response)))
	}
	return a
}

func (c *call) tooLong(f *offered, size uint32) answer {
	if err := guarded(func() error { return c.Functions.TooLong(f.module, f.name, int64(size)) }); err != nil {
		c.stop(HostError, fmt.Errorf("%s: %w", f.shown, err))
	}
	text := fmt.Appendf(nil, `{"error":"a request of %d bytes, at most %d are allowed"}`, size, MaxRequest)
	return answer{status: Invalid, response: text}
}

// guarded turns a panic into an error that says where, without a stack (S9). It holds no lock.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// deliver writes the response, or keeps it for the very next call if the buffer is short (S7). The guest has not run
// since it asked, so the request still stands in its memory.
func (c *call) deliver(mem api.Memory, a answer, f *offered, request, response region) uint64 {
	length := uint64(len(a.response))
	if length > uint64(response.size) {
		if a.to != nil {
			a.request, _, _ = copyRequest(mem, request)
			c.kept = &a
		}
		return uint64(Short)<<32 | length
	}
	if err := writeResponse(mem, response, a.response); err != nil {
		c.stop(Trap, fmt.Errorf("%s: %w", f.shown, err))
	}
	return uint64(a.status)<<32 | length
}
