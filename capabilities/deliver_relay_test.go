package capabilities

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

const relayPassword = fetchSecret // so that what holds it is found

// A relay is a real SMTP server, which keeps what it takes.
type relay struct {
	mu      sync.Mutex
	users   []string
	taken   []taken
	answers map[string]error // by verb: what it says instead of yes
}

type taken struct {
	from, to string
	text     string // as it came, with CRLF and without the dots of the protocol
}

func (r *relay) answer(verb string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers[verb]
}

func (r *relay) mails() []taken {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

func (r *relay) NewSession(*smtp.Conn) (smtp.Session, error) {
	return &relaySession{r: r}, r.answer("EHLO")
}

type relaySession struct {
	r    *relay
	from string
	to   []string
}

func (s *relaySession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *relaySession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.r.mu.Lock()
		s.r.users = append(s.r.users, user)
		s.r.mu.Unlock()
		if password != relayPassword {
			return &smtp.SMTPError{Code: 535, Message: "theirs-" + password}
		}
		return nil
	}), nil
}

func (s *relaySession) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return s.r.answer("MAIL")
}

func (s *relaySession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return s.r.answer("RCPT")
}

func (s *relaySession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.r.answer("DOT"); err != nil {
		return err
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	for _, to := range s.to {
		s.r.taken = append(s.r.taken, taken{s.from, to, string(text)})
	}
	return nil
}

func (s *relaySession) Reset()        {}
func (s *relaySession) Logout() error { return nil }

// newRelay starts a relay on loopback and gives its config.
func newRelay(t testing.TB, security string, change ...func(*smtp.Server)) (*relay, SMTPConfig) {
	t.Helper()
	r := &relay{answers: map[string]error{}}
	server := smtp.NewServer(r)
	server.Domain, server.ErrorLog = "localhost", log.New(io.Discard, "", 0)
	server.AllowInsecureAuth = security == SMTPNone
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{authority().issue(t, leaf("localhost"))}}
	if security == SMTPNone {
		server.TLSConfig = nil
	}
	for _, c := range change {
		c(server)
	}
	l := listen(t, "127.0.0.1:0")
	address := "localhost:" + portOf(l)
	if security == SMTPTLS {
		l = tls.NewListener(l, server.TLSConfig)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return r, SMTPConfig{Name: "relay", Address: address, Security: security, Roots: authority().pool, Time: 5 * time.Second, Hello: "host.example"}
}

// A halfRelay speaks by a script and dies or falls silent in it. What it says to
// a verb stands in says; "" closes the connection there, "-" says no more, "+"
// closes after the rest; "*" is any other verb. GREET is its first word, BODY what it does when the first
// line of the mail came, DOT what it says to the whole.
type halfRelay struct {
	says  map[string]string
	mu    sync.Mutex
	lines []string
	whole int // mails that came to their dot
}

// now changes the script.
func (h *halfRelay) now(says map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.says = says
}

// dots is how many mails came to their dot.
func (h *halfRelay) dots() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.whole
}

func (h *halfRelay) say(verb string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text, given := h.says[verb]; given {
		return text
	}
	if text, given := h.says["*"]; given && !slices.Contains([]string{"GREET", "EHLO", "HELO", "MAIL", "RCPT", "DATA", "BODY", "DOT", "QUIT"}, verb) {
		return text
	}
	return map[string]string{"GREET": "220 half\r\n", "EHLO": "250 half\r\n", "HELO": "250 half\r\n", "DATA": "354 go on\r\n", "QUIT": "+221 bye\r\n", "BODY": " "}[verb] + map[bool]string{true: "250 ok\r\n"}[verb == "MAIL" || verb == "RCPT" || verb == "DOT"]
}

// does carries out what is said to a verb; false ends the connection.
func (h *halfRelay) does(c net.Conn, verb string) bool {
	text := h.say(verb)
	switch {
	case text == "":
		return false
	case text == " ":
		return true
	case text == "-":
		_, _ = io.Copy(io.Discard, c)
		return false
	case strings.HasPrefix(text, "+"):
		_, _ = io.WriteString(c, text[1:])
		return false
	}
	_, err := io.WriteString(c, text)
	return err == nil
}

func (h *halfRelay) serve(c net.Conn) {
	if !h.does(c, "GREET") {
		return
	}
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		h.mu.Lock()
		h.lines = append(h.lines, strings.TrimSpace(line))
		h.mu.Unlock()
		if !h.does(c, verb) {
			return
		}
		if verb == "DATA" && strings.HasPrefix(h.say("DATA"), "354") && !h.body(c, r) {
			return
		}
	}
}

func (h *halfRelay) body(c net.Conn, r *bufio.Reader) bool {
	for n := 0; ; n++ {
		line, err := r.ReadString('\n')
		if err != nil || n == 0 && !h.does(c, "BODY") {
			return false
		}
		if line == ".\r\n" {
			h.mu.Lock()
			h.whole++
			h.mu.Unlock()
			return h.does(c, "DOT")
		}
	}
}

func newHalfRelay(t testing.TB, says map[string]string) (*halfRelay, SMTPConfig) {
	t.Helper()
	h := &halfRelay{says: says}
	l := listen(t, "127.0.0.1:0")
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	serveConns(l, func(c net.Conn) {
		done := make(chan struct{})
		defer close(done)
		go func() {
			select {
			case <-ended:
			case <-done:
			}
			_ = c.Close()
		}()
		h.serve(c)
	})
	return h, SMTPConfig{Name: "relay", Address: "127.0.0.1:" + portOf(l), Security: SMTPNone, Roots: authority().pool, Time: 5 * time.Second}
}

func openSMTP(t testing.TB, c SMTPConfig) *SMTP {
	t.Helper()
	s, err := OpenSMTP(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func letter() Mail {
	return Mail{
		ID: "7Q3LJ2TZ", From: "desk@larkfield.example", To: "ann@example.org", Subject: "Your refund", Text: "Dear Ann,\n.\nit is done.\n",
		Date: time.Date(2026, 9, 16, 12, 0, 0, 0, time.FixedZone("", 2*3600)),
	}
}

// send makes one attempt, of which no password comes to what an operator is told.
func send(t testing.TB, c SMTPConfig, m Mail) Attempt {
	t.Helper()
	return sendBy(t, openSMTP(t, c), m)
}

func sendBy(t testing.TB, s *SMTP, m Mail) Attempt {
	t.Helper()
	start := time.Now()
	a := s.Deliver(t.Context(), m)
	if holdsSecret(a.Reason) || holdsSecret(a.Status) {
		t.Errorf("the attempt holds the password: %+v", a)
	}
	if d := time.Since(start); d > s.c.Time+2*quitTime {
		t.Errorf("it took %v", d)
	}
	return a
}

var errTheirs = errors.New("theirs-")
