package capabilities

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// TestSMTPDelivers: by each security, with and without a password, one recipient
// gets one mail.
func TestSMTPDelivers(t *testing.T) {
	for _, security := range []string{SMTPTLS, SMTPSTARTTLS, SMTPNone} {
		for _, user := range []string{"", "desk"} {
			t.Run(security+"-"+user, func(t *testing.T) {
				r, c := newRelay(t, security)
				if user != "" {
					c.User, c.Password = user, relayPassword
				}
				wantEnd(t, send(t, c, letter()), Delivered, "250", "")
				mails := r.mails()
				if len(mails) != 1 || mails[0].from != "desk@larkfield.example" || mails[0].to != "ann@example.org" || strings.Join(r.users, " ") != user {
					t.Fatalf("the relay has %q, of %q", mails, r.users)
				}
				want := "From: <desk@larkfield.example>\r\nTo: <ann@example.org>\r\nSubject: Your refund\r\nDate: Wed, 16 Sep 2026 10:00:00 +0000\r\nMessage-Id: <7Q3LJ2TZ@larkfield.example>\r\n" +
					"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\nAuto-Submitted: auto-generated\r\n"
				head, text, _ := strings.Cut(mails[0].text, "\r\n\r\n")
				head = strings.Replace(head+"\r\n", "Mime-Version: 1.0\r\n", "", 1)
				if head != want || text != "Dear Ann,\r\n.\r\nit is done.\r\n" {
					t.Errorf("the relay has %q\nwant %q", mails[0].text, want)
				}
			})
		}
	}
}

// TestSMTPReplies: a real server that says no at each step, in words that are
// not repeated.
func TestSMTPReplies(t *testing.T) {
	for _, verb := range []string{"MAIL", "RCPT", "DOT"} {
		for code, end := range map[int]AttemptEnd{421: Later, 450: Later, 451: Later, 452: Later, 500: Refused, 550: Refused, 552: Refused, 554: Refused} {
			r, c := newRelay(t, SMTPTLS)
			r.answers[verb] = &smtp.SMTPError{Code: code, Message: "theirs-" + relayPassword}
			wantEnd(t, send(t, c, letter()), end, fmt.Sprint(code), strings.ToLower(verb))
			if n := len(r.mails()); n > 0 {
				t.Errorf("%s %d: %d mails", verb, code, n)
			}
		}
	}
	r, c := newRelay(t, SMTPSTARTTLS)
	c.User, c.Password = "desk", "another"
	wantEnd(t, send(t, c, letter()), Refused, "535", "auth")
	r.answers["MAIL"] = errTheirs // a server's own fault, 451 by the library
	c.User, c.Password = "", ""
	wantEnd(t, send(t, c, letter()), Later, "451", "mail")
	_, c = newRelay(t, SMTPTLS, func(s *smtp.Server) { s.MaxMessageBytes = 100 })
	wantEnd(t, send(t, c, letter()), Refused, "552", "dot")
}

