package capabilities

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/mail"
	"strings"
	"testing"
	"time"

	message "github.com/emersion/go-message/mail"
)

// refusedAddresses are no bare address, or one that two servers could take for
// two recipients.
var refusedAddresses = map[string]string{
	"empty": "", "at-alone": "@", "no-domain": "ann@", "no-local": "@example.org", "no-at": "ann", "two-at": "ann@evil.test@example.org",
	"display-name": "Ann <ann@example.org>", "brackets": "<ann@example.org>", "brackets-twice": "ann@example.org><eve@evil.test", "two": "ann@example.org,eve@evil.test", "two-by-semicolon": "ann@example.org;eve@evil.test",
	"two-by-space": "ann@example.org eve@evil.test", "group": "all:ann@example.org;", "comment": "ann(eve)@example.org", "comment-in-domain": "ann@example.org(eve)", "space-before": " ann@example.org", "space-after": "ann@example.org ",
	"cr-lf": "ann@example.org\r\nBcc: eve@evil.test", "lf": "ann@example.org\nX: y", "lf-at-the-end": "ann@example.org\n", "cr": "ann@example.org\rX", "nul": "ann@example.org\x00", "tab": "ann\t@example.org", "delete": "ann\x7f@example.org",
	"command": "ann@example.org> NOTIFY=SUCCESS <x@y", "quoted": `"ann"@example.org`, "quoted-line": "\"ann\r\n\"@example.org", "quoted-brackets": `"a> <b"@example.org`, "backslash": `an\n@example.org`, "literal": "ann@[127.0.0.1]", "literal-ipv6": "ann@[IPv6:::1]",
	"address-for-a-name": "ann@127.0.0.1", "dot-first": ".ann@example.org", "dot-last": "ann.@example.org", "two-dots": "an..n@example.org", "domain-dot-first": "ann@.example.org", "domain-dot-last": "ann@example.org.", "domain-two-dots": "ann@example..org",
	"hyphen-first-in-a-label": "ann@-example.org", "hyphen-last-in-a-label": "ann@example-.org", "underscore-in-a-name": "ann@exa_mple.org", "routed-by-percent": "ann%evil.test@example.org", "routed-by-bang": "evil.test!ann@example.org", "route": "@evil.test:ann@example.org",
	"pipe": "|sh@example.org", "backtick": "`id`@example.org", "option": "-oQ/tmp@example.org", "umlaut": "änn@example.org", "umlaut-in-the-domain": "ann@exämple.org", "full-width-at": "ann＠example.org", "not-utf8": "ann\xff@example.org", "encoded-word": "=?utf-8?q?ann?=@exa mple.org",
	"local-too-long": strings.Repeat("a", 65) + "@example.org", "label-too-long": "ann@" + strings.Repeat("a", 64) + ".org", "too-long": "ann@" + strings.Repeat("a.", 126) + "org",
}

