package main

import (
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/server"
)

// A converser goes through a recorded conversation. It makes every answer of a
// tool itself; those of the recording it compares with what it has made.
type converser struct {
	form   server.Form
	ticket string
	trace  func(host.Proposal) (host.Outcome, []host.Answer)
	check  func(host.Reply) host.ReplyOutcome // nil: the final answer is not checked
	shown  func(host.Proposal) string         // a proposal's arguments, without secrets
	tell   func(conversationStep)

	steps   int
	calls   int                // of the model
	sent    []string           // the roles of the messages that the model has now
	results []host.Outcome     // of this conversation's calls, and of nothing else
	tokens  server.Tokens      // so far, as recorded
	counted bool               // the recording has tokens
	verdict *host.ReplyOutcome // of the last answer; nil: none was checked
}

// The kinds of steps.
const (
	stepCall      = "call"      // the application calls the model
	stepProposals = "proposals" // the model asks for tools
	stepDecision  = "decision"  // the application decides one call
	stepAnswers   = "answers"   // the application gives the results back
	stepRecorded  = "recorded"  // the recording has answers to no call
	stepAnswer    = "answer"    // the model writes what it ends with
	stepCheck     = "check"     // the application checks that
)

// A conversationStep is one thing that happens. Which members it has, its kind says.
type conversationStep struct {
	number      int
	kind        string
	call        int            // of the model, from 1
	roles       []string       // call: of the messages that the model gets
	tokens      *server.Tokens // call: nil where the recording does not say
	finish      string         // call
	calls       []server.FormCall
	shown       []string // proposals: the arguments as they may be shown
	outcome     host.Outcome
	gates       []host.Answer
	message     []byte   // answers: what is appended to the conversation
	compared    bool     // answers: the recording has some
	differences []string // of those
	text        string   // answer
	verdict     *host.ReplyOutcome
}

func (k *converser) step(s conversationStep) {
	k.steps++
	s.number = k.steps
	k.tell(s)
}

func (k *converser) run(turns []server.Turn) {
	if stray := recordedAfter(turns, -1); len(stray) > 0 {
		k.step(conversationStep{kind: stepRecorded, differences: server.Compare(nil, nil, stray)})
	}
	for i, turn := range turns {
		switch {
		case turn.Role == server.RoleAssistant:
			k.model(turn, recordedAfter(turns, i))
		case len(turn.Answers) == 0: // else the application's own stand in its place
			k.sent = append(k.sent, turn.Role)
		}
	}
}

// recordedAfter are the answers that a recording has between a message of the
// model and the next one; those before the first have -1.
func recordedAfter(turns []server.Turn, i int) []server.RecordedAnswer {
	var out []server.RecordedAnswer
	for _, turn := range turns[i+1:] {
		if turn.Role == server.RoleAssistant {
			break
		}
		out = append(out, turn.Answers...)
	}
	return out
}

// model goes through one message of the model and what follows from it.
func (k *converser) model(turn server.Turn, recorded []server.RecordedAnswer) {
	k.calls++
	if turn.Tokens != nil {
		k.counted = true
		k.tokens.In, k.tokens.Out = k.tokens.In+turn.Tokens.In, k.tokens.Out+turn.Tokens.Out
	}
	k.step(conversationStep{kind: stepCall, call: k.calls, roles: append([]string{}, k.sent...), tokens: turn.Tokens, finish: turn.Finish})
	k.sent = append(k.sent, server.RoleAssistant)
	if len(turn.Calls) > 0 {
		k.decide(turn.Calls, recorded)
		return
	}
	k.step(conversationStep{kind: stepAnswer, text: turn.Text})
	if k.check != nil {
		o := k.check(host.Reply{Text: []byte(turn.Text), Ticket: k.ticket, Results: k.results})
		k.verdict = &o
		k.step(conversationStep{kind: stepCheck, verdict: &o})
	}
	if len(recorded) > 0 {
		k.step(conversationStep{kind: stepRecorded, differences: server.Compare(nil, nil, recorded)})
	}
}

// decide answers the calls of one message, in its order.
func (k *converser) decide(calls []server.FormCall, recorded []server.RecordedAnswer) {
	proposed := conversationStep{kind: stepProposals, calls: calls}
	for _, call := range calls {
		proposed.shown = append(proposed.shown, k.shown(proposalOf(call)))
	}
	k.step(proposed)
	var outcomes []host.Outcome
	for _, call := range calls {
		o, gates := k.trace(proposalOf(call))
		outcomes = append(outcomes, o)
		k.step(conversationStep{kind: stepDecision, calls: []server.FormCall{call}, outcome: o, gates: gates})
	}
	k.results = append(k.results, outcomes...)
	answers := conversationStep{kind: stepAnswers, message: k.form.Answer(calls, outcomes), compared: len(recorded) > 0}
	if answers.compared {
		answers.differences = server.Compare(calls, outcomes, recorded)
	}
	k.step(answers)
	if k.form == server.FormAnthropic {
		k.sent = append(k.sent, server.RoleUser)
		return
	}
	for range calls {
		k.sent = append(k.sent, server.RoleTool)
	}
}

func proposalOf(call server.FormCall) host.Proposal {
	return host.Proposal{Tool: call.Tool, Arguments: call.Arguments}
}