// halfConversations are relays that go so far and no further.
var halfConversations = map[string]struct {
	says   map[string]string
	end    AttemptEnd
	status string
	word   string
}{
	"whole": {nil, Delivered, "250", ""},

	"dies-before-the-greeting":     {map[string]string{"GREET": ""}, Later, "", "no_connection"},
	"dies-in-the-greeting":         {map[string]string{"GREET": "+220 th"}, Later, "", "no_connection"},
	"dies-after-the-greeting":      {map[string]string{"EHLO": ""}, Later, "", "no_connection"},
	"dies-after-hello":             {map[string]string{"EHLO": "+250 half\r\n"}, Later, "", "no_connection"},
	"dies-in-a-reply-of-lines":     {map[string]string{"EHLO": "+250-half\r\n250-theirs"}, Later, "", "no_connection"},
	"dies-after-mail":              {map[string]string{"MAIL": ""}, Later, "", "no_connection"},
	"dies-after-the-reply":         {map[string]string{"MAIL": "+250 ok\r\n"}, Later, "", "no_connection"},
	"dies-after-rcpt":              {map[string]string{"RCPT": ""}, Later, "", "no_connection"},
	"dies-after-data":              {map[string]string{"DATA": ""}, Later, "", "no_connection"},
	"dies-after-the-dot":           {map[string]string{"DOT": ""}, Unknown, "", "dot"},
	"dies-in-the-reply-to-it":      {map[string]string{"DOT": "+25"}, Unknown, "", "dot"},
	"dies-in-its-second-line":      {map[string]string{"DOT": "+250-theirs\r\n250"}, Unknown, "", "dot"},
	"dies-after-the-reply-to-it":   {map[string]string{"DOT": "+250 ok\r\n"}, Delivered, "250", ""},
	"reply-of-two-lines-to-it":     {map[string]string{"DOT": "250-ok\r\n250 theirs\r\n"}, Delivered, "250", ""},
	"hangs-before-the-greeting":    {map[string]string{"GREET": "-"}, Later, "", "timeout"},
	"hangs-after-hello":            {map[string]string{"EHLO": "-"}, Later, "", "timeout"},
	"hangs-after-mail":             {map[string]string{"MAIL": "-"}, Later, "", "timeout"},
	"hangs-after-rcpt":             {map[string]string{"RCPT": "-"}, Later, "", "timeout"},
	"hangs-after-data":             {map[string]string{"DATA": "-"}, Later, "", "timeout"},
	"hangs-after-the-dot":          {map[string]string{"DOT": "-"}, Unknown, "", "dot"},
	"hangs-after-quit":             {map[string]string{"QUIT": "-"}, Delivered, "250", ""},
	"dies-after-quit":              {map[string]string{"QUIT": ""}, Delivered, "250", ""},
	"refuses-to-quit":              {map[string]string{"QUIT": "500 theirs\r\n"}, Delivered, "250", ""},
	"greets-with-554":              {map[string]string{"GREET": "554 theirs\r\n"}, Refused, "554", "greeting"},
	"greets-with-421":              {map[string]string{"GREET": "+421 theirs\r\n"}, Later, "421", "greeting"},
	"greets-with-250":              {map[string]string{"GREET": "250 theirs\r\n"}, Later, "250", "greeting"},
	"hello-550":                    {map[string]string{"EHLO": "550 theirs\r\n", "HELO": "550 theirs\r\n"}, Refused, "550", "hello"},
	"hello-421-and-dies":           {map[string]string{"EHLO": "+421 theirs\r\n"}, Later, "", "no_connection"},
	"hello-421":                    {map[string]string{"EHLO": "421 theirs\r\n", "HELO": "421 theirs\r\n"}, Later, "421", "hello"},
	"knows-no-ehlo":                {map[string]string{"EHLO": "502 theirs\r\n"}, Delivered, "250", ""},
	"mail-250-of-another-kind":     {map[string]string{"MAIL": "252 theirs\r\n"}, Delivered, "250", ""},
	"rcpt-251":                     {map[string]string{"RCPT": "251 theirs\r\n"}, Delivered, "250", ""},
	"rcpt-354":                     {map[string]string{"RCPT": "354 theirs\r\n"}, Later, "354", "rcpt"},
	"rcpt-450":                     {map[string]string{"RCPT": "450 theirs\r\n"}, Later, "450", "rcpt"},
	"rcpt-550":                     {map[string]string{"RCPT": "550 theirs\r\n"}, Refused, "550", "rcpt"},
	"rcpt-550-in-lines":            {map[string]string{"RCPT": "550-theirs\r\n550-250 ok\r\n550 theirs\r\n"}, Refused, "550", "rcpt"},
	"rcpt-550-and-dies":            {map[string]string{"RCPT": "+550 theirs\r\n"}, Refused, "550", "rcpt"},
	"rcpt-999":                     {map[string]string{"RCPT": "999 theirs\r\n"}, Later, "999", "rcpt"},
	"data-250":                     {map[string]string{"DATA": "250 theirs\r\n"}, Later, "250", "data"},
	"data-451":                     {map[string]string{"DATA": "451 theirs\r\n"}, Later, "451", "data"},
	"data-554":                     {map[string]string{"DATA": "554 theirs\r\n"}, Refused, "554", "data"},
	"dot-251":                      {map[string]string{"DOT": "251 theirs\r\n"}, Delivered, "251", ""},
	"dot-354":                      {map[string]string{"DOT": "354 theirs\r\n"}, Unknown, "354", "dot"},
	"dot-421-and-dies":             {map[string]string{"DOT": "+421 theirs\r\n"}, Later, "421", "dot"},
	"dot-451":                      {map[string]string{"DOT": "451 theirs\r\n"}, Later, "451", "dot"},
	"dot-550":                      {map[string]string{"DOT": "550 theirs\r\n"}, Refused, "550", "dot"},
	"dot-no-reply-but-words":       {map[string]string{"DOT": "theirs\r\n"}, Unknown, "", "dot"},
	"speaks-another-protocol":      {map[string]string{"GREET": "HTTP/1.1 200 theirs\r\n"}, Later, "", "bad_answer"},
	"code-too-low":                 {map[string]string{"MAIL": "099 theirs\r\n"}, Later, "", "bad_answer"},
	"greets-without-end":           {map[string]string{"GREET": strings.Repeat("220-theirs\r\n", 20000)}, Later, "", "bad_answer"},
	"hello-without-end":            {map[string]string{"EHLO": strings.Repeat("250-\r\n", 40000)}, Later, "", "bad_answer"},
	"reply-to-the-dot-without-end": {map[string]string{"DOT": strings.Repeat("250-theirs\r\n", 20000)}, Unknown, "", "dot"},
	"line-without-end":             {map[string]string{"MAIL": "250 " + strings.Repeat("x", 1<<20)}, Later, "", "bad_answer"},
}

