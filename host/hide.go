package host

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/strictjson"
)

// A hider takes a call's secret arguments out of what a guest says and gives.
// Every byte that belongs to an occurrence of a secret goes, so that no secret
// shows another. The time is linear in the text, whatever the secrets are: a
// guest and a model who work together could else hold up the host.
type hider struct {
	secrets  []secretText
	longest  int  // bytes
	withhold bool // a secret is too short to be cut out of a text, or there are too many
}

// secretText is a text to look for, with the table of Knuth, Morris and Pratt:
// how much of the text still fits where its next byte does not.
type secretText struct {
	text string
	fits []int
}

const (
	hidden     = "(secret)"
	minHidden  = 4 // bytes; what is shorter would shred every text and show itself by that
	withheld   = "(withheld: it could hold a secret)"
	maxSecrets = 100
)

// newHider gives nil, which hides nothing, where there are no secrets.
func newHider(secrets []string) *hider {
	if len(secrets) == 0 {
		return nil
	}
	h := &hider{withhold: len(secrets) > maxSecrets}
	seen := map[string]bool{"": true}
	for _, secret := range secrets {
		if h.withhold {
			break
		}
		inJSON := string(strictjson.AppendString(nil, secret)) // as a guest has it
		inGo := strconv.Quote(secret)                          // as an explanation has it
		for _, text := range append(strings.Split(secret, "\n"), secret, inJSON[1:len(inJSON)-1], inGo[1:len(inGo)-1]) {
			if seen[text] {
				continue
			}
			seen[text] = true
			h.withhold = h.withhold || len(text) < minHidden || len(h.secrets) >= maxSecrets
			h.secrets = append(h.secrets, secretText{text: text})
			h.longest = max(h.longest, len(text))
		}
	}
	return h
}

// table fills in fits, where a text is first found to hold the secret.
func (s *secretText) table() {
	if s.fits != nil {
		return
	}
	s.fits = make([]int, len(s.text)+1)
	fit := 0
	for i := 1; i < len(s.text); i++ {
		for fit > 0 && s.text[fit] != s.text[i] {
			fit = s.fits[fit]
		}
		if s.text[fit] == s.text[i] {
			fit++
		}
		s.fits[i+1] = fit
	}
}

// mark marks every byte of a text that belongs to an occurrence.
func (s *secretText) mark(text string, marks []bool) {
	s.table()
	fit, marked := 0, 0 // marked: up to where the marks are set
	for i := range len(text) {
		for fit > 0 && (fit == len(s.text) || s.text[fit] != text[i]) {
			fit = s.fits[fit]
		}
		if s.text[fit] == text[i] {
			fit++
		}
		if fit == len(s.text) {
			for j := max(marked, i+1-fit); j <= i; j++ {
				marks[j] = true
			}
			marked = i + 1
		}
	}
}

// replace puts one word in the place of each run of bytes that a secret takes.
func (h *hider) replace(text string) string {
	var marks []bool
	for i := range h.secrets {
		if !strings.Contains(text, h.secrets[i].text) {
			continue
		}
		if marks == nil {
			marks = make([]bool, len(text))
		}
		h.secrets[i].mark(text, marks)
	}
	if marks == nil {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		run := slices.Index(marks[i:], !marks[i])
		if run < 0 {
			run = len(text) - i
		}
		if marks[i] {
			b.WriteString(hidden)
		} else {
			b.WriteString(text[i : i+run])
		}
		i += run
	}
	return b.String()
}

// text is what a guest said, cut and without secrets.
func (h *hider) text(said []byte) string {
	shown := h.line(string(said[:min(len(said), maxLookedAt)]))
	if len(said) > maxLookedAt && h.hides() && len(shown) < maxGuestText+h.longest {
		return withheld // a part of a secret may stand where the looking ended
	}
	return cut(shown, maxGuestText)
}

// line is a text without secrets.
func (h *hider) line(text string) string {
	switch {
	case text == "" || !h.hides():
		return text
	case h.withhold:
		return withheld
	}
	return h.replace(text)
}

// hides tells whether there is anything to hide.
func (h *hider) hides() bool { return h != nil && (h.withhold || len(h.secrets) > 0) }

// maxLookedAt is how much of what a guest said at once is looked at, in bytes.
const maxLookedAt = 1 << 20

// value is a result without the secrets, in whatever text or number they stand:
// the names in a result are the contract's.
func (h *hider) value(v strictjson.Value) strictjson.Value {
	if !h.hides() {
		return v
	}
	if h.withhold {
		return strictjson.Text(withheld)
	}
	if text, scalar := v.Text(); scalar {
		if shown := h.replace(text); shown != text {
			return strictjson.Text(shown)
		}
		return v
	}
	return v.Map(func(_ string, child strictjson.Value) strictjson.Value { return h.value(child) })
}
