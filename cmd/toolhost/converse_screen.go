package main

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
	"github.com/toolhost/toolhost/server"
)

// actors are who acts in each kind of step, and on whom.
func (s conversationStep) actors() (from, to string) {
	switch s.kind {
	case stepCall, stepAnswers:
		return "application", "model"
	case stepProposals, stepAnswer:
		return "model", "application"
	case stepRecorded:
		return "recording", ""
	}
	return "application", ""
}

// printStep shows one step to a person.
func (c *cli) printStep(s conversationStep) {
	from, to := s.actors()
	if s.kind == stepCall || s.kind == stepAnswers {
		from += " -> " + to
	}
	head := fmt.Sprintf("%2d  %-20s  ", s.number, from)
	line := func(text string) {
		fmt.Fprintln(c.stdout, strings.TrimRight(head+text, " "))
		head = strings.Repeat(" ", len(head))
	}
	switch s.kind {
	case stepCall:
		line(s.callText())
	case stepProposals:
		for i, call := range s.calls {
			line(clean(call.Tool + " " + s.shown[i]))
		}
	case stepDecision:
		line(clean(s.calls[0].Tool) + ": " + c.paintStateOn(c.stdout, s.outcome.State, clean(s.outcome.Line())))
		c.printAnswers(s.gates, false, false)
	case stepAnswers:
		line(clean(string(s.message)))
		if s.compared && len(s.differences) == 0 {
			line("as recorded")
		}
	case stepAnswer:
		line(clean(s.text))
	case stepCheck:
		line("the final answer: " + c.paintVerdict(*s.verdict))
		c.printReplyOn(c.stdout, *s.verdict)
	}
	for _, d := range s.differences {
		line(c.paint(c.stdout, amber, "DIFFERS  "+clean(d)))
	}
}

func (s conversationStep) callText() string {
	text := fmt.Sprintf("call %d: %s (%s)", s.call, count(len(s.roles), "message"), strings.Join(s.roles, ", "))
	if s.tokens != nil {
		text += fmt.Sprintf("; %d tokens in, %d out", s.tokens.In, s.tokens.Out)
	}
	if s.finish != "" {
		text += "; finish " + clean(s.finish)
	}
	return text
}

func (c *cli) paintVerdict(o host.ReplyOutcome) string {
	if o.Valid {
		return c.paint(c.stdout, green, o.Line())
	}
	return c.paint(c.stdout, red, clean(o.Line()))
}

// printEnd is the last lines of a conversation: what it has used, and the verdict.
func (c *cli) printEnd(k *converser, s host.Session) {
	fmt.Fprintln(c.stdout)
	if k.counted {
		fmt.Fprintf(c.stdout, "tokens %d in, %d out\n", k.tokens.In, k.tokens.Out)
	}
	switch {
	case k.verdict != nil:
		fmt.Fprintln(c.stdout, c.paintVerdict(*k.verdict))
	case k.check == nil:
		fmt.Fprintf(c.stdout, "no final answer is checked: no [replies] is for the role %s\n", clean(s.Role))
	default:
		fmt.Fprintln(c.stdout, "no final answer in the recording")
	}
}

// appendJSON appends the step to a list of them.
func (s conversationStep) appendJSON(b []byte) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	from, to := s.actors()
	b = fmt.Appendf(b, `{"step":%d,"kind":"%s","from":"%s","to":"%s"`, s.number, s.kind, from, to)
	switch s.kind {
	case stepCall:
		b = appendTexts(fmt.Appendf(b, `,"call":%d,"messages":`, s.call), s.roles)
		b = appendTokens(append(b, `,"tokens":`...), s.tokens)
		b = strictjson.AppendString(append(b, `,"finish":`...), s.finish)
	case stepProposals:
		b = append(b, `,"proposals":[`...)
		for i, call := range s.calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = strictjson.AppendString(append(b, `{"id":`...), call.ID)
			b = strictjson.AppendString(append(b, `,"tool":`...), call.Tool)
			b = append(strictjson.AppendString(append(b, `,"arguments":`...), s.shown[i]), '}')
		}
		b = append(b, ']')
	case stepDecision:
		b = strictjson.AppendString(append(b, `,"id":`...), s.calls[0].ID)
		b = append(append(b, `,"outcome":`...), explanationJSON(s.outcome, s.gates)...)
	case stepAnswers:
		b = append(append(b, `,"append":`...), s.message...)
		b = fmt.Appendf(b, `,"recorded":%t`, s.compared)
	case stepAnswer:
		b = strictjson.AppendString(append(b, `,"text":`...), s.text)
	case stepCheck:
		b = append(append(b, `,"verdict":`...), replyJSON(*s.verdict)...)
	}
	if s.kind == stepAnswers || s.kind == stepRecorded {
		b = appendTexts(append(b, `,"differences":`...), s.differences)
	}
	return append(b, '}')
}

// appendJSON is the whole conversation, of its steps.
func (k *converser) appendJSON(steps []byte) []byte {
	b := append(fmt.Appendf(nil, `{"format":"%s","steps":[`, k.form), steps...)
	tokens := &k.tokens
	if !k.counted {
		tokens = nil
	}
	b = appendTokens(append(b, `],"tokens":`...), tokens)
	b = append(b, `,"verdict":`...)
	if k.verdict == nil {
		return append(b, "null}"...)
	}
	return append(append(b, replyJSON(*k.verdict)...), '}')
}

func appendTokens(b []byte, t *server.Tokens) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	return fmt.Appendf(b, `{"in":%d,"out":%d}`, t.In, t.Out)
}
