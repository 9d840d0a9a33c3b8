package host

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/strictjson"
)

// What a guest says in its own words: log lines, stdout, stderr and the text of
// its error. It goes to operators alone, bounded, quoted so that it cannot move
// a cursor, and without the arguments that x-secret marks. (A guest that writes
// a secret in another form, backwards or in base64, is not seen through.)

const maxGuestText = 2000 // bytes of a guest's own words that are kept together

// A hider takes secrets out of a guest's words, in one pass, longest first: in
// another order one secret could show another, or grow the text.
type hider struct {
	replacer *strings.Replacer // nil: there is nothing to hide
	longest  int               // bytes
	withhold bool              // a secret is too short to be cut out of a text
}

const (
	hidden     = "(secret)"
	minHidden  = 4 // bytes; what is shorter would shred every text and show itself by that
	withheld   = "(withheld: it could hold a secret)"
	maxSecrets = 1000
)

func newHider(secrets []string) *hider {
	h := &hider{withhold: len(secrets) > maxSecrets}
	var texts []string
	for _, secret := range secrets {
		quoted := string(strictjson.AppendString(nil, secret)) // as a guest's JSON has it
		for _, text := range append(strings.Split(secret, "\n"), secret, quoted[1:len(quoted)-1]) {
			h.withhold = h.withhold || text != "" && len(text) < minHidden
			if text != "" && !slices.Contains(texts, text) && !h.withhold {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) == 0 {
		return h
	}
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	h.longest = len(texts[0])
	var pairs []string
	for _, text := range texts {
		pairs = append(pairs, text, hidden)
	}
	h.replacer = strings.NewReplacer(pairs...)
	return h
}

func (h *hider) text(said []byte) string {
	switch {
	case len(said) == 0:
		return ""
	case h.withhold:
		return withheld
	case h.replacer == nil:
		return cut(string(said), maxGuestText)
	}
	return cut(h.replacer.Replace(cut(string(said), maxGuestText+h.longest)), maxGuestText)
}

// value is a result without the secrets, in whatever text or number they stand.
// What is too short to be cut out of a text is hidden where it is the whole.
func (h *hider) value(v strictjson.Value) strictjson.Value {
	if h == nil || h.replacer == nil && !h.withhold {
		return v
	}
	if text, scalar := v.Text(); scalar {
		switch {
		case h.withhold:
			return strictjson.Text(withheld)
		case h.replacer.Replace(text) != text:
			return strictjson.Text(h.replacer.Replace(text))
		}
		return v
	}
	return v.Map(func(_ string, child strictjson.Value) strictjson.Value { return h.value(child) })
}

// logLine logs what a guest gave to toolhost.log: {"level","message"}, or any
// text as it is. All of it is at our level debug: guests are not to be heard
// unless an operator asks.
func (g *guest) logLine(request []byte) {
	if !g.log.IsDebug() {
		return
	}
	v, err := strictjson.Read(request, strictjson.Default(len(request)))
	level, _ := v.TextAt("level")
	message, hasMessage := v.TextAt("message")
	if err != nil || !hasMessage || !slices.Contains([]string{"debug", "info", "warn", "error"}, level) {
		g.log.Debug("guest", "log", hclog.Quote(g.hide.text(request)))
		return
	}
	g.log.Debug("guest", "level", level, "log", hclog.Quote(g.hide.text([]byte(message))))
}

// guestOutput puts a guest's stdout and stderr into the log, line by line: a
// language runtime writes a stack trace word by word.
type guestOutput struct {
	log  hclog.Logger
	hide *hider
	line []byte
}

func (o *guestOutput) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		o.line = append(o.line, part...)
		if whole || len(o.line) > maxGuestText {
			o.flush()
		}
		rest = after
	}
	return len(p), nil
}

// flush logs what stands in the line so far.
func (o *guestOutput) flush() {
	if len(o.line) > 0 && o.log.IsDebug() {
		o.log.Debug("guest", "output", hclog.Quote(o.hide.text(o.line)))
	}
	o.line = o.line[:0]
}

// cut shortens a text to a number of bytes, on a character boundary.
func cut(s string, most int) string {
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
			s = s[:len(s)-1]
		}
	}
	return s
}
