package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/contract"
	"github.com/toolhost/toolhost/host/rules"
	"github.com/toolhost/toolhost/host/strictjson"
)

// The final answer: what a loop ends with is a proposal too. It is held against
// the form that the config has for the session's role: a schema, and rules over
// the answer, the ticket's text and what this loop's calls really returned. What
// they returned comes from outcomes of this host and from nowhere else: not from
// the answer, not from messages that a model or a recording has written. What is
// false, errs or costs too much rejects (I15), and so does what is not known (I3).

// Reply is a final answer and what it is held against.
type Reply struct {
	Text    []byte    // as the model wrote it; untrusted
	Ticket  string    // the text that the loop is about, from the application
	Results []Outcome // of the loop's calls; those that are not ok returned nothing
	Lost    error     // why it is not known what they returned; nil: Results are all
}

// ReplyOutcome says whether a final answer may leave. The zero value: it may not.
type ReplyOutcome struct {
	Valid   bool
	Form    string       // the X of [replies.X]; "" where the role has none
	Gate    Gate         // NoGate where it is valid
	Code    string       // one of ReplyCodes or the name of the rule; "" where it is valid
	Reason  string       // why, in full, for operators
	Words   string       // for the model, if it is to write another answer
	Field   string       // the member that does not fit the schema
	Place   config.Place // of what decided
	Details []Detail     // the schema, what the loop returned, then each rule with its clauses
	CheckID string       // in the audit log

	asked int // how many rules
}

// Line is the outcome in one line for a person: "rejected: order_not_in_ticket (reply)".
func (o ReplyOutcome) Line() string {
	if o.Valid {
		return "valid"
	}
	return fmt.Sprintf("rejected: %s (%s)", o.Code, o.Gate)
}

// Answer is the outcome as a gate's answer.
func (o ReplyOutcome) Answer() Answer {
	if o.Valid {
		return Answer{Gate: GateReply, Verdict: VerdictOK, Text: "fits the schema; " + count(o.asked, "rule") + " true", Details: o.Details}
	}
	return Answer{Gate: GateReply, Verdict: VerdictNo, Text: o.Code + ": " + o.Reason, Place: o.Place, Details: o.Details}
}

// AppendJSON appends the whole outcome as one JSON object; every key is always there.
func (o ReplyOutcome) AppendJSON(b []byte) []byte {
	b = fmt.Appendf(b, `{"valid":%t`, o.Valid)
	gate := ""
	if o.Gate != NoGate {
		gate = o.Gate.String()
	}
	for _, field := range []struct{ name, value string }{
		{"form", o.Form}, {"gate", gate}, {"code", o.Code}, {"field", o.Field}, {"reason", o.Reason}, {"words", o.Words}, {"place", o.Place.Where()}, {"check_id", o.CheckID},
	} {
		b = appendMember(b, field.name, field.value)
	}
	return append(b, '}')
}

// The codes of rejections, beside the names of rules.
const codeInvalidReply = "invalid_reply"

// ReplyCode is one of the host's own codes of rejections.
type ReplyCode struct{ Name, Means string }

// ReplyCodes is the table of them; docs/replies.md has it too.
func ReplyCodes() []ReplyCode {
	return []ReplyCode{
		{codeInvalidReply, "the text is not strict JSON, is too long, or does not fit the schema of its form"},
		{codeUnavailable, "what the answer must be held against is not known: the role has no form, the ticket is too long, or what a call returned cannot be read"},
		{codeAuditUnavailable, "the check could not be recorded"},
	}
}

const (
	wordsReply        = "The rules do not allow this answer."
	wordsReplyUnknown = "The answer could not be checked."
	wordsReplyNoJSON  = "The answer must be one JSON object."
)

// replyForm is what the host holds of one [replies.X]; load_replies.go makes it.
type replyForm struct {
	config.Reply
	schemaFile string // as places show it
	schema     *contract.Schema
	types      map[string]rules.Type // reply, ticket, results and session
	rules      []replyRule
	policy     Policy
}

type replyRule struct {
	config.ReplyRule
	compiled *rules.Rule
}

