package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Host decides proposals by one config. It is safe for use from several
// goroutines at once.
type Host struct {
	config    *config.Config
	tools     map[string]*tool
	databases map[string]*capabilities.Database
	closers   []io.Closer // of what capabilities hold open
	directory *directory  // nil: none
	replies   []*replyForm
	kept      *kept
	recorder  Recorder
	closing   sync.Once
	closed    error
	stopAhead func()         // nil: nothing is prepared
	audit     *auditRecorder // nil where Options.Recorder took its place
	log       hclog.Logger
	clock     func() time.Time
	newID     func() string
	forgot    atomic.Int64      // when approvals were last looked through, nanoseconds since 1970
	status    *tool             // approval_status; nil: no tool writes
	step      func(step string) // told between the steps of an approval; nil: nobody
}

// Call decides one proposal and, if every gate agrees, runs the tool. The
// first gate that says no ends the call; no guest code runs before the last of
// them. The outcome is recorded before Call returns.
func (h *Host) Call(ctx context.Context, s Session, p Proposal) Outcome {
	outcome, _ := h.Trace(ctx, s, p)
	return outcome
}

// Trace is Call with each gate's answer, for a person to read.
func (h *Host) Trace(ctx context.Context, s Session, p Proposal) (Outcome, []Answer) {
	rec, t := h.begin(s, p), &trail{}
	res, err := h.decide(ctx, s, p, rec, t)
	return h.end(ctx, p, rec, t, res, err), t.answers
}

// Unreadable records what came through a door and is no proposal: no message of
// the door's protocol, or one that could be read in two ways. Why says so in the
// door's words. No tool is named, and none runs.
func (h *Host) Unreadable(ctx context.Context, s Session, raw []byte, why string) Outcome {
	p, t := Proposal{Arguments: raw}, &trail{}
	rec := h.begin(s, p)
	_, err := h.enterSession(s, p, rec, t)
	if err == nil {
		err = &Refusal{Gate: GateContract, Code: codeInvalidArgument, Reason: "no proposal: " + why, words: wordsUnreadable}
	}
	return h.end(ctx, p, rec, t, nil, err)
}

// decide is the path of a call; see doc.go. Only decide, admit and pass know the
// order of the gates, and approve_run.go what follows a person's yes.
func (h *Host) decide(ctx context.Context, s Session, p Proposal, rec *Record, t *trail) ([]byte, error) {
	call, err := h.admit(ctx, s, p, rec, t) // 0 to 5
	if err != nil {
		return nil, err
	}
	if call.tool == h.status {
		return h.answerStatus(call) // the host's own
	}
	answer, err := h.runPlugin(ctx, call, rec) // 6 plugin
	if err != nil {
		return nil, err
	}
	return h.checkResult(answer) // 7 result
}

// admit is the part of the path before any guest code.
func (h *Host) admit(ctx context.Context, s Session, p Proposal, rec *Record, t *trail) (approved, error) {
	entered, err := h.enterSession(s, p, rec, t) // 0 session
	if err != nil {
		return approved{}, err
	}
	bounded, err := h.pass(ctx, entered, rec) // 1 to 4
	if err != nil {
		return approved{}, err
	}
	return h.checkApproval(bounded, rec) // 5 approval
}

// pass is the part of the path that is asked again when a person has agreed to
// a write.
func (h *Host) pass(ctx context.Context, e entered, rec *Record) (bounded, error) {
	checked, err := h.checkContract(e) // 1 contract
	if err != nil {
		return bounded{}, err
	}
	rec.keep(checked)
	asked, err := h.checkCaller(ctx, checked) // 2 caller
	if err != nil {
		return bounded{}, err
	}
	ruled, err := h.checkRules(ctx, asked, rec) // 3 rules
	if err != nil {
		return bounded{}, err
	}
	return h.checkCapability(ctx, ruled) // 4 capability
}

// keep keeps the arguments as they may be stored.
func (r *Record) keep(c checked) {
	r.hide = newHider(c.tool.contract.Secrets(c.args))
	r.Arguments = r.hide.value(c.tool.contract.RedactedArguments(c.args))
}

