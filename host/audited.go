package host

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
)

// The audit log as the Recorder of a host: what of a Record stands in the log,
// and what is sealed beside it. In the log there is no word that a model, a
// guest or an application has written, names that the config knows excepted.

// An auditRecorder opens the log when it is first needed, and again after it
// could not be: until then every call is refused.
type auditRecorder struct {
	host *Host

	mu     sync.Mutex
	log    *audit.Log // nil: not open yet
	loaded *Load      // not recorded yet
	failed error      // why log is nil
	tried  time.Time  // when
}

// AuditOptions are the options of the log that a config describes. The caller
// opens the state database.
func AuditOptions(c *config.Config) audit.Options {
	return audit.Options{
		Folder: c.Audit.Folder, Key: c.Audit.Key,
		CheckpointEntries: c.Audit.CheckpointEntries, CheckpointTime: c.Audit.CheckpointTime, CheckpointCommand: c.Audit.CheckpointCommand,
		KeepDays: c.Audit.KeepDays, WarnFree: c.Audit.WarnFree,
	}
}

// lookAtAudit says what keeps calls of this config from being recorded. A state
// database that is in use was written, and must not be opened past SQLite.
func lookAtAudit(c *config.Config, inUse bool) error {
	paths := []string{c.Audit.Key, filepath.Join(c.Audit.Folder, "checkpoints")}
	if !inUse {
		paths = append([]string{c.State}, paths...)
	}
	for _, path := range paths {
		if err := audit.Makeable(path); err != nil {
			return fmt.Errorf("%s cannot be written: %w", path, err)
		}
	}
	if command := c.Audit.CheckpointCommand; len(command) > 0 {
		if err := audit.Runnable(command[0]); err != nil {
			return fmt.Errorf("[audit] checkpoint_command: %w", err)
		}
	}
	kept, err := state.OpenToRead(c.State)
	if err != nil {
		return err
	}
	defer func() { _ = kept.Close() }() // only read
	o := AuditOptions(c)
	o.State = kept
	return audit.Look(o)
}

// open gives the log. What was loaded is recorded before anything else.
func (a *auditRecorder) open() (*audit.Log, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		if since := time.Since(a.tried); a.failed != nil && since >= 0 && since < again {
			return nil, a.failed
		}
		a.failed, a.tried = a.openLog(), time.Now()
		if a.failed != nil {
			return nil, a.failed
		}
	}
	if a.loaded != nil {
		if err := a.log.Append(loadEvent(*a.loaded)); err != nil {
			return nil, err
		}
		a.loaded = nil
	}
	return a.log, nil
}

func (a *auditRecorder) openLog() error {
	s, _, err := a.host.kept.open()
	if err != nil {
		return err
	}
	o := AuditOptions(a.host.config)
	o.State, o.Log, o.Clock = s, a.host.log.Named("audit"), a.host.clock
	log, err := audit.Open(o)
	if err != nil {
		return err
	}
	a.log = log
	return nil
}

// Loaded implements Recorder. A log that cannot be opened now does not keep
// the host from loading: it refuses calls until the log is there.
func (a *auditRecorder) Loaded(l Load) error {
	a.mu.Lock()
	a.loaded = &l
	a.mu.Unlock()
	if _, err := a.open(); err != nil {
		a.host.log.Error("every call is refused until the audit log can be written", "error", err)
	}
	return nil
}

func loadEvent(l Load) audit.Event {
	info := &audit.LoadInfo{Config: l.Config, Program: l.Program, Tools: map[string]audit.Policy{}}
	for name, p := range l.Tools {
		info.Tools[name] = audit.Policy(p)
	}
	return audit.Event{Kind: audit.Loaded, At: l.Time, Load: info}
}

// Started implements Recorder.
func (a *auditRecorder) Started(r *Record) error {
	call := a.call(r)
	return a.append(audit.Event{Kind: audit.Started, At: r.Began, Call: call, Who: who(r), Values: proposed(r), Soon: r.inward})
}

// Ended implements Recorder. What the start has kept is not kept again.
func (a *auditRecorder) Ended(r *Record) error {
	if r.ofReply() {
		return a.replied(r)
	}
	call := a.call(r)
	call.Ended, call.Outcome, call.Code, call.Explained, call.Ran = r.Ended, r.State.String(), r.Code, r.Explained, r.Started
	if r.Gate != NoGate {
		call.Gate = r.Gate.String()
	}
	values := a.answered(r)
	if r.Started {
		call.Usage = &audit.Usage{
			Microseconds: r.Usage.Time.Microseconds(), Fuel: r.Usage.Fuel,
			MemoryBytes: r.Usage.MemoryBytes, HostCalls: r.Usage.HostCalls,
		}
		call.Uses = a.uses(r.Uses)
	} else {
		values = append(proposed(r), values...)
	}
	return a.append(audit.Event{Kind: audit.Ended, At: r.Ended, Call: call, Who: who(r), Values: values, GoesOn: r.Started})
}