func TestSMTPHalfConversations(t *testing.T) {
	for name, tt := range halfConversations {
		t.Run(name, func(t *testing.T) {
			h, c := newHalfRelay(t, tt.says)
			if strings.HasPrefix(name, "hangs") {
				c.Time = 600 * time.Millisecond
			}
			wantEnd(t, send(t, c, letter()), tt.end, tt.status, tt.word)
			if dot := tt.end == Delivered || tt.word == "dot"; (h.dots() == 1) != dot {
				t.Errorf("%d mails came to their dot", h.dots())
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if goodBye := slices.Contains(h.lines, "QUIT"); !goodBye && (name == "whole" || name == "rcpt-550" || name == "dot-451") {
				t.Errorf("no good-bye: %q", h.lines)
			}
		})
	}
}

// TestSMTPDiesInTheBody: a relay that dies or says no in the middle of a mail has
// not taken it, whatever it says.
func TestSMTPDiesInTheBody(t *testing.T) {
	for name, tt := range map[string]struct {
		does   string
		end    AttemptEnd
		status string
		word   string
	}{
		"dies":                     {"", Later, "", "no_connection"},
		"says-552-and-dies":        {"+552 theirs\r\n", Refused, "552", "body"},
		"says-451-and-reads-on":    {"451 theirs\r\n", Later, "451", "body"},
		"says-250-before-the-dot":  {"250 theirs\r\n", Later, "250", "body"},
		"says-999-before-the-dot":  {"999 theirs\r\n", Later, "999", "body"},
		"says-what-is-no-reply":    {"theirs\r\n", Later, "", "bad_answer"},
		"begins-a-reply-and-hangs": {"250-theirs\r\n", Later, "", "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			h, c := newHalfRelay(t, map[string]string{"BODY": tt.does})
			if tt.word == "timeout" {
				c.Time = 600 * time.Millisecond
			}
			s := openSMTP(t, c)
			s.pause = c.Time // a relay on a busy machine dies slowly
			wantEnd(t, sendBy(t, s, letter()), tt.end, tt.status, tt.word)
			if n := h.dots(); n > 0 {
				t.Errorf("%d mails came to their dot", n)
			}
		})
	}
}

// TestSMTPEachByte: on a line that holds nothing back, a relay that is gone or
// silent after any byte of the mail leaves it Later; after the last one, Unknown.
func TestSMTPEachByte(t *testing.T) {
	s := openSMTP(t, SMTPConfig{Name: "relay", Address: "localhost:25", Security: SMTPNone, Time: time.Second})
	m := letter()
	text, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	whole := len(text) + len("..\r\n") // a line of one dot has two; and the dot
	var wg sync.WaitGroup
	for n := range whole + 1 {
		for _, silent := range []bool{false, true} {
			wg.Go(func() {
				ours, theirs := net.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				context.AfterFunc(ctx, func() { _ = ours.Close() })
				go takeBytes(theirs, n, func() {
					if silent {
						cancel()
					}
				})
				a := s.converse(ctx, ours, m, text)
				if want := map[bool]AttemptEnd{true: Unknown, false: Later}[n == whole]; a.End != want || a.Status != "" {
					t.Errorf("after %d of %d bytes, silent %v: %+v", n, whole, silent, a)
				}
			})
		}
	}
	wg.Wait()
}