func (h *Host) begin(s Session, p Proposal) *Record {
	rec := &Record{
		CallID: h.newID(), Began: h.clock(), Session: s, Tool: shortTool(p.Tool), Raw: len(p.Arguments), Config: h.config.Digest,
	}
	if t, ok := h.tools[p.Tool]; ok {
		rec.Policy = t.policy
	}
	return rec
}

// shortTool bounds a name that a model wrote. One that was cut is no tool's:
// no tool's name has dots.
func shortTool(name string) string {
	if len(name) <= 64 {
		return name
	}
	return cut(name, 64) + "..."
}

// end makes the outcome of what the gates said, and records it before it leaves.
func (h *Host) end(ctx context.Context, p Proposal, rec *Record, t *trail, result []byte, err error) Outcome {
	o := Outcome{State: OK, Tool: rec.Tool, Result: result, CallID: rec.CallID, Usage: rec.Usage}
	if err != nil {
		o = h.refuse(ctx, rec, t, o, err)
		if late := h.countRefusal(rec, o); late != nil { // gate 0, at the way out
			err = late
			o = h.refuse(ctx, rec, t, o, err)
		}
	}
	o = h.leave(ctx, rec, t, o, err, p)
	if o.State != Pending { // nor does what could not be recorded wait
		return o
	}
	if late := h.recorded(err); late != nil {
		o = h.ending(ctx, rec, o, late)
		t.no(o)
	}
	return o
}

// leave records an outcome before it leaves.
func (h *Host) leave(ctx context.Context, rec *Record, t *trail, o Outcome, err error, p Proposal) Outcome {
	t.hide(rec.hide)
	rec.Ended, rec.State, rec.Gate, rec.Code, rec.Reason, rec.Field = h.clock(), o.State, o.Gate, o.Code, o.Reason, o.Field
	rec.Answers = t.answers
	rec.Result = h.redacted(rec, o, err)
	if rec.Arguments.Kind() != strictjson.Object {
		rec.Proposal = h.proposalText(p)
	}
	if err := h.recorder.Ended(rec); err != nil {
		o = h.ending(ctx, rec, o, &Refusal{Gate: GateAudit, Code: codeAuditUnavailable, Reason: err.Error()})
		t.no(o)
	}
	if h.log.IsInfo() {
		tool := rec.Tool
		if _, known := h.tools[tool]; !known {
			tool = strconv.Quote(tool) // a model wrote it
		}
		h.log.Info("call", "outcome", o.Line(), "tool", tool, "call_id", rec.CallID, "role", rec.Session.Role, "tenant", rec.Session.Tenant, "ms", o.Usage.Time.Milliseconds())
	}
	return o
}

// refuse makes the outcome of a refusal or failure, and notes it.
func (h *Host) refuse(ctx context.Context, rec *Record, t *trail, o Outcome, err error) Outcome {
	o = h.ending(ctx, rec, o, err)
	if o.State == Pending {
		t.wait(o)
		return o
	}
	o.Reason, o.Field = rec.hide.line(o.Reason), rec.hide.line(o.Field)
	t.no(o)
	return o
}

// ending fills in a refusal or failure. An error of any other kind is a fault
// of ours; it refuses (I3), as a database that cannot be read does: an operator
// must look.
func (h *Host) ending(ctx context.Context, rec *Record, o Outcome, err error) Outcome {
	var r *Refusal
	var f *Failure
	var p *Postponed
	o.State, o.Result, o.Approval = Refused, nil, ""
	switch {
	case errors.As(err, &p):
		o.State, o.Gate, o.Code, o.Reason, o.Approval = Pending, GateApproval, codeWaiting, p.Reason, p.ID
		if p.ID != "" {
			row, _ := codeRow(GateApproval, codeWaiting)
			o.Result = pendingResult(p.ID, row.Words)
		}
		return o
	case errors.As(err, &f):
		o.State, o.Gate, o.Code, o.Reason = Failed, f.Gate, f.Code, f.Reason
	case errors.As(err, &r):
		o.Gate, o.Code, o.Reason, o.Field, o.Place, o.details = r.Gate, r.Code, r.Reason, r.Field, r.Place, r.details
	default:
		o.Gate, o.Code, o.Reason = GateCaller, codeUnavailable, fmt.Sprintf("unexpected: %v", err)
	}
	o.Result = refusalResult(h.words(ctx, rec, o, r))
	return o
}

