package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What happens when a person says yes, in this order. At each step a crash leaves
// a state that is seen, and is not run again (approve_settle.go, I17):
//
//	check      who approves, and that what they saw still comes out of gates 1 to 4
//	claim      waiting -> approved, by one of all who try
//	record     who approved what; they still may, and gates 1 to 4 agree once more
//	begin      approved -> running, recorded as a call that starts
//	plugin     gate 6; what it asks of the outbox is noted and not written
//	result     gate 7
//	write      in one transaction of the outbox's database: the approval is still
//	           ours, who approves still may, gates 2 and 3 agree on what they read
//	           there, the row goes in
//	end        running -> done, or failed, or unknown

// reached is called between the steps, where a test wants to stop there.
func (h *Host) reached(step string) {
	if h.step != nil {
		h.step(step)
	}
}

func (d *decision) carryOut(ctx context.Context) ([]byte, error) {
	if err := d.mayDecide(ctx, false); err != nil {
		return nil, err
	}
	if err := d.sound(); err != nil {
		return nil, err
	}
	if _, err := d.asShown(ctx, d.trail, d.rec); err != nil {
		return nil, err
	}
	d.host.reached("checked")
	if err := d.claim(); err != nil {
		return nil, err
	}
	d.host.reached("claimed")
	if err := d.word(wordApproved); err != nil {
		return nil, d.giveBack(err)
	}
	d.host.reached("recorded")
	// Once more, after the yes is ours: who says it can have lost their role
	// meanwhile, and what was shown can have changed.
	if err := d.mayDecide(ctx, false); err != nil {
		return nil, d.release(err)
	}
	d.trail.answers = nil
	b, err := d.asShown(ctx, d.trail, d.rec)
	if err != nil {
		return nil, err
	}
	if err := d.writes.Begin(d.kept.ID, d.token, d.rec.CallID, b.outbox.place, b.tool.holdFor()); err != nil {
		return nil, refusedApproval(codeNotWaiting, "it took too long, or was settled by somebody else: %v", err)
	}
	d.run = d.rec.CallID
	d.trail.ok(GateApproval, "approved by "+d.who.subject)
	d.host.reached("begun")
	return d.runAndWrite(ctx, b)
}

