package capabilities

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/smtp"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/stricturl"
)

// A delivery by e-mail is one conversation with the relay that the config names,
// on a connection of its own (RFC 5321).
//
//   - The first digit of a reply decides (section 4.2.1): 4 is Later, 5 is Refused.
//     A reply before the TLS that the config asks for is nobody's: never Refused.
//   - Until the line with the one dot is sent whole nothing is taken (section
//     4.1.1.4), and what ends the conversation is Later. After it only a reply tells;
//     without one the mail may be on its way, and is Unknown.
//   - Of a reply we use the code. Its text is read within a bound and dropped.

// The values of SMTPConfig.Security.
const (
	SMTPTLS      = "tls"      // from the first byte, as on port 465
	SMTPSTARTTLS = "starttls" // asked for before anything else, and never done without
	SMTPNone     = "none"     // none, to this machine alone
)

// SMTPConfig is what the config says of one relay.
type SMTPConfig struct {
	Name           string
	Address        string // host:port
	Security       string
	User, Password string         // both or neither
	Roots          *x509.CertPool // nil: the system's
	Time           time.Duration  // of one attempt, from the resolver's first to the last reply
	Hello          string         // the name that the host gives itself; "": the machine's
	Resolver       *net.Resolver  // nil: the system's
}

// SMTP delivers to one relay. It keeps nothing between attempts.
type SMTP struct {
	c      SMTPConfig
	host   string
	port   uint16
	dialer net.Dialer
	pause  time.Duration // see beforeDot
}

const (
	maxReplies = 128 << 10             // bytes that a relay may send in one attempt, TLS included
	quitTime   = time.Second           // for good-bye, which changes nothing
	beforeDot  = 10 * time.Millisecond // for a relay that dies or says no before the dot
	notSentYet = 999                   // no code of a reply (RFC 5321, section 4.2)
)

// OpenSMTP checks a config. Nothing is dialled.
func OpenSMTP(c SMTPConfig) (*SMTP, error) {
	_, _, err := net.SplitHostPort(c.Address)
	u, strange := stricturl.Parse("https://" + c.Address + "/")
	if err != nil || strange != nil || u.Path != "/" {
		return nil, fmt.Errorf("%q is no address of a relay; write host:port, as in mail.example.org:465", c.Address)
	}
	if c.Hello == "" {
		c.Hello = machineName()
	}
	switch {
	case !isHost(c.Hello):
		return nil, fmt.Errorf("%q is no name for a host to give itself", c.Hello)
	case c.Time <= 0:
		return nil, errors.New("an attempt without time delivers nothing")
	case (c.User == "") != (c.Password == ""):
		return nil, errors.New("a user needs a password, and a password a user")
	case strings.ContainsAny(c.User+c.Password, "\x00\r\n"):
		return nil, errors.New("the user or the password holds NUL or a line break")
	}
	s := &SMTP{c: c, host: u.Host, port: u.Port, dialer: net.Dialer{Resolver: c.Resolver}, pause: beforeDot}
	switch c.Security {
	case SMTPTLS, SMTPSTARTTLS:
	case SMTPNone:
		if u.Host != "localhost" && u.Host != "127.0.0.1" && u.Host != "::1" {
			return nil, fmt.Errorf("%q would get mails in the open: security = %q is for a relay on this machine (localhost, 127.0.0.1, [::1]); use %q or %q", c.Address, SMTPNone, SMTPSTARTTLS, SMTPTLS)
		}
		s.dialer.Control = onlyLoopback
	default:
		return nil, fmt.Errorf("no security %q; known here: %q, %q, %q", c.Security, SMTPTLS, SMTPSTARTTLS, SMTPNone)
	}
	return s, nil
}

// machineName is the machine's own name where it is one, as some relays hang up
// at "localhost".
func machineName() string {
	if name, err := os.Hostname(); err == nil && isHost(strings.ToLower(name)) {
		return strings.ToLower(name)
	}
	return "localhost"
}

func isHost(text string) bool {
	u, err := stricturl.Parse("https://" + text + "/")
	return err == nil && u.Host == text
}

