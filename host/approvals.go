package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
)

// Approvals as operators see them.

// Approval is one of them, as operators see it.
type Approval struct {
	state.Approval
	Shown  Shown           // what is agreed to
	Said   []string        // arguments that decide nothing and are written nowhere: the model's own words
	Needs  *config.Approve // who may agree; nil: the config has no such tool any more
	Gone   bool            // Shown is forgotten
	Broken string          // why Shown is not what was kept; "": it is
}

// Waits tells whether somebody can still decide.
func (a Approval) Waits() bool { return a.State == state.Waiting }

// view is viewOf with what the config says of it.
func (h *Host) view(kept state.Approval) Approval {
	a := viewOf(kept)
	t, ok := h.tools[kept.Tool]
	if ok {
		a.Needs = t.Approve
	}
	for name := range a.Shown.Arguments.Members() {
		if !ok || !t.uses(name) {
			a.Said = append(a.Said, name)
		}
	}
	return a
}

// uses tells whether anything that the config says of a tool names an argument.
func (t *tool) uses(argument string) bool {
	if t.rules.reads(string(config.SpaceArgs), argument) {
		return true
	}
	names := func(of config.Template) bool {
		return slices.Contains(of.Refs(), config.Ref{Space: config.SpaceArgs, Name: argument})
	}
	for _, g := range t.grants {
		if g.only == argument || g.outbox != nil && slices.ContainsFunc(g.outbox.config.Row, func(c config.Cell) bool { return names(c.Is) }) {
			return true
		}
	}
	return slices.ContainsFunc(t.rules.facts, func(f fact) bool {
		return names(f.Key) || slices.ContainsFunc(f.Where, func(c config.Condition) bool { return names(c.Is) })
	})
}

func viewOf(kept state.Approval) Approval {
	a := Approval{Approval: kept, Gone: kept.Content == nil}
	if a.Gone {
		return a
	}
	var err error
	if a.Shown, err = readShown(kept.Content); err != nil {
		a.Broken = err.Error()
	} else if digestOf(kept.Content) != kept.Digest || a.Shown.Tool != kept.Tool {
		a.Broken = "what is kept of it does not fit its digest"
	}
	return a
}

// Approvals gives the approvals in some states, or all, oldest first.
func (h *Host) Approvals(ctx context.Context, states ...state.ApprovalState) ([]Approval, error) {
	approvals, err := h.kept.approvals()
	if err != nil {
		return nil, err
	}
	h.settle(ctx)
	list, err := approvals.List(states...)
	out := make([]Approval, len(list))
	for i, kept := range list {
		out[i] = h.view(kept)
	}
	return out, err
}

// EachApproval is Approvals one after another, for there may be many.
func (h *Host) EachApproval(ctx context.Context, yield func(Approval) error, states ...state.ApprovalState) error {
	approvals, err := h.kept.approvals()
	if err != nil {
		return err
	}
	h.settle(ctx)
	return approvals.Each(func(kept state.Approval) error { return yield(h.view(kept)) }, states...)
}

// ErrSeveral says that a beginning of an id is that of more than one.
var ErrSeveral = errors.New("more than one approval begins so; write more of its id")

// ErrShort says that a beginning of an id names none.
var ErrShort = fmt.Errorf("write at least %d characters of the approval's id", minPrefix)

// minPrefix is how much of an id names an approval at least.
const minPrefix = 4

// Approval gives one approval by its id, or by a beginning of it.
func (h *Host) Approval(ctx context.Context, id string) (Approval, error) {
	approvals, err := h.kept.approvals()
	if err != nil {
		return Approval{}, err
	}
	h.settle(ctx)
	id = strings.ToUpper(id)
	if len(id) >= approvalIDChars {
		kept, err := approvals.Get(id)
		return h.view(kept), err
	}
	if len(id) < minPrefix {
		return Approval{}, ErrShort
	}
	found, err := approvals.Beginning(id)
	switch {
	case err != nil:
		return Approval{}, err
	case len(found) == 0:
		return Approval{}, state.ErrNoApproval
	case len(found) > 1:
		return Approval{}, ErrSeveral
	}
	return h.view(found[0]), nil
}
