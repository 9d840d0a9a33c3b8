package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/sandbox"
)

// Gate 6, plugin: the guest runs, in an instance that no call has touched since it was put back, within its limits (I12).
// This is the only file that starts one.

// answered is what a guest gave before it ended well.
type answered struct {
	approved
	given  bool   // it gave a result at all
	result []byte // its bytes, unchecked
}

func (h *Host) runPlugin(ctx context.Context, b approved, rec *Record) (answered, error) {
	rec.Answers, rec.inward = b.trail.answers, b.inward()
	if err := h.recorder.Started(rec); err != nil { // I10
		return answered{}, &Refusal{Gate: GateAudit, Code: codeAuditUnavailable, Reason: err.Error()}
	}
	rec.Started = true
	g := newGuest(b, rec, h.log.Named(b.tool.Name))
	limits := b.tool.Limits
	usage, status, err := b.tool.module.Run(ctx, sandbox.Call{
		Time:      limits.Time,
		Fuel:      limits.Fuel,
		HostCalls: limits.HostCalls,
		LogBytes:  int(limits.Log),
		Functions: g,
		Output:    g.output,
	})
	g.output.flush()
	rec.Usage = Usage{Time: usage.Time, Fuel: usage.Fuel, MemoryBytes: usage.MemoryBytes, HostCalls: usage.HostCalls}
	if err := g.ended(status, err); err != nil {
		return answered{}, err
	}
	b.trail.ok(GatePlugin, fmt.Sprintf("%.1f ms, %s", float64(usage.Time.Microseconds())/1000, count(usage.HostCalls, "host call")))
	return answered{approved: b, given: g.given, result: g.result}, nil
}

// inward tells whether nothing of the call can leave the host before its end: a
// read whose guest reaches rows and files alone, and whose progress nobody hears.
func (b bounded) inward() bool {
	if b.tool.Effect != effectRead || b.proposal.Progress != nil {
		return false
	}
	for _, g := range b.tool.grants {
		if g == nil || g.records == nil && g.kind.Name != "files" {
			return false
		}
	}
	return true
}

// ended turns the way in which a guest ended into a failure, or nil.
func (g *guest) ended(status int32, err error) error {
	var stop *sandbox.Stop
	var failure *Failure
	switch {
	case errors.As(err, &failure): // a host function of ours had the word
		return failure
	case errors.As(err, &stop):
		return &Failure{Gate: GatePlugin, Code: stopCode(stop.Reason), Reason: stop.Error()}
	case err != nil:
		return &Failure{Gate: GatePlugin, Code: codeUnavailable, Reason: err.Error()}
	case status != 0 || g.failed:
		return &Failure{Gate: GatePlugin, Code: codePluginError, Reason: fmt.Sprintf("run gave %d: %s", status, g.text)}
	}
	return nil
}

func stopCode(r sandbox.Reason) string {
	switch r {
	case sandbox.Deadline:
		return codeDeadline
	case sandbox.Cancelled:
		return codeCancelled
	case sandbox.OutOfFuel:
		return codeOutOfFuel
	case sandbox.OutOfMemory:
		return codeOutOfMemory
	case sandbox.TooManyHostCalls:
		return codeTooManyHostCalls
	case sandbox.HostError:
		return codeUnavailable
	case sandbox.Trap, sandbox.Exit:
		return codeTrap
	}
	return codeTrap
}