// onlyLoopback holds the address that is dialled against what "localhost" promises.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	if dialled, err := netip.ParseAddrPort(address); err != nil || !dialled.Addr().IsLoopback() {
		return fmt.Errorf("%w: %q is not this machine", errAddress, address)
	}
	return nil
}

// Deliver composes a mail and makes one attempt.
func (s *SMTP) Deliver(ctx context.Context, m Mail) Attempt {
	text, err := compose(m)
	var no *Denial
	switch {
	case errors.As(err, &no):
		return because(Refused, no)
	case err != nil:
		return because(NotTried, &Denial{"host", plainError(err)})
	case ctx.Err() != nil:
		return because(NotTried, &Denial{"cancelled", "the host stops"})
	}
	ctx, cancel := context.WithTimeout(ctx, s.c.Time)
	defer cancel()
	raw, err := s.dial(ctx)
	if err != nil {
		return because(Later, unheard(ctx, err))
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // whatever it waits for, it waits no longer
	defer stop()
	defer func() { _ = raw.Close() }()
	return s.converse(ctx, &boundedConn{Conn: raw, left: maxReplies}, m, text)
}

func (s *SMTP) dial(ctx context.Context) (net.Conn, error) {
	host := s.host
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ".") {
		host += "." // the whole name: no search domain is put behind it
	}
	return s.dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(s.port))))
}

// converse is the conversation.
func (s *SMTP) converse(ctx context.Context, conn net.Conn, m Mail, text []byte) Attempt {
	c, step, err := s.begin(conn)
	if err != nil {
		return s.ended(ctx, step, err)
	}
	for _, step := range []struct {
		word   string
		expect int // the first digit of the reply, or the whole
		line   string
	}{{"mail", 2, "MAIL FROM:<" + m.From + ">"}, {"rcpt", 2, "RCPT TO:<" + m.To + ">"}, {"data", 354, "DATA"}} {
		if err := command(c, step.expect, step.line); err != nil {
			quit(conn, c)
			return s.ended(ctx, step.word, err)
		}
	}
	if err := s.sendWhole(conn, c, text); err != nil {
		return s.ended(ctx, "body", err) // without good-bye: net/textproto would send the dot before it
	}
	code, _, err := c.Text.ReadResponse(0)
	if err != nil {
		return because(Unknown, &Denial{"dot", "the mail was sent whole, and then: " + unheard(ctx, err).Text})
	}
	quit(conn, c)
	return settled(code)
}

// sendWhole sends the mail and the dot. With an error the dot was not sent whole.
func (s *SMTP) sendWhole(conn net.Conn, c *smtp.Client, text []byte) error {
	w := c.Text.DotWriter() // ends lines with CRLF and doubles a dot that begins one
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := c.Text.W.Flush(); err != nil {
		return err
	}
	// A relay that has had enough says so, or is gone: then the dot is not sent. A
	// word that comes before it is also none that could be the reply to it.
	_ = conn.SetReadDeadline(time.Now().Add(s.pause))
	_, err := c.Text.R.Peek(1)
	_ = conn.SetReadDeadline(time.Time{})
	var network net.Error
	switch {
	case err == nil:
		if _, _, err = c.Text.ReadResponse(notSentYet); err == nil {
			err = &textproto.Error{Code: notSentYet}
		}
		return err
	case !errors.As(err, &network) || !network.Timeout():
		return err
	}
	return w.Close()
}

// The steps of a conversation before the mail itself.
const (
	stepGreeting = "greeting"
	stepHello    = "hello"
	stepSTARTTLS = "starttls"
	stepAuth     = "auth"
)