// takeBytes is a relay that takes so many bytes of a mail.
func takeBytes(c net.Conn, n int, then func()) {
	defer c.Close()
	h := &halfRelay{}
	r := bufio.NewReader(c)
	_ = h.does(c, "GREET")
	for _, verb := range []string{"EHLO", "MAIL", "RCPT", "DATA"} {
		_, _ = r.ReadString('\n')
		_ = h.does(c, verb)
	}
	_, _ = io.CopyN(io.Discard, c, int64(n)) // r holds nothing: no byte of the mail was sent yet
	then()
}

// TestSMTPNoConnection: nothing has been said.
func TestSMTPNoConnection(t *testing.T) {
	s := newSite(t)
	l := listen(t, "127.0.0.1:0")
	c := SMTPConfig{Name: "relay", Address: "mail.example:" + portOf(l), Security: SMTPTLS, Time: time.Second, Resolver: s.names.resolver()}
	_ = l.Close()
	wantEnd(t, send(t, c, letter()), Later, "", "name")
	s.names.set("mail.example", "127.0.0.1")
	wantEnd(t, send(t, c, letter()), Later, "", "no_connection")
	for _, refused := range []string{"10.0.0.1:25", "192.0.2.1:25", "[2001:db8::1]:25", "mail.example:25", "", "[::ffff:10.0.0.1]:25"} {
		if err := onlyLoopback("tcp", refused, nil); err == nil {
			t.Errorf("%s is taken for this machine", refused)
		}
	}
	elsewhere := openSMTP(t, SMTPConfig{Name: "relay", Address: "localhost:25", Security: SMTPNone, Time: time.Second, Resolver: s.names.resolver()})
	elsewhere.host = "mail.example" // as a "localhost" that somebody has made another machine's
	s.names.set("mail.example", "10.0.0.1", "192.0.2.1")
	wantEnd(t, sendBy(t, elsewhere, letter()), Later, "", "address")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	wantEnd(t, openSMTP(t, c).Deliver(over, letter()), NotTried, "", "cancelled")
	h, c := newHalfRelay(t, nil)
	for end, verb := range map[AttemptEnd]string{Unknown: "DOT", Later: "MAIL"} {
		h.now(map[string]string{verb: "-"})
		stopped, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if a := openSMTP(t, c).Deliver(stopped, letter()); a.End != end {
			t.Errorf("stopped after %s: %+v", verb, a)
		}
		stop()
	}
}

// TestSMTPLosesNothing: tried until it is delivered, a relay that failed at each
// step has the mail once. The one end after which it may have it is not tried again.
func TestSMTPLosesNothing(t *testing.T) {
	h, c := newHalfRelay(t, nil)
	s := openSMTP(t, c)
	fails := []map[string]string{
		{"GREET": ""}, {"EHLO": "-"}, {"MAIL": "451 x\r\n"}, {"RCPT": ""}, {"RCPT": "450 x\r\n"}, {"DATA": ""}, {"DATA": "451 x\r\n"}, {"BODY": ""}, {"DOT": "+451 x\r\n"},
	}
	for i := 0; ; i++ {
		s.c.Time, s.pause = 5*time.Second, beforeDot
		h.now(map[string]string{})
		if i < len(fails) {
			h.now(fails[i])
			if fails[i]["EHLO"] != "" {
				s.c.Time = 300 * time.Millisecond
			}
			if _, dies := fails[i]["BODY"]; dies {
				s.pause = s.c.Time
			}
		}
		a := sendBy(t, s, letter())
		if a.End == Delivered && i == len(fails) {
			break
		}
		if a.End != Later {
			t.Fatalf("attempt %d: %+v", i, a)
		}
	}
	if n := h.dots(); n != 2 { // the one that was answered with 451, and the one that was taken
		t.Errorf("%d mails came to their dot", n)
	}
}

// TestSMTPBesideEachOther: attempts share nothing that a race could spoil.
func TestSMTPBesideEachOther(t *testing.T) {
	r, c := newRelay(t, SMTPSTARTTLS)
	s := openSMTP(t, c)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			m := letter()
			m.ID = fmt.Sprint("apr-", i)
			wantEnd(t, s.Deliver(t.Context(), m), Delivered, "250", "")
		})
	}
	wg.Wait()
	if n := len(r.mails()); n != 8 {
		t.Errorf("%d mails", n)
	}
}