// Decided implements Recorder. It stands under the call that proposed the write,
// and is of who decides: erasing them takes them out of it.
func (a *auditRecorder) Decided(r *Record, word string) error {
	call := &audit.Call{ID: r.CallID, Began: r.Began, Config: r.Config, Gates: []audit.GateAnswer{}}
	if t, known := a.host.tools[r.Tool]; known {
		policy := audit.Policy(t.policy)
		call.Tool, call.Policy = r.Tool, &policy
	}
	approval := audit.Approval{Word: word}
	if r.Approval != nil {
		approval.ID, approval.Digest, approval.Tries = r.Approval.ID, r.Approval.Digest, r.Approval.Tries
		approval.Shows, approval.State = r.Approval.Shows, r.Approval.State
		call.ID = cmp.Or(r.Approval.Call, r.CallID)
	}
	call.Approval = &approval
	by := audit.Who{Subject: r.Approver, Tenant: r.Session.Tenant}
	if r.Approver == "" {
		by = who(r)
	}
	var values []audit.Value
	if r.Reason != "" {
		values = append(values, audit.TextValue(valueReason, r.Reason))
	}
	return a.append(audit.Event{Kind: audit.Decided, At: a.host.clock(), Call: call, Who: by, Values: values})
}

func (a *auditRecorder) append(e audit.Event) error {
	log, err := a.open()
	if err != nil {
		return err
	}
	return log.Append(e)
}

// Close closes the log. It needs the state database once more.
func (a *auditRecorder) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		return nil
	}
	return a.log.Close()
}

// call is what start and end say alike.
func (a *auditRecorder) call(r *Record) *audit.Call {
	c := &audit.Call{
		ID: r.CallID, Began: r.Began, ArgumentBytes: roundedUp(r.Raw), Config: r.Config,
		Gates: make([]audit.GateAnswer, len(r.Answers)),
	}
	for i, answer := range r.Answers {
		c.Gates[i] = audit.GateAnswer{Gate: answer.Gate.String(), Verdict: string(answer.Verdict), Place: plainPlace(answer.Place)}
	}
	if _, known := a.host.tools[r.Tool]; known {
		policy := audit.Policy(r.Policy)
		c.Tool, c.Policy = r.Tool, &policy
	}
	if r.Approval != nil {
		c.Approval = &audit.Approval{ID: r.Approval.ID, Digest: r.Approval.Digest, Shows: r.Approval.Shows}
	}
	if a.host.knowsRole(r.Session.Role) {
		c.Who.Role = r.Session.Role
	}
	return c
}

// roundedUp is a length as the log has it: an exact one would tell one order id
// from another after both were erased.
func roundedUp(n int) int {
	const step = 64
	return (n + step - 1) / step * step
}

// plainPlace is a line of the config, by the file's base name: where a config
// lies is an operator's business. Nothing stands in it that a line of the log
// must not hold.
func plainPlace(at config.Place) string {
	if at.File == "" {
		return ""
	}
	at.File = filepath.Base(filepath.FromSlash(at.File))
	out := []rune(at.Where())
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = '?'
		}
	}
	return string(out)
}

func who(r *Record) audit.Who {
	w := audit.Who{
		Customer: r.Session.Attributes["customer"], Ticket: r.Session.Attributes["ticket"],
		Subject: r.Session.Subject, Tenant: r.Session.Tenant,
	}
	if r.Session.ID != r.CallID { // a call without a session's id is a loop of its own
		w.Session = r.Session.ID
	}
	return w
}

// uses counts the requests of one kind. A capability that the guest made up is
// told by its count alone.
func (a *auditRecorder) uses(all []Use) []audit.Use {
	var out []audit.Use
	for _, u := range all {
		one := audit.Use{Function: u.Function, Status: u.Status}
		if slices.ContainsFunc(a.host.config.Capabilities, func(c config.Capability) bool { return c.Name == u.Capability }) {
			one.Capability = u.Capability
		}
		same := slices.IndexFunc(out, func(o audit.Use) bool {
			return o.Capability == one.Capability && o.Function == one.Function && o.Status == one.Status
		})
		if same < 0 {
			same, out = len(out), append(out, one)
		}
		out[same].Count++
	}
	return out
}