// CheckReply holds a final answer against the form of the session's role. The
// outcome is recorded before CheckReply returns.
func (h *Host) CheckReply(s Session, r Reply) ReplyOutcome {
	rec := h.begin(s, Proposal{Arguments: r.Text})
	form := h.formOf(s.Role)
	o := ReplyOutcome{Form: form.Name}
	value, err := form.read(r.Text)
	if err == nil {
		o.Details = append(o.Details, Detail{Verdict: VerdictOK, Text: "schema", Place: config.Place{File: form.schemaFile}})
		err = form.decide(h, s, r, value, &o)
	}
	var refused *Refusal
	switch {
	case err == nil:
		o.Valid = true
	case errors.As(err, &refused):
		o.Gate, o.Code, o.Reason, o.Field, o.Place, o.Words = GateReply, refused.Code, refused.Reason, refused.Field, refused.Place, refused.words
	default: // no error of another kind is made here; it rejects
		o.Gate, o.Code, o.Reason, o.Words = GateReply, codeUnavailable, err.Error(), wordsReplyUnknown
	}
	rec.Reply, rec.Policy, rec.Ticket, rec.Arguments = form.Name, form.policy, cut(r.Ticket, maxTicket), value
	return h.endReply(rec, r, o)
}

// maxTicket is how much of the ticket's text the record keeps, in bytes.
const maxTicket = 64 << 10

// HasForm tells whether the final answers of a role are checked.
func (h *Host) HasForm(role string) bool { return h.formOf(role).schema != nil }

// formOf is the form of a role; without one it has no schema, and nothing fits it.
func (h *Host) formOf(role string) *replyForm {
	for _, f := range h.replies {
		if slices.Contains(f.Roles, role) {
			return f
		}
	}
	return &replyForm{}
}

// read is the only place where a final answer is read.
func (f *replyForm) read(text []byte) (strictjson.Value, error) {
	if f.schema == nil {
		return strictjson.Value{}, &Refusal{Code: codeUnavailable, Reason: "the session's role has no [replies]", words: wordsReplyUnknown}
	}
	refuse := func(m contract.Misfit) (strictjson.Value, error) {
		return strictjson.Value{}, &Refusal{
			Code: codeInvalidReply, Reason: m.Error(), Field: m.Field, Place: config.Place{File: f.schemaFile}, words: m.Words,
		}
	}
	if len(text) > f.ReplyChars*utf8.UTFMax || utf8.RuneCount(text) > f.ReplyChars {
		return refuse(contract.Misfit{
			Reason: fmt.Sprintf("the text is longer than %d characters", f.ReplyChars), Words: fmt.Sprintf("The answer is longer than %d characters.", f.ReplyChars),
		})
	}
	v, err := strictjson.Read(text, strictjson.Default(len(text)))
	if err != nil {
		return refuse(contract.Misfit{Reason: "the text: " + err.Error(), Words: wordsReplyNoJSON})
	}
	var m *contract.Misfit
	switch err := f.schema.Check(v); {
	case errors.As(err, &m):
		return refuse(*m)
	case err != nil:
		return refuse(contract.Misfit{Reason: err.Error(), Words: wordsReplyUnknown})
	}
	return v, nil
}

// decide asks every rule; the first that is not true, in the order of the
// config, rejects.
func (f *replyForm) decide(h *Host, s Session, r Reply, value strictjson.Value, o *ReplyOutcome) error {
	in, err := f.input(h, s, r, value)
	if err != nil {
		return &Refusal{Code: codeUnavailable, Reason: err.Error(), Place: f.Place, words: wordsReplyUnknown}
	}
	var first error
	o.Details = append(o.Details, Detail{Verdict: VerdictNone, Text: "returned: " + returnedNames(r.Results)})
	for i := range f.rules {
		detail, err := f.rules[i].decide(in)
		o.Details = append(o.Details, detail)
		o.asked++
		if first == nil {
			first = err
		}
	}
	return first
}

// decide says what a rule said, as ruled.decide does of a call's.
func (r *replyRule) decide(in rules.Input) (Detail, error) {
	var show ruled // with nothing to hide: an answer has no secrets
	holds, clauses, err := r.compiled.Decide(in, nil)
	d := Detail{Verdict: VerdictNo, Text: r.Name, Place: r.At("require"), Clauses: show.shownClauses(clauses)}
	no := &Refusal{Code: r.Name, Place: r.At("require"), words: wordsReply}
	switch {
	case err != nil:
		no.Reason = "could not be decided: " + err.Error()
		return d, no
	case holds:
		d.Verdict = VerdictOK
		return d, nil
	}
	reason, ok := r.Reason.Render(func(ref config.Ref) (string, bool) { return show.placeholder(in, ref), true })
	if !ok {
		reason = untrue(clauses, d.Clauses)
	}
	no.Reason = reason
	words, ok := r.Words.Render(func(ref config.Ref) (string, bool) { return show.word(in, ref) })
	if ok && utf8.RuneCountInString(words) <= maxWords {
		no.words = words
	}
	return d, no
}