// words chooses what the model is told. A role that may not use the tool gets
// the words of unknown_tool whichever gate refused (I7): the contract gate
// stands before the caller gate, so it must ask here.
func (h *Host) words(ctx context.Context, rec *Record, o Outcome, r *Refusal) string {
	if t, known := h.tools[rec.Tool]; known && o.Gate == GateContract {
		var may *Refusal
		if errors.As(h.mayUse(ctx, rec.Session, t), &may) {
			return WordsUnknownTool
		}
	}
	if r != nil && r.words != "" {
		return r.words
	}
	if row, ok := codeRow(o.Gate, o.Code); ok && row.Words != "" {
		return row.Words
	}
	return wordsNotAvailable
}

// Tools gives the tools that a session may use now, by name.
func (h *Host) Tools(ctx context.Context, s Session) []Tool {
	var out []Tool
	writes := false
	for _, t := range h.config.Tools {
		tool := h.tools[t.Name]
		if h.mayUse(ctx, s, tool) == nil {
			writes = writes || t.Effect == effectWrite
			out = append(out, Tool{
				Name: t.Name, Title: tool.contract.Title, Description: tool.contract.Description, Effect: t.Effect,
				Input: tool.contract.Input, Output: tool.contract.Output,
			})
		}
	}
	if writes {
		out = append(out, h.statusTool())
	}
	return out
}

// ToolNames gives the names of all tools, for operators.
func (h *Host) ToolNames() []string {
	var names []string
	for _, t := range h.config.Tools {
		names = append(names, t.Name)
	}
	return names
}

// CanRecord says what keeps calls from being recorded; nil: nothing.
func (h *Host) CanRecord() error { return lookAtAudit(h.config, h.kept.inUse()) }

// Attributes gives the session attributes that the config may name.
func (h *Host) Attributes() []string { return slices.Clone(h.config.Attributes) }

// Shown is a proposal's argument text as it may be shown to an operator:
// without what its tool's contract marks as x-secret. Of one that does not fit
// such a contract only the length is shown: a secret may stand anywhere.
func (h *Host) Shown(p Proposal) string {
	t, ok := h.tools[p.Tool]
	if !ok || !t.contract.Secretive() {
		return string(p.Arguments)
	}
	args, err := t.readArguments(p.Arguments)
	if err != nil {
		return "(" + count(len(p.Arguments), "byte") + ")"
	}
	hide := newHider(t.contract.Secrets(args))
	return string(hide.value(t.contract.RedactedArguments(args)).AppendJSON(nil))
}

// maxProposal is how much of an argument text that was not read is kept.
const maxProposal = 16 << 10

// proposalText is an argument text as it may be kept: where no tool is named
// whose contract says what in it is secret, only if no tool has secrets.
func (h *Host) proposalText(p Proposal) string {
	text := h.Shown(p)
	if _, known := h.tools[p.Tool]; !known && h.secretive() {
		text = "(" + count(len(p.Arguments), "byte") + ")"
	}
	if len(text) > maxProposal {
		text = cut(text, maxProposal) + "..."
	}
	return text
}

func (h *Host) secretive() bool {
	for _, t := range h.tools {
		if t.contract.Secretive() {
			return true
		}
	}
	return false
}

// knowsRole tells whether a role is one that the config names.
func (h *Host) knowsRole(role string) bool {
	for _, t := range h.tools {
		if slices.Contains(t.Callers, role) {
			return true
		}
	}
	return false
}

// Close gives back what the host holds. No call may run any more.
func (h *Host) Close() error {
	h.closing.Do(func() { h.closed = h.close() })
	return h.closed
}

func (h *Host) close() error {
	var errs []error
	if h.stopAhead != nil {
		h.stopAhead()
	}
	for _, t := range h.tools {
		if t.module != nil {
			errs = append(errs, t.module.Close(context.Background()))
		}
	}
	for _, c := range h.closers {
		errs = append(errs, c.Close())
	}
	if h.audit != nil {
		errs = append(errs, h.audit.Close())
	}
	errs = append(errs, h.kept.Close())
	return errors.Join(errs...)
}
