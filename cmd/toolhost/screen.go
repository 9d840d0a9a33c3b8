package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// What people see. Texts of models and guests are shown with every character
// that could move the cursor, begin a line or turn its direction escaped.

// clean makes one line of a foreign text.
func clean(s string) string { return escaped(s, "") }

// cleanLines keeps the line ends and tabs of a text that we have joined.
func cleanLines(s string) string { return escaped(s, "\n\t") }

func escaped(s, kept string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case !odd(r) || strings.ContainsRune(kept, r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, "\\U%08x", r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// odd characters move the cursor, begin a line, turn its direction, or stand
// for what was no character.
func odd(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// cleanJSON escapes the same characters in a JSON text, which keeps its value.
func cleanJSON(text []byte) []byte {
	var b []byte
	for _, r := range string(text) {
		switch {
		case !odd(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, "\\u%04x\\u%04x", high, low)
		default:
			b = fmt.Appendf(b, "\\u%04x", r)
		}
	}
	return b
}

const (
	green = "32"
	red   = "31"
	amber = "33"
	faint = "2"
)

func (c *cli) paint(w io.Writer, colour, s string) string {
	if !c.terminal(w) {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

func (c *cli) paintState(state host.State, s string) string {
	return c.paintStateOn(c.stderr, state, s)
}

func (c *cli) paintStateOn(w io.Writer, state host.State, s string) string {
	return c.paint(w, map[host.State]string{host.OK: green, host.Refused: red, host.Pending: amber, host.Failed: red}[state], s)
}

// printProposal heads the screen of one call.
func (c *cli) printProposal(h *host.Host, p host.Proposal, s host.Session) {
	head := p.Tool + " " + h.Shown(p)
	fmt.Fprintf(c.stdout, "%-42s  %s\n\n", clean(head), clean(whoAsks(s)))
}

func whoAsks(s host.Session) string {
	var parts []string
	if ticket := s.Attributes["ticket"]; ticket != "" {
		parts = append(parts, ticket)
	}
	who := s.Role
	if customer := s.Attributes["customer"]; customer != "" {
		who += " " + customer
	} else if s.Subject != "" {
		who += " " + s.Subject
	}
	if s.Tenant != "" {
		who += " of " + s.Tenant
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		if v := s.Attributes[name]; v != "" && name != "ticket" && name != "customer" {
			who += ", " + name + " " + v
		}
	}
	return strings.Join(append(parts, who), ", ")
}

// printAnswers shows each gate's answer, in the order of the path.
// The clauses under it are shown where full says so.
func (c *cli) printAnswers(answers []host.Answer, explained, full bool) {
	for _, gate := range append(host.Gates(), host.GateAudit) {
		a := host.Answer{Gate: gate, Verdict: host.VerdictNone}
		found := false
		for _, given := range answers {
			if given.Gate == gate {
				a, found = given, true
			}
		}
		if !found && gate == host.GateAudit {
			continue
		}
		if !found && gate == host.GatePlugin {
			a.Text = "not started"
			if explained {
				a.Text = "not started: explain runs no guest code"
			}
		}
		c.printSaid(fmt.Sprintf("%-11s", a.Gate), a.Verdict, a.Text, a.Place)
		if full {
			for _, d := range a.Details {
				c.printDetail(d)
			}
		}
	}
}

// printGate shows one gate's answer with all that it looked at.
func (c *cli) printGate(a host.Answer) { c.printGateOn(c.stdout, a) }

func (c *cli) printGateOn(w io.Writer, a host.Answer) {
	c.printSaidOn(w, fmt.Sprintf("%-11s", a.Gate), a.Verdict, a.Text, a.Place)
	for _, d := range a.Details {
		c.printDetailOn(w, d)
	}
}

func (c *cli) printDetail(d host.Detail) { c.printDetailOn(c.stdout, d) }

func (c *cli) printDetailOn(w io.Writer, d host.Detail) {
	c.printSaidOn(w, strings.Repeat(" ", 15), d.Verdict, d.Text, d.Place)
	for _, clause := range d.Clauses {
		fmt.Fprintf(w, "%23s%-6s %s\n", "", clean(clause.Is), clean(clause.Text))
	}
}

// printSaid is a line of a gate, or of a clause under it.
func (c *cli) printSaid(head string, v host.Verdict, text string, at config.Place) {
	c.printSaidOn(c.stdout, head, v, text, at)
}

func (c *cli) printSaidOn(w io.Writer, head string, v host.Verdict, text string, at config.Place) {
	word, colour := string(v), faint
	switch v {
	case host.VerdictOK:
		colour = green
	case host.VerdictNo:
		word, colour = "NO", red
	case host.VerdictWait:
		colour = amber
	case host.VerdictNone:
	}
	text = clean(text)
	if where := at.Where(); where != "" {
		text += "   " + where
	}
	line := "  " + head + " " + c.paint(w, colour, fmt.Sprintf("%-4s", word)) + " " + text
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// printResult shows what the model gets.
func (c *cli) printResult(result []byte) {
	fmt.Fprintf(c.stdout, "  the model   %s\n", clean(string(result)))
}

// count writes a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "sh"):
		return strconv.Itoa(n) + " " + noun + "es"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
