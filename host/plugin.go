package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Gate 6, plugin: the guest runs, in a fresh instance, within its limits (I12).
// This is the only file that starts one.

// answered is what a guest gave before it ended well.
type answered struct {
	bounded
	given  bool   // it gave a result at all
	result []byte // its bytes, unchecked
}

func (h *Host) runPlugin(ctx context.Context, b bounded, rec *Record) (answered, error) {
	if err := h.recorder.Started(rec); err != nil { // I10
		return answered{}, &Refusal{Gate: GateAudit, Code: codeAuditUnavailable, Reason: err.Error()}
	}
	rec.Started = true
	log := h.log.Named(b.tool.Name)
	g := &guest{bounded: b, rec: rec, log: log}
	limits := b.tool.Limits
	usage, status, err := b.tool.module.Run(ctx, sandbox.Call{
		Time:      limits.Time,
		HostCalls: limits.HostCalls,
		LogBytes:  int(limits.Log),
		Functions: g,
		Output:    guestOutput{log},
	})
	rec.Usage = Usage{Time: usage.Time, Fuel: usage.Fuel, MemoryBytes: usage.MemoryBytes, HostCalls: usage.HostCalls}
	if err := g.ended(status, err); err != nil {
		return answered{}, err
	}
	b.trail.ok(GatePlugin, func() string {
		return fmt.Sprintf("%.1f ms, %s", float64(usage.Time.Microseconds())/1000, count(usage.HostCalls, "host call"))
	})
	return answered{bounded: b, given: g.given, result: g.result}, nil
}

// A guest answers what the running module asks for.
type guest struct {
	bounded
	rec    *Record
	log    hclog.Logger
	given  bool // a result was given
	result []byte
	failed bool   // the guest said so
	text   string // in these words
}

// offer lists the functions that a guest may import; docs/abi.md describes them.
func offer() sandbox.Offer {
	o := sandbox.Offer{"toolhost": {"arguments", "result", "error", "log", "progress"}}
	for _, k := range capabilities.Kinds() {
		o[k.Name] = k.Functions
	}
	return o
}

// Call implements sandbox.Functions.
func (g *guest) Call(ctx context.Context, module, function string, request []byte) (sandbox.Status, []byte, error) {
	if module != "toolhost" {
		return g.capability(ctx, module, function, request)
	}
	switch function {
	case "arguments":
		return sandbox.OK, g.args.AppendJSON(nil), nil
	case "result":
		return g.take(request)
	case "error":
		g.failed, g.text = true, bounding(string(request), maxGuestText)
		return sandbox.OK, nil, nil
	case "log":
		g.log.Debug("guest", "log", hclog.Quote(bounding(string(request), maxGuestText)))
		return sandbox.OK, nil, nil
	case "progress":
		return g.progress(request)
	}
	return sandbox.Invalid, nil, nil
}

const maxGuestText = 2000 // bytes of a guest's own words that are kept

// TooLong implements sandbox.Functions.
func (g *guest) TooLong(module, function string, size int64) error {
	if module == "toolhost" && function == "result" {
		return tooLarge(fmt.Sprintf("%d bytes", size), g.tool.Limits.ResultChars)
	}
	return nil
}

// take keeps the first result.
func (g *guest) take(request []byte) (sandbox.Status, []byte, error) {
	if g.given {
		return sandbox.Invalid, []byte(`{"error":"the result was already given"}`), nil
	}
	g.given, g.result = true, request
	return sandbox.OK, nil, nil
}

// guestOutput puts a guest's stdout and stderr into the log, quoted: what a
// guest writes must not reach a terminal as it is.
type guestOutput struct{ log hclog.Logger }

func (o guestOutput) Write(p []byte) (int, error) {
	o.log.Debug("guest", "output", hclog.Quote(p))
	return len(p), nil
}

func (g *guest) progress(request []byte) (sandbox.Status, []byte, error) {
	v, err := strictjson.Read(request, strictjson.Default(200))
	done, okDone := number(v, "done")
	total, okTotal := number(v, "total")
	if err != nil || !okDone || !okTotal || v.Len() != 2 {
		return sandbox.Invalid, []byte(`{"error":"progress takes {\"done\":number,\"total\":number}"}`), nil
	}
	if g.proposal.Progress != nil {
		g.proposal.Progress(done, total)
	}
	return sandbox.OK, nil, nil
}

func number(v strictjson.Value, name string) (float64, bool) {
	m, _ := v.Get(name)
	text, _ := m.Text()
	f, err := strconv.ParseFloat(text, 64)
	return f, m.Kind() == strictjson.Number && err == nil && f >= 0
}

// capability passes a request on to what the call can reach. Each is a Use in
// the record, whatever came of it.
func (g *guest) capability(ctx context.Context, module, function string, request []byte) (sandbox.Status, []byte, error) {
	name, v, ok := instanceNamed(module, request)
	var answer capabilities.Answer
	var err error
	switch reach := g.reach[module][name]; {
	case !ok:
		answer = capabilities.Refuse(capabilities.Invalid,
			"the request must be one JSON object that names the capability; docs/abi.md", "invalid_request")
	case reach == nil:
		answer = capabilities.Refuse(capabilities.Denied, "no such capability is granted to this tool", "not_granted")
	default:
		answer, err = reach.Call(ctx, function, v)
	}
	use := Use{
		Capability: bounding(name, 64), Function: module + "." + function,
		Status: answer.Status.Word(), Reason: answer.Reason,
	}
	if err != nil {
		use.Status, use.Reason = codeUnavailable, err.Error()
	}
	g.rec.Uses = append(g.rec.Uses, use)
	return sandbox.Status(answer.Status), answer.Body, err
}

// instanceNamed reads a request and the capability that it names.
func instanceNamed(module string, request []byte) (name string, v strictjson.Value, ok bool) {
	kind, _ := capabilities.KindNamed(module)
	v, err := strictjson.Read(request, strictjson.Default(len(request)))
	named, _ := v.Get(kind.Instance)
	name, _ = named.Text()
	return name, v, err == nil && named.Kind() == strictjson.String
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

// bounding cuts a guest's text, on a character boundary.
func bounding(s string, most int) string {
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
			s = s[:len(s)-1]
		}
	}
	return s
}