// begin says who is there, with TLS and a password where the config has them. It
// gives the step that it came to.
func (s *SMTP) begin(conn net.Conn) (*smtp.Client, string, error) {
	secure := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.host, RootCAs: s.c.Roots}
	if s.c.Security == SMTPTLS {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, s.host)
	if err != nil {
		return nil, stepGreeting, err
	}
	if err := c.Hello(s.c.Hello); err != nil {
		return nil, stepHello, err
	}
	if s.c.Security == SMTPSTARTTLS {
		if offered, _ := c.Extension("STARTTLS"); !offered {
			return nil, stepSTARTTLS, &Denial{"starttls", "the relay does not offer STARTTLS, or somebody on the way takes it out"}
		}
		if err := c.StartTLS(secure); err != nil {
			return nil, stepSTARTTLS, err
		}
	}
	if s.c.User == "" {
		return c, "", nil
	}
	if _, mechanisms := c.Extension("AUTH"); !strings.Contains(" "+strings.ToUpper(mechanisms)+" ", " PLAIN ") {
		return nil, stepAuth, &Denial{"auth", "the relay does not offer AUTH PLAIN"}
	}
	return c, stepAuth, c.Auth(smtp.PlainAuth("", s.c.User, s.c.Password, s.host))
}

// command sends a line and holds the reply against what is expected.
func command(c *smtp.Client, expect int, line string) error {
	id, err := c.Text.Cmd("%s", line)
	if err != nil {
		return err
	}
	c.Text.StartResponse(id)
	defer c.Text.EndResponse(id)
	_, _, err = c.Text.ReadResponse(expect)
	return err
}

// quit says good-bye; the relay need not answer.
func quit(conn net.Conn, c *smtp.Client) {
	_ = conn.SetDeadline(time.Now().Add(quitTime))
	_ = c.Quit()
}

// ended sorts what ended a conversation before the dot.
func (s *SMTP) ended(ctx context.Context, step string, err error) Attempt {
	var reply *textproto.Error
	if !errors.As(err, &reply) {
		d := unheard(ctx, err)
		text := "at " + step + ": " + d.Text
		if step == stepHello && errors.Is(err, io.EOF) { // the answer to EHLO is gone: net/smtp has tried HELO after it
			text += "; perhaps the relay does not take the name " + s.c.Hello
		}
		return because(Later, &Denial{d.Word, text})
	}
	a := replied(step, reply.Code)
	if s.c.Security == SMTPSTARTTLS && (step == stepGreeting || step == stepHello || step == stepSTARTTLS) {
		a.End = Later
	}
	return a
}

// replied is a reply that was not the one to go on with.
func replied(step string, code int) Attempt {
	a := Attempt{End: Later, Status: strconv.Itoa(code), Reason: step + ": the relay answers " + strconv.Itoa(code)}
	if code >= 500 && code <= 599 {
		a.End = Refused
	}
	return a
}

// settled is what the reply to the whole mail means.
func settled(code int) Attempt {
	switch code / 100 {
	case 2:
		return Attempt{End: Delivered, Status: strconv.Itoa(code)}
	case 4, 5:
		return replied("dot", code)
	default: // no reply to this; the mail may be taken all the same
		a := replied("dot", code)
		a.End = Unknown
		return a
	}
}

// unheard says why there is no reply, in our own words or the system's.
func unheard(ctx context.Context, err error) *Denial {
	var d *Denial
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	var record tls.RecordHeaderError
	var operation *net.OpError
	switch {
	case errors.As(err, &d):
		return d
	case errors.Is(err, errAddress):
		return &Denial{"address", plainError(err)}
	case errors.As(err, &certificate):
		return &Denial{"certificate", certificateFault(err)}
	case errors.Is(ctx.Err(), context.Canceled):
		return &Denial{"cancelled", "the host stops"}
	case ctx.Err() != nil:
		return &Denial{"timeout", "the relay took too long"}
	case errors.As(err, &name):
		return &Denial{"name", plainError(err)}
	case errors.As(err, &record):
		return &Denial{"no_connection", "the relay does not speak TLS here"}
	case errors.As(err, &operation):
		return &Denial{"no_connection", plainError(err)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Denial{"no_connection", "the connection ended"}
	}
	return &Denial{"bad_answer", "the relay says what is no reply, or too much"} // others quote it
}

var errTooMuch = errors.New("more than a relay may send")

// A boundedConn reads so much and no more: replies have no end of their own.
type boundedConn struct {
	net.Conn
	left int
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