// input gives the rules their variables.
func (f *replyForm) input(h *Host, s Session, r Reply, value strictjson.Value) (rules.Input, error) {
	if n := utf8.RuneCountInString(r.Ticket); n > f.TicketChars || !utf8.ValidString(r.Ticket) {
		return nil, fmt.Errorf("the ticket's text is longer than %d characters, or no UTF-8", f.TicketChars)
	}
	if r.Lost != nil {
		return nil, fmt.Errorf("what the loop's calls returned is not known: %w", r.Lost)
	}
	reply, err := rules.FromJSON(f.types["reply"], value)
	if err != nil { // a schema let through what its own types do not
		return nil, fmt.Errorf("reply %w", err)
	}
	results, err := f.results(h, r.Results)
	if err != nil {
		return nil, err
	}
	return rules.Input{
		"reply": reply, "ticket": rules.TextValue(r.Ticket), "results": results,
		"session": rules.ObjectValue(f.types["session"], sessionField(s)),
	}, nil
}

// maxReturned is how many results of one tool rules can look at; more reject.
const maxReturned = 500

// results are lists of what each read tool of the form's roles returned. An
// outcome that is not ok has returned nothing, whatever its bytes say.
func (f *replyForm) results(h *Host, outcomes []Outcome) (rules.Value, error) {
	all := f.types["results"]
	lists := map[string][]rules.Value{}
	for _, o := range outcomes {
		list, ok := all.Field(o.Tool)
		if o.State != OK || !ok || list.Kind != rules.List {
			continue
		}
		value, err := h.returned(o)
		if err == nil {
			var item rules.Value
			item, err = rules.FromJSON(*list.Item, value)
			lists[o.Tool] = append(lists[o.Tool], item)
		}
		if err == nil && len(lists[o.Tool]) > maxReturned {
			err = fmt.Errorf("it is one of more than %d", maxReturned)
		}
		if err != nil {
			return rules.Value{}, fmt.Errorf("what call %s of %s returned cannot be taken: %w", o.CallID, o.Tool, err)
		}
	}
	return rules.ObjectValue(all, func(tool string) (rules.Value, error) { return rules.ListValue(lists[tool]), nil }), nil
}

// returnedNames says how often each tool returned something.
func returnedNames(outcomes []Outcome) string {
	times := map[string]int{}
	for _, o := range outcomes {
		if o.State == OK {
			times[o.Tool]++
		}
	}
	var out []string
	for _, tool := range slices.Sorted(maps.Keys(times)) {
		out = append(out, fmt.Sprintf("%s %s", tool, count(times[tool], "time")))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// returned is the tool's object in an outcome's envelope. It is held against the
// contract again: it can come from the record, of another day.
func (h *Host) returned(o Outcome) (strictjson.Value, error) {
	v, err := strictjson.Read(o.Result, strictjson.Default(len(o.Result)))
	if err != nil {
		return strictjson.Value{}, err
	}
	if ok, _ := v.Get("ok"); ok.Kind() != strictjson.True {
		return strictjson.Value{}, errors.New("it is no result")
	}
	v = v.Without("ok")
	return v, h.tools[o.Tool].contract.Result(v)
}

// endReply records the outcome before it leaves.
func (h *Host) endReply(rec *Record, r Reply, o ReplyOutcome) ReplyOutcome {
	o.CheckID = rec.CallID
	rec.Ended, rec.State, rec.Gate, rec.Code, rec.Reason, rec.Field = h.clock(), Refused, o.Gate, o.Code, o.Reason, o.Field
	if o.Valid {
		rec.State = OK
	}
	rec.Answers = []Answer{o.Answer()}
	if rec.Arguments.Kind() != strictjson.Object {
		text := strings.ToValidUTF8(string(r.Text[:min(len(r.Text), maxProposal)]), "\uFFFD")
		if len(r.Text) > maxProposal {
			text += "..."
		}
		rec.Proposal = text
	}
	if err := h.recorder.Ended(rec); err != nil {
		o.Valid, o.Gate, o.Code, o.Reason, o.Field, o.Place, o.Words = false, GateAudit, codeAuditUnavailable, err.Error(), "", config.Place{}, wordsReplyUnknown
	}
	if h.log.IsInfo() {
		h.log.Info("reply", "outcome", o.Line(), "form", o.Form, "check_id", o.CheckID, "role", rec.Session.Role, "tenant", rec.Session.Tenant)
	}
	return o
}
