package capabilities

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/mail"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	message "github.com/emersion/go-message/mail"
)

// Mail is an e-mail to one recipient: plain text, and nothing of it is for the
// mail's own author to frame. What a header could end, or what two readers could
// understand differently, is refused before anything is dialled (FuzzMail).
type Mail struct {
	ID       string // of the approval: the Message-ID is made of it, so that it is the same at each attempt
	From, To string // one bare address each: ann@example.org
	Subject  string
	Text     string // UTF-8; lines end in LF or CRLF
	Date     time.Time
}

const (
	maxSubject = 400     // bytes
	maxText    = 1 << 20 // bytes
	maxAddress = 254     // bytes (RFC 5321, section 4.5.3.1.3, less the brackets)
	maxLocal   = 64      // bytes (RFC 5321, section 4.5.3.1.1)
)

// addressForm is a local part of atoms (RFC 5322, section 3.2.3) and a name. It
// has no quoted string, comment, display name or address literal; nor the
// characters % and !, by which old servers route, | and `, by which old ones
// start programs, or a hyphen first, which is an option to some.
var addressForm = regexp.MustCompile(`^[A-Za-z0-9#$&'*+/=?^_{}~][A-Za-z0-9#$&'*+/=?^_{}~-]*(?:\.[A-Za-z0-9#$&'*+/=?^_{}~-]+)*` +
	`@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// checkAddress admits one bare address of ASCII.
func checkAddress(which, text string) error {
	local, _, _ := strings.Cut(text, "@")
	if len(text) > maxAddress || len(local) > maxLocal || !addressForm.MatchString(text) {
		return &Denial{"address", which + " is not one bare address such as ann@example.org, of ASCII, without a name, brackets or quotes"}
	}
	return nil
}

// check says what keeps a mail from being composed.
func (m Mail) check() error {
	if err := checkAddress("the sender", m.From); err != nil {
		return err
	}
	if err := checkAddress("the recipient", m.To); err != nil {
		return err
	}
	switch {
	case CheckSegment(m.ID) != nil || strings.Contains(m.ID, ".."):
		return &Denial{"id", "the id makes no Message-ID; letters, digits and - . _ ~ do"}
	case m.Date.IsZero():
		return &Denial{"date", "the mail has no date"}
	case len(m.Subject) > maxSubject:
		return &Denial{"subject", fmt.Sprintf("the subject is longer than %d bytes", maxSubject)}
	case !utf8.ValidString(m.Subject) || strings.ContainsFunc(m.Subject, unicode.IsControl):
		return &Denial{"subject", "the subject holds a line break or another control character, or is not UTF-8"}
	case len(m.Text) > maxText:
		return &Denial{"text", fmt.Sprintf("the text is longer than %d bytes", maxText)}
	case !utf8.ValidString(m.Text) || strings.Contains(m.Text, "\x00"):
		return &Denial{"text", "the text holds NUL, or is not UTF-8"}
	}
	return nil
}

// compose gives the bytes of a mail (RFC 5322): the same for the same mail.
func compose(m Mail) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	var h message.Header
	h.Set("Auto-Submitted", "auto-generated") // so that nobody's absence answers it (RFC 3834, section 5)
	h.Set("Content-Transfer-Encoding", "quoted-printable")
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	h.SetMessageID(m.ID + m.From[strings.LastIndexByte(m.From, '@'):])
	h.SetDate(m.Date.UTC())
	h.Set("Subject", encodedSubject(m.Subject))
	h.SetAddressList("To", []*message.Address{{Address: m.To}})
	h.SetAddressList("From", []*message.Address{{Address: m.From}})
	var b bytes.Buffer
	w, err := message.CreateSingleInlineWriter(&b, h)
	if err == nil {
		_, err = io.WriteString(w, m.Text)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		_, err = mail.ReadMessage(bytes.NewReader(b.Bytes())) // a second reader
	}
	if err != nil {
		return nil, &Denial{"mail", "no mail can be made of it"}
	}
	return b.Bytes(), nil
}

// plainSubject is what each reader takes as it stands, on one line.
var plainSubject = regexp.MustCompile(`^[!-~]+(?: [!-~]+)*$`)

// encodedSubject writes what is not plain as encoded words (RFC 2047, section 2).
// So is plain text that looks like one: a reader would show what nobody approved.
// package mime would leave that as it is.
func encodedSubject(s string) string {
	const most = 45 // bytes, which are 60 characters of base64 and 72 with what is around them
	if plainSubject.MatchString(s) && len(s) <= 60 && !strings.Contains(s, "=?") {
		return s
	}
	var words []string
	for s != "" {
		n := min(len(s), most)
		for n < len(s) && !utf8.RuneStart(s[n]) { // a word holds whole characters
			n--
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(s[:n]))+"?=")
		s = s[n:]
	}
	return strings.Join(words, " ")
}
