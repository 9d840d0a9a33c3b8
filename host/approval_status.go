package host

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/contract"
	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/strictjson"
)

// approval_status is the host's own tool: it tells a model what has become of a
// write that it proposed, in short words. It goes through the gates as every
// call does, and knows the approvals of who asks alone: whether another's is
// there, nobody can tell by it (I6).

// StatusTool is its name, which no tool of a config can have.
const StatusTool = config.StatusTool

//go:embed approval_status.json
var statusContract []byte

//go:embed approval_status_result.json
var statusResult []byte

// newStatus makes the tool where the config has one that writes.
func (h *Host) newStatus() error {
	var callers []string
	for _, t := range h.config.Tools {
		if t.Effect == effectWrite {
			callers = append(callers, t.Callers...)
		}
	}
	if callers == nil {
		return nil
	}
	slices.Sort(callers)
	t := &tool{manifest: &sandbox.Manifest{}, contractFile: "the contract of " + StatusTool, Tool: config.Tool{
		Name: StatusTool, Effect: effectRead, Callers: slices.Compact(callers), Limits: h.config.Limits,
	}}
	c, faults := contract.Parse(t.contractFile, statusContract)
	if c == nil {
		return fmt.Errorf("%w", faults[0])
	}
	t.contract = c
	h.status, h.tools[StatusTool] = t, t
	return nil
}

func (h *Host) statusTool() Tool {
	c := h.status.contract
	result, _ := strictjson.Read(statusResult, strictjson.Default(len(statusResult))) // a constant
	return Tool{Name: StatusTool, Title: c.Title, Description: c.Description, Effect: effectRead, Input: c.Input, Output: result}
}

// answerStatus is gates 6 and 7 of the host's own tool.
func (h *Host) answerStatus(a approved) ([]byte, error) {
	id, _ := a.argument("approval")
	approvals, err := h.kept.approvals()
	h.settle(context.Background()) // what a crash left is no "being done"
	var kept state.Approval
	if err == nil {
		kept, err = approvals.Get(id)
	}
	if err != nil && !errors.Is(err, state.ErrNoApproval) {
		return nil, &Refusal{Gate: GateCaller, Code: codeUnavailable, Reason: err.Error()}
	}
	view := viewOf(kept)
	if err != nil || view.Gone || view.Broken != "" || !sameWho(view.Shown.Session, a.session) {
		return nil, &Refusal{Gate: GateCaller, Code: codeNotFound, Field: "approval", Reason: "who asks has proposed nothing of this id", words: "There is no approval " + id + " for you."}
	}
	a.trail.none(GatePlugin, "the host's own")
	a.trail.ok(GateResult, "approval "+id+" is "+string(kept.State))
	return h.statusOf(kept), nil
}

// sameWho tells whether two sessions are of the same people and the same
// matter, in whichever loop.
func sameWho(a, b Session) bool {
	a.ID, b.ID = "", ""
	return string(appendSession(nil, a, "")) == string(appendSession(nil, b, ""))
}

// statusOf is what the model hears.
func (h *Host) statusOf(kept state.Approval) []byte {
	b := strictjson.AppendString([]byte(`{"ok":true,"approval":`), kept.ID)
	b = strictjson.AppendString(append(b, `,"state":`...), string(kept.State))
	b = strictjson.AppendString(append(b, `,"says":`...), statusWords(kept))
	if kept.Delivery == state.Refused {
		b = strictjson.AppendString(append(b, `,"status":`...), refusedStatus(kept.Status))
	}
	if kept.State == state.Done && len(kept.Result) > 0 {
		// The host wrote it; whoever can write the state database could since.
		v, err := strictjson.Read(kept.Result, strictjson.Default(len(kept.Result)))
		t, ok := h.tools[kept.Tool]
		if result := v.Without("ok"); err == nil && ok && t.contract.Result(result) == nil {
			b = result.AppendJSON(append(b, `,"result":`...))
		}
	}
	return append(b, '}')
}

// refusedStatus is a refusal of the other side as a word.
func refusedStatus(status string) string {
	switch status {
	case "401", "403":
		return "forbidden"
	case "404", "410":
		return "not_found"
	}
	return "refused"
}

func statusWords(kept state.Approval) string {
	switch kept.State {
	case state.Waiting:
		return "Nobody has decided yet; nothing was done."
	case state.Approved, state.Running:
		return "A person has agreed, and it is being done."
	case state.Denied:
		return "A person did not agree; nothing was done."
	case state.Expiry:
		return "Nobody has decided in time; nothing was done."
	case state.Unknown:
		return "It is not known whether it was done; a person has to look."
	case state.Failed:
		if kept.Delivery == state.Refused {
			return "A person has agreed, and the service has refused it."
		}
		return "It could not be done; nothing was written."
	case state.Done:
		switch kept.Delivery {
		case state.Due, state.Sending:
			return "A person has agreed; it is recorded, and on its way."
		case state.Dead:
			return "A person has agreed; it is recorded and has not arrived, and a person has to look."
		case state.Delivered:
			return "A person has agreed; it is recorded and was delivered."
		default:
			return "A person has agreed, and it was done."
		}
	}
	return "Nothing is known of it."
}
