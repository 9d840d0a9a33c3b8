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
		serve := api.GoModuleFunc(func(ctx context.Context, guest api.Module, stack []uint64) {
			request := region{uint32(stack[0]), uint32(stack[1])}
			response := region{uint32(stack[2]), uint32(stack[3])}
			stack[0] = callOf(ctx).serve(ctx, guest.Memory(), module, function, request, response)
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

// answer is a response with the question that it belongs to.
type answer struct {
	module, function string
	request          []byte
	status           Status
	response         []byte
}

// serve is the one way from a guest to Functions. It returns to the guest or ends it.
func (c *call) serve(ctx context.Context, mem api.Memory, module, function string, request, response region) uint64 {
	c.alive()
	name := dotted(module, function)
	logs := module == logModule && function == logFunction
	if !logs {
		if c.calls >= c.HostCalls {
			c.stop(TooManyHostCalls, fmt.Errorf("%s would be call %d of at most %d", name, c.calls+1, c.HostCalls))
		}
		c.calls++
	}
	asked, tooLong, err := copyRequest(mem, request)
	if err == nil { // before anything is done whose answer could not be delivered
		err = response.in(mem, "the response buffer")
	}
	if err != nil {
		c.stop(Trap, fmt.Errorf("%s: %w", name, err))
	}
	a := c.kept
	c.kept = nil
	switch {
	case tooLong:
		a = c.tooLong(module, function, request.size)
	case logs && !c.output.take(len(asked)):
		a = &answer{status: OK}
	case a == nil || a.module != module || a.function != function || !bytes.Equal(a.request, asked):
		a = c.ask(ctx, module, function, asked)
	}
	return c.deliver(mem, a, name, response)
}

// ask calls Functions and ends the guest if that fails or the call's time is over.
func (c *call) ask(ctx context.Context, module, function string, request []byte) *answer {
	a := &answer{module: module, function: function, request: request}
	// Functions may keep or change what it is given; the kept answer is found by these bytes.
	err := guarded(func() (err error) {
		a.status, a.response, err = c.Functions.Call(ctx, module, function, bytes.Clone(request))
		return err
	})
	name := dotted(module, function)
	switch {
	case ctx.Err() != nil:
		c.stopDone()
	case err != nil:
		c.stop(HostError, fmt.Errorf("%s: %w", name, err))
	case a.status == Short || a.status > Invalid:
		c.stop(HostError, fmt.Errorf("%s answered with status %d", name, a.status))
	case uint64(len(a.response)) > math.MaxInt32:
		c.stop(HostError, fmt.Errorf("%s answered with %d bytes", name, len(a.response)))
	}
	return a
}

func (c *call) tooLong(module, function string, size uint32) *answer {
	if err := guarded(func() error { return c.Functions.TooLong(module, function, int64(size)) }); err != nil {
		c.stop(HostError, fmt.Errorf("%s: %w", dotted(module, function), err))
	}
	text := fmt.Appendf(nil, `{"error":"a request of %d bytes, at most %d are allowed"}`, size, MaxRequest)
	return &answer{status: Invalid, response: text}
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

// deliver writes the response, or keeps it for the very next call if the buffer is short (S7).
func (c *call) deliver(mem api.Memory, a *answer, name string, response region) uint64 {
	length := uint64(len(a.response))
	if length > uint64(response.size) {
		if a.module != "" {
			c.kept = a
		}
		return uint64(Short)<<32 | length
	}
	if err := writeResponse(mem, response, a.response); err != nil {
		c.stop(Trap, fmt.Errorf("%s: %w", name, err))
	}
	return uint64(a.status)<<32 | length
}