// giveBack lets it wait again: nothing has happened.
func (d *decision) giveBack(why error) error {
	if err := d.writes.Back(d.kept.ID, d.token, d.kept.Digest, d.kept.Content, d.kept.Loose()); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// asShown runs gates 1 to 4 on fresh data, and refuses what does not come out as
// it was shown. A change of the facts sends it back to waiting, with what is
// new; any other change, or a gate that refuses now, ends it.
func (d *decision) asShown(ctx context.Context, t *trail, rec *Record) (bounded, error) {
	s := d.kept.Shown
	e := entered{session: s.Session, proposal: Proposal{Tool: s.Tool, Arguments: s.Arguments.AppendJSON(nil)}, id: rec.CallID, trail: t}
	if e.session.ID == "" {
		e.session.ID = rec.CallID // a loop of its own
	}
	b, err := d.host.pass(ctx, e, rec)
	if err != nil {
		if refusalCode(err) == codeUnavailable {
			return bounded{}, d.release(err) // nobody knows; it can be tried again
		}
		return bounded{}, d.fail(err)
	}
	now, err := b.show()
	if err != nil {
		return bounded{}, d.fail(refusedApproval(codeNoRow, "%v", err))
	}
	return b, d.hold(now)
}

// hold holds what comes out now against what was shown (I16).
func (d *decision) hold(now *shown) error {
	if bytes.Equal(now.content, d.kept.Content) {
		return nil
	}
	is, err := readShown(now.content)
	if err != nil {
		return d.fail(refusedApproval(codePolicyChanged, "%v", err))
	}
	if is.Policy != d.kept.Shown.Policy || is.Table != d.kept.Shown.Table {
		return d.fail(refusedApproval(codePolicyChanged, "the policy of %s is another than when it was proposed; it must be proposed again", is.Tool))
	}
	changes := d.kept.Shown.differences(is)
	err = refusedApproval(codeFactsChanged, "since it was shown: %s; see: toolhost approvals show %s", strings.Join(changes, "; "), d.kept.ID)
	switch back := d.showAnew(now); {
	case errors.Is(back, state.ErrNotSo):
		return refusedApproval(codeNotWaiting, fasterWords)
	case back != nil:
		return errors.Join(err, back)
	}
	return err
}

// fasterWords are for who decides what does not wait any more.
const fasterWords = "somebody was faster, or it has expired"

// showAnew lets it wait with what it shows now; state.ErrNotSo: it does not wait.
func (d *decision) showAnew(now *shown) error {
	err := d.writes.Back(d.kept.ID, d.token, now.digest, now.content, now.loose)
	if errors.Is(err, state.ErrNotSo) { // it was not ours yet
		err = d.writes.Show(d.kept.ID, d.kept.Digest, now.digest, now.content, now.loose)
	}
	if err == nil {
		d.rec.Approval.Shows = now.digest
	}
	return err
}

// fail ends it: nothing was written.
func (d *decision) fail(why error) error {
	err := d.writes.End(d.kept.ID, d.token, state.Ended{State: state.Failed, Code: refusalCode(why)})
	if errors.Is(err, state.ErrNotSo) {
		return d.void(why)
	}
	d.rec.Approval.State = string(state.Failed)
	return errors.Join(why, err)
}

// release lets it wait again, where it was ours.
func (d *decision) release(why error) error {
	if err := d.giveBack(why); !errors.Is(err, state.ErrNotSo) {
		return err
	}
	return why
}

// runAndWrite is the plugin, its result, and the row.
func (d *decision) runAndWrite(ctx context.Context, b bounded) ([]byte, error) {
	a, err := d.host.runPlugin(ctx, approved{bounded: b}, d.rec) // 6 plugin
	d.host.reached("ran")
	var result []byte
	if err == nil {
		result, err = d.host.checkResult(a) // 7 result
	}
	if err == nil && !b.row.Asked() {
		err = &Failure{Gate: GateResult, Code: codeNoEffect, Reason: "the guest ended well and has not asked for the row of " + b.outbox.name}
	}
	if err != nil {
		return nil, d.failed(err)
	}
	d.host.reached("answered")
	if err := d.write(ctx, b); err != nil {
		return nil, err
	}
	d.host.reached("written")
	d.trail.ok(GateResult, fmt.Sprintf("fits the contract; the row of %s is written", b.outbox.table))
	err = d.writes.End(d.kept.ID, d.token, state.Ended{State: state.Done, Result: result, Delivery: firstDelivery(d.kept.Shown)})
	if err != nil { // the row is there: settling finds it
		d.host.log.Error("an approval was carried out, and that could not be kept; it will be settled", "approval", d.kept.ID, "error", err)
	}
	d.host.reached("ended")
	return result, nil
}

// firstDelivery is where the delivery of a row stands that was just written.
func firstDelivery(s Shown) state.DeliveryState {
	if s.Delivery.Kind() != strictjson.Object {
		return ""
	}
	return state.Due
}

// failed ends an approval whose plugin did not end well, or whose row was not written.
func (d *decision) failed(why error) error {
	if err := d.writes.End(d.kept.ID, d.token, state.Ended{State: state.Failed, Code: refusalCode(why)}); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// write adds the row, in one transaction that reads again what the rules rest on
// (I16). One that was held up finds there that the approval is not its own (I17).
func (d *decision) write(ctx context.Context, b bounded) error {
	row, err := d.row(b)
	if err != nil {
		return d.failed(&Failure{Gate: GateResult, Code: codeNotWritten, Reason: err.Error()})
	}
	var changed *shown
	err = b.outbox.outbox.Write(ctx, d.kept.ID, row, func(ctx context.Context) error {
		switch ours, err := d.writes.Holds(d.kept.ID, d.token); {
		case err != nil:
			return err
		case !ours:
			return state.ErrNotSo
		}
		d.host.reached("in the transaction")
		now, err := d.decideAgain(ctx, b)
		d.host.reached("decided again")
		if err == nil && !bytes.Equal(now.content, d.kept.Content) {
			changed, err = now, errChanged
		}
		return err
	})
	var refused *Refusal
	switch {
	case err == nil:
		return nil
	case changed != nil:
		f := &Failure{Gate: GateResult, Code: codeOvertaken, Reason: "what it rests on has changed while the tool ran; nothing was written, and it waits with what it shows now"}
		return errors.Join(f, d.showAnew(changed))
	case errors.As(err, &refused) && refused.Code == codeUnavailable: // nobody knows whether anything has changed
		d.rec.Approval.Shows = d.kept.Digest
		f := &Failure{Gate: GateResult, Code: codeNotWritten, Reason: "nothing was written, and it waits again: " + refused.Reason}
		return d.release(f)
	case errors.As(err, &refused):
		return d.failed(&Failure{Gate: GateResult, Code: codeOvertaken, Reason: "what it rests on has changed while the tool ran; nothing was written: " + refused.Error()})
	case errors.Is(err, state.ErrNotSo):
		return &Failure{Gate: GateResult, Code: codeOvertaken, Reason: "it took too long, and was settled by somebody else; nothing was written"}
	case errors.Is(err, capabilities.ErrRowThere):
		return d.doneBefore(b)
	case errors.Is(err, capabilities.ErrUnknownEnd):
		return d.unknown(ctx, b, err)
	}
	return d.failed(&Failure{Gate: GateResult, Code: codeNotWritten, Reason: err.Error()})
}

// doneBefore ends an approval whose row is there already: the state database was
// set back, or changed, since it was written. Nobody knows whether it was delivered.
func (d *decision) doneBefore(b bounded) error {
	end := state.Ended{State: state.Done}
	if b.outbox.config.Deliver != nil {
		end = state.Ended{State: state.Unknown, Code: codeDeliveryUnknown, Delivery: state.Doubtful}
	}
	f := &Failure{Gate: GateResult, Code: codeOvertaken, Reason: "it was done before: the row of this approval is there already; nothing more was written"}
	if err := d.writes.End(d.kept.ID, d.token, end); err != nil {
		return errors.Join(f, err)
	}
	return f
}

var errChanged = errors.New("what is shown has changed")

// decideAgain asks whether the approver still may, the caller gate and the rules
// once more, within the transaction that writes.
func (d *decision) decideAgain(ctx context.Context, b bounded) (*shown, error) {
	if err := d.mayDecide(ctx, false); err != nil {
		return nil, err
	}
	quiet := b.checked
	quiet.trail = &trail{}
	a, err := d.host.checkCaller(ctx, quiet)
	if err != nil {
		return nil, err
	}
	r, err := d.host.checkRules(ctx, a, &Record{})
	if err != nil {
		return nil, err
	}
	b.ruled = r
	return b.show()
}

// row is what is written: what was shown, and what the approval gives. Nothing of
// it comes from the guest (I19).
func (d *decision) row(b bounded) ([]any, error) {
	s, err := b.show()
	if err != nil {
		return nil, err
	}
	decided, err := d.writes.Get(d.kept.ID)
	switch {
	case err != nil:
		return nil, err
	case decided.ID != d.kept.ID, decided.Approver != d.who.subject:
		return nil, fmt.Errorf("the state database names somebody else than %s as who approved", d.who.subject)
	}
	if b.outbox.config.Deliver != nil { // with what only the yes has given
		if _, err := b.outbox.sending(b.outbox.with(s.rowValue, func(name string) string { return given(decided, name) })); err != nil {
			return nil, fmt.Errorf("it could not be delivered: %w", err)
		}
	}
	return s.storedRow(decided)
}

// unknown looks whether the row is there, where the database did not say.
func (d *decision) unknown(ctx context.Context, b bounded, why error) error {
	there, err := b.outbox.outbox.Has(context.WithoutCancel(ctx), d.kept.ID)
	switch {
	case err == nil && there:
		return nil
	case err == nil:
		return d.failed(&Failure{Gate: GateResult, Code: codeNotWritten, Reason: why.Error()})
	}
	f := &Failure{Gate: GateResult, Code: codeUnknownEnd, Reason: why.Error() + "; " + err.Error()}
	if err := d.writes.End(d.kept.ID, d.token, state.Ended{State: state.Unknown, Code: codeUnknownEnd}); err != nil {
		return errors.Join(f, err)
	}
	return f
}
