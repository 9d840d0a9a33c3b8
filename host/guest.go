package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/strictjson"
)

// A guest answers what the running module asks for.
type guest struct {
	approved
	rec    *Record
	log    hclog.Logger
	given  bool // a result was given
	result []byte
	failed bool   // the guest said so
	text   string // in these words
	output *guestOutput
	hide   *hider
}

func newGuest(a approved, rec *Record, log hclog.Logger) *guest {
	return &guest{approved: a, rec: rec, log: log, hide: rec.hide, output: &guestOutput{log: log, hide: rec.hide}}
}

// ownModule is what every plugin may import from.
const ownModule = "toolhost"

// offer lists the functions that a guest may import; docs/abi.md describes them.
func offer() sandbox.Offer {
	o := sandbox.Offer{ownModule: {"arguments", "result", "error", "log", "progress"}}
	for _, k := range capabilities.Kinds() {
		o[k.Name] = k.Functions
	}
	return o
}

// Call implements sandbox.Functions.
func (g *guest) Call(ctx context.Context, module, function string, request []byte) (sandbox.Status, []byte, error) {
	if module != ownModule {
		return g.capability(ctx, module, function, request)
	}
	switch function {
	case "arguments":
		return sandbox.OK, g.args.AppendJSON(nil), nil
	case "result":
		return g.take(request)
	case "error":
		if !g.failed { // the first text stands
			g.failed, g.text = true, g.hide.text(request)
		}
		return sandbox.OK, nil, nil
	case "log":
		g.logLine(request)
		return sandbox.OK, nil, nil
	case "progress":
		return g.progress(request)
	}
	return sandbox.Invalid, nil, nil
}

// TooLong implements sandbox.Functions.
func (g *guest) TooLong(module, function string, size int64) error {
	if module == ownModule && function == "result" {
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
		answer = capabilities.Refuse(capabilities.Denied,
			fmt.Sprintf("no capability %q of kind %s is granted to this tool", cut(name, 64), module), "not_granted")
	default:
		answer, err = reach.Call(ctx, function, v)
	}
	use := Use{
		Capability: strings.Clone(cut(g.hide.text([]byte(cut(name, maxGuestText))), 64)), Function: module + "." + function,
		Status: answer.Status.Word(), Asked: g.asked(answer.Asked), Got: answer.Got, Reason: g.hide.text([]byte(answer.Reason)),
	}
	if err != nil {
		use.Status, use.Reason = codeUnavailable, err.Error()
	}
	g.rec.Uses = append(g.rec.Uses, use)
	if use.Status != capabilities.OK.Word() { // the word of the reason names nobody
		word, _, _ := strings.Cut(use.Reason, ":")
		g.log.Info("request", "function", use.Function, "status", use.Status, "reason", strconv.Quote(word), "call_id", g.rec.CallID)
	}
	return sandbox.Status(answer.Status), answer.Body, err
}

// asked is what a request named, as it is kept: whole where a capability could
// take it, without secrets, and not as a part of the request that it came in.
func (g *guest) asked(what string) string {
	if len(what) <= capabilities.MaxAsked {
		return strings.Clone(g.hide.line(what))
	}
	return cut(g.hide.line(cut(what, maxLookedAt)), capabilities.MaxAsked) + "..."
}

// instanceNamed reads a request and the capability that it names.
func instanceNamed(module string, request []byte) (name string, v strictjson.Value, ok bool) {
	kind, _ := capabilities.KindNamed(module)
	v, err := strictjson.Read(request, strictjson.Default(len(request)))
	name, named := v.TextAt(kind.Instance)
	return name, v, err == nil && named
}