func TestMailAddresses(t *testing.T) {
	for _, text := range []string{
		"ann@example.org", "a@b", "Ann.Lee+refunds_1@mail.EXAMPLE.org", "o'neil@example.org", "root@localhost", "1@1.example", "a-b@x-y.example", strings.Repeat("a", 64) + "@example.org", "ann@xn--bcher-kva.example",
	} {
		if err := checkAddress("the recipient", text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for name, text := range refusedAddresses {
		for _, which := range []string{"To", "From"} {
			m := letter()
			if which == "To" {
				m.To = text
			} else {
				m.From = text
			}
			b, err := compose(m)
			var d *Denial
			if !errors.As(err, &d) || d.Word != "address" || strings.Contains(d.Text, "evil") {
				t.Errorf("%s as %s: %v, %q", name, which, err, b)
			}
		}
	}
}

// TestMailRefuses: what makes no mail is refused before anything is dialled.
func TestMailRefuses(t *testing.T) {
	reached := newCanary(t, "127.0.0.1:0")
	s := openSMTP(t, SMTPConfig{Name: "relay", Address: "127.0.0.1:" + reached.port, Security: SMTPNone, Time: time.Second})
	for name, tt := range map[string]struct {
		change func(*Mail)
		word   string
	}{
		"zero-mail":              {func(m *Mail) { *m = Mail{} }, "address"},
		"two-recipients":         {func(m *Mail) { m.To = "ann@example.org,eve@evil.test" }, "address"},
		"subject-with-a-header":  {func(m *Mail) { m.Subject = "x\r\nBcc: eve@evil.test" }, "subject"},
		"subject-with-lf":        {func(m *Mail) { m.Subject = "x\ny" }, "subject"},
		"subject-with-cr":        {func(m *Mail) { m.Subject = "x\ry" }, "subject"},
		"subject-with-nul":       {func(m *Mail) { m.Subject = "x\x00y" }, "subject"},
		"subject-with-a-tab":     {func(m *Mail) { m.Subject = "x\ty" }, "subject"},
		"subject-with-esc":       {func(m *Mail) { m.Subject = "x\x1b[2J" }, "subject"},
		"subject-with-nel":       {func(m *Mail) { m.Subject = "x\u0085Bcc: y" }, "subject"},
		"subject-not-utf8":       {func(m *Mail) { m.Subject = "x\xff" }, "subject"},
		"subject-too-long":       {func(m *Mail) { m.Subject = strings.Repeat("x", maxSubject+1) }, "subject"},
		"text-with-nul":          {func(m *Mail) { m.Text = "x\x00" }, "text"},
		"text-not-utf8":          {func(m *Mail) { m.Text = "x\xff" }, "text"},
		"text-too-long":          {func(m *Mail) { m.Text = strings.Repeat("x", maxText+1) }, "text"},
		"no-date":                {func(m *Mail) { m.Date = time.Time{} }, "date"},
		"no-id":                  {func(m *Mail) { m.ID = "" }, "id"},
		"id-with-a-line":         {func(m *Mail) { m.ID = "a\r\nX: y" }, "id"},
		"id-with-brackets":       {func(m *Mail) { m.ID = "a>b" }, "id"},
		"id-with-a-host":         {func(m *Mail) { m.ID = "a@b" }, "id"},
		"id-with-two-dots":       {func(m *Mail) { m.ID = "a..b" }, "id"},
		"id-longer-than-a-line":  {func(m *Mail) { m.ID = strings.Repeat("a", 1000) }, "id"},
		"sender-with-a-header":   {func(m *Mail) { m.From = "a@b\r\nBcc: eve@evil.test" }, "address"},
		"recipient-with-command": {func(m *Mail) { m.To = "a@b>\r\nRCPT TO:<eve@evil.test" }, "address"},
	} {
		m := letter()
		tt.change(&m)
		a := s.Deliver(t.Context(), m)
		if word, _, _ := strings.Cut(a.Reason, ":"); a.End != Refused || a.Status != "" || word != tt.word {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if n := reached.touched(); n > 0 {
		t.Errorf("%d connections", n)
	}
}

// mailTexts are bodies and subjects that a careless sender would break.
var mailTexts = []string{
	"", "x", "\n", "\r\n", ".", ".\n", "\n.\n", "\r\n.\r\n", "a\r\n.\r\nQUIT\r\n", "..", "a\r.\rb", "a\r\n.\nb", "a\n.\r\nb", "\r", "a\r\r\n.\r\r\n", "=", "=\n", "a=0D=0A.=0D=0A", "From a\n", "--x\n", " \n", "a \n", "\t\n",
	"Gruß aus Köln", "读书会", "=?utf-8?q?Bcc?=", "=?utf-8?b?QUFB?= x", "a =?", " x", "x ", "a  b", "x: y", "Re: x", strings.Repeat("long ", 60), strings.Repeat("x", 300), strings.Repeat("ü", 190), "😀😀😀", "a\u2028b", "\u202egnp.exe",
}

// TestMailArrives: what a real server takes is what was given.
func TestMailArrives(t *testing.T) {
	r, c := newRelay(t, SMTPNone)
	for _, text := range mailTexts {
		m := letter()
		m.Text = text
		if text != "" && !strings.ContainsAny(text, "\r\n\t") {
			m.Subject = text
		}
		before := len(r.mails())
		wantEnd(t, send(t, c, m), Delivered, "250", "")
		mails := r.mails()
		if len(mails) != before+1 {
			t.Fatalf("%q: %d mails", text, len(mails)-before)
		}
		checkMail(t, m, []byte(mails[before].text))
		for _, line := range strings.Split(strings.TrimSuffix(mails[before].text, "\r\n"), "\r\n") {
			if len(line) > 998 || strings.ContainsAny(line, "\r\n") || strings.ContainsFunc(line, func(c rune) bool { return c > '~' }) {
				t.Errorf("%q: the line %q", text, line)
			}
		}
	}
	a, err := compose(letter())
	b, again := compose(letter())
	if err != nil || again != nil || !bytes.Equal(a, b) {
		t.Errorf("the same mail gives %q and %q", a, b)
	}
}

// lines are the lines of a text however they end.
func lines(text string) string {
	return strings.TrimSuffix(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
}

// checkMail holds what two readers find in the bytes against what was given.
func checkMail(t *testing.T, m Mail, b []byte) {
	t.Helper()
	first, err := mail.ReadMessage(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%+v gives %q: %v", m, b, err)
	}
	if len(first.Header) != 9 {
		t.Fatalf("%+v gives the headers %v", m, first.Header)
	}
	for name, values := range first.Header {
		if !strings.Contains(" Auto-Submitted Content-Transfer-Encoding Content-Type Date From Message-Id Mime-Version Subject To ", " "+name+" ") || len(values) != 1 {
			t.Fatalf("%+v gives %s: %q", m, name, values)
		}
	}
	for name, address := range map[string]string{"From": m.From, "To": m.To} {
		if list, err := first.Header.AddressList(name); err != nil || len(list) != 1 || list[0].Address != address || list[0].Name != "" {
			t.Fatalf("%+v gives %s: %v, %v", m, name, list, err)
		}
	}
	if subject, err := new(mime.WordDecoder).DecodeHeader(first.Header.Get("Subject")); err != nil || subject != m.Subject {
		t.Fatalf("%q becomes %q (%q), %v", m.Subject, subject, first.Header.Get("Subject"), err)
	}
	second, err := message.CreateReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	id, err := second.Header.MessageID()
	subject, err2 := second.Header.Subject()
	date, err3 := second.Header.Date()
	if _, domain, _ := strings.Cut(m.From, "@"); err != nil || err2 != nil || err3 != nil || id != m.ID+"@"+domain || subject != m.Subject || date.Unix() != m.Date.Unix() {
		t.Fatalf("%+v gives id %q, subject %q, date %v (%v, %v, %v)", m, id, subject, date, err, err2, err3)
	}
	part, err := second.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(part.Body)
	if err != nil || lines(string(text)) != lines(m.Text) {
		t.Fatalf("%q becomes %q, %v", m.Text, text, err)
	}
	if part, err := second.NextPart(); !errors.Is(err, io.EOF) {
		t.Fatalf("%+v has a second part %v, %v", m, part, err)
	}
}

// FuzzMail: whatever is given, either it is refused or two readers find exactly
// that in the mail: one sender, one recipient, subject, id, date and text, and no
// other header.
func FuzzMail(f *testing.F) {
	for _, address := range refusedAddresses {
		f.Add("id", address, "ann@example.org", "x", "y")
		f.Add("id", "ann@example.org", address, "x", "y")
	}
	for _, text := range mailTexts {
		f.Add("id", "a@b", "c@d", text, text)
	}
	f.Add("a..b", "a@b", "c@d", "x", "y")
	f.Add("7Q3LJ2TZ", strings.Repeat("a", 64)+"@"+strings.Repeat("b", 63)+".c", "c@"+strings.Repeat("d.", 100)+"e", "x", "y")
	f.Fuzz(func(t *testing.T, id, from, to, subject, text string) {
		m := Mail{ID: id, From: from, To: to, Subject: subject, Text: text, Date: time.Date(2026, 9, 16, 12, 0, 0, 0, time.UTC)}
		b, err := compose(m)
		if err != nil {
			var d *Denial
			if !errors.As(err, &d) || d.Word == "mail" { // the check lets nothing through of which no mail can be made
				t.Fatalf("%+v: %v", m, err)
			}
			return
		}
		for _, address := range []string{from, to} {
			if a, err := mail.ParseAddress(address); err != nil || a.Address != address || a.Name != "" {
				t.Fatalf("%q is by net/mail %v, %v", address, a, err)
			}
			if strings.ContainsAny(address, " \t\r\n<>\",;:()[]\\\x00") || strings.Count(address, "@") != 1 {
				t.Fatalf("%q is an address", address)
			}
		}
		checkMail(t, m, b)
	})
}
