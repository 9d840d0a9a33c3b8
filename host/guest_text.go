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

// cut shortens a text to a number of bytes, on a character boundary. What it
// gives keeps nothing of a longer text alive.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return strings.Clone(s)
}
