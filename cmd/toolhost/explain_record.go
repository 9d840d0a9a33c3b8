package main

import (
	"cmp"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
)

// explainRecorded shows a call as explain does, from its record alone: neither
// the config nor the tool of today has a word in it.
func (c *cli) explainRecorded(id string, asJSON bool) error {
	r, err := c.openReader()
	if err != nil {
		return err
	}
	defer r.Close()
	var found []audit.Record
	take := func(rec audit.Record) error {
		found = append(found, rec)
		return nil
	}
	err = r.Find(audit.Filter{Call: id, After: -1}, take)
	if err == nil && len(found) == 0 { // of an approval the call that proposed it
		err = r.Find(audit.Filter{Approval: id, After: -1}, take)
		if len(found) > 0 && err == nil {
			id, found = found[0].Entry.Call.ID, nil
			err = r.Find(audit.Filter{Call: id, After: -1}, take)
		}
	}
	if err != nil {
		return &status{code: exitHost, err: err}
	}
	if len(found) == 0 {
		return &status{code: exitUsage, err: fmt.Errorf("explain: the audit log has no call %q; to explain a proposal give TOOL and ARGS", id)}
	}
	if asJSON {
		for _, rec := range found {
			_, _ = c.stdout.Write(append(recordJSON(rec), '\n')) // the sink remembers an error
		}
		return nil
	}
	told := toldCall{values: map[string]strictjson.Value{}}
	for _, rec := range found {
		told.take(rec)
	}
	told.name()
	c.printTold(told)
	return nil
}

// details are the clauses that a gate looked at, as they were recorded.
func (t toldCall) details(gate string) []host.Detail {
	var out []host.Detail
	for _, d := range t.values["details"].Items() {
		if of, _ := d.TextAt("gate"); of != gate {
			continue
		}
		verdict, _ := d.TextAt("verdict")
		text, _ := d.TextAt("text")
		place, _ := d.TextAt("place")
		detail := host.Detail{Verdict: host.Verdict(verdict), Text: text, Place: config.Place{File: place}}
		clauses, _ := d.Get("clauses")
		for _, c := range clauses.Items() {
			is, _ := c.TextAt("is")
			text, _ := c.TextAt("text")
			detail.Clauses = append(detail.Clauses, host.Clause{Is: is, Text: text})
		}
		out = append(out, detail)
	}
	return out
}

// printTold is the screen of one recorded call.
func (c *cli) printTold(t toldCall) {
	call := t.call()
	gone := "(" + string(t.gone) + ")"
	arguments, ok := t.values["arguments"]
	if t.replied() {
		arguments, ok = t.values["reply"]
	}
	shown := cmp.Or(t.text("proposal"), gone)
	if ok {
		shown = string(arguments.AppendJSON(nil))
	}
	fmt.Fprintf(c.stdout, "%-42s  %s\n\n", clean(t.tool+" "+shown), clean(t.who))
	answers := make([]host.Answer, 0, len(call.Gates))
	for _, g := range call.Gates {
		text, _ := t.values["answers"].TextAt(g.Gate)
		if text == "" && t.gone != "" && g.Verdict != string(host.VerdictNone) {
			text = gone
			if g.Verdict == string(host.VerdictNo) {
				text = call.Code + " " + gone
			}
		}
		answers = append(answers, host.Answer{
			Gate: host.GateNamed(g.Gate), Verdict: host.Verdict(g.Verdict), Text: text, Place: config.Place{File: g.Place},
			Details: t.details(g.Gate),
		})
	}
	if t.replied() {
		for _, a := range answers {
			c.printGate(a)
		}
	} else {
		c.printAnswers(answers, call.Explained, true)
	}
	if result, ok := t.values["result"]; ok {
		c.printResult(result.AppendJSON(nil))
	} else if t.end != nil && !call.Explained && !t.replied() {
		c.printResult([]byte(gone))
	}
	c.printEntry(t, call)
}

// byWhom says who decided, and why where that is sealed.
func byWhom(w audit.Record) string {
	told := toldCall{values: map[string]strictjson.Value{}}
	told.take(w)
	out := ""
	if s := told.text("subject"); s != "" && host.ByPerson(w.Entry.Call.Approval.Word) {
		out = ", by " + clean(s)
	}
	if s := told.text("reason"); s != "" {
		out += ": " + clean(s)
	}
	return out
}

// printEntry is what the log has of the call besides the gates' answers.
func (c *cli) printEntry(t toldCall, call *audit.Call) {
	fmt.Fprintf(c.stdout, "\n  call        %s, %s\n", clean(call.ID), call.Began.UTC().Format("2006-01-02 15:04:05.000 UTC"))
	outcome := "started; no end is recorded"
	if t.end != nil {
		outcome = howEnded(call)
	}
	fmt.Fprintf(c.stdout, "  outcome     %s\n", clean(outcome))
	if u := call.Usage; u != nil {
		fmt.Fprintf(c.stdout, "  usage       %.1f ms, %d units of fuel, %.1f MiB, %s\n",
			float64(u.Microseconds)/1000, u.Fuel, float64(u.MemoryBytes)/(1<<20), count(u.HostCalls, "host call"))
	}
	for _, u := range call.Uses {
		fmt.Fprintf(c.stdout, "  used        %s %s, %s, %s\n", clean(u.Function), clean(cmp.Or(u.Capability, "(none that there is)")), clean(u.Status), count(u.Count, "time"))
	}
	if ticket, ok := t.values["ticket"]; ok {
		fmt.Fprintf(c.stdout, "  ticket      %s\n", clean(string(ticket.AppendJSON(nil))))
	}
	if facts, ok := t.values["facts"]; ok {
		fmt.Fprintf(c.stdout, "  facts       %s\n", clean(string(facts.AppendJSON(nil))))
	}
	if asked, ok := t.values["requests"]; ok {
		fmt.Fprintf(c.stdout, "  asked       %s\n", clean(string(asked.AppendJSON(nil))))
	}
	if a := call.Approval; a != nil {
		fmt.Fprintf(c.stdout, "  approval    %s, digest %s\n", clean(a.ID), clean(a.Digest))
	}
	for _, w := range t.words {
		fmt.Fprintf(c.stdout, "  %-11s %s%s\n", clean(w.Entry.Call.Approval.Word), w.Entry.At.UTC().Format("2006-01-02 15:04:05 UTC"), byWhom(w))
	}
	fmt.Fprintf(c.stdout, "  config      %s\n", clean(call.Config))
	if call.Policy != nil {
		fmt.Fprintf(c.stdout, "  policy      %s\n  contract    %s\n", clean(call.Policy.Resolved), clean(call.Policy.Contract))
		if call.Policy.Module != "" {
			fmt.Fprintf(c.stdout, "  module      %s\n", clean(call.Policy.Module))
		}
	}
	entry := t.end
	if entry == nil {
		entry = t.start
	}
	fmt.Fprintf(c.stdout, "  entry       %d", entry.Seq)
	if t.start != nil && t.end != nil {
		fmt.Fprintf(c.stdout, ", started in %d", t.start.Seq)
	}
	fmt.Fprintln(c.stdout)
}
