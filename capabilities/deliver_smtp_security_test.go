package capabilities

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// TestSMTPSecurity: no word of the mail or password goes to a relay that has not
// proved who it is, and what is said before that ends no delivery.
func TestSMTPSecurity(t *testing.T) {
	starttls := map[string]string{"EHLO": "250-half\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n"}
	with := func(more ...string) map[string]string {
		says := map[string]string{"EHLO": starttls["EHLO"]}
		for i := 0; i < len(more); i += 2 {
			says[more[i]] = more[i+1]
		}
		return says
	}
	for name, tt := range map[string]struct {
		says   map[string]string
		status string
		word   string
	}{
		"starttls-stripped":            {map[string]string{"EHLO": "250-half\r\n250 AUTH PLAIN\r\n"}, "", "starttls"},
		"starttls-stripped-with-ehlo":  {map[string]string{"EHLO": "502 theirs\r\n"}, "", "starttls"},
		"starttls-454":                 {with("STARTTLS", "454 theirs\r\n"), "454", "starttls"},
		"starttls-refused-by-anybody":  {with("STARTTLS", "554 theirs\r\n"), "554", "starttls"},
		"greeting-refused-by-anybody":  {with("GREET", "554 theirs\r\n"), "554", "greeting"},
		"hello-refused-by-anybody":     {with("EHLO", "550 theirs\r\n", "HELO", "550 theirs\r\n"), "550", "hello"},
		"dies-in-the-handshake":        {with("STARTTLS", "+220 go on\r\n"), "", "no_connection"},
		"hangs-in-the-handshake":       {with("STARTTLS", "220 go on\r\n", "*", " "), "", "timeout"},
		"goes-on-in-the-open":          {with("STARTTLS", "220 go on\r\n250-theirs\r\n250 AUTH PLAIN\r\n", "*", " "), "", "timeout"},
		"answers-the-handshake-openly": {with("STARTTLS", "220 go on\r\n", "*", "500 theirs\r\n"), "", "no_connection"},
	} {
		t.Run(name, func(t *testing.T) {
			h, c := newHalfRelay(t, tt.says)
			if tt.word == "timeout" {
				c.Time = 600 * time.Millisecond
			}
			c.Security, c.User, c.Password = SMTPSTARTTLS, "desk", relayPassword
			wantEnd(t, send(t, c, letter()), Later, tt.status, tt.word)
			h.mu.Lock()
			defer h.mu.Unlock()
			if said := strings.Join(h.lines, "\n"); strings.Contains(said, "AUTH") || strings.Contains(said, "MAIL") {
				t.Errorf("it went on in the open: %q", said)
			}
		})
	}
	certified := func(by *ca, template *x509.Certificate) func(*smtp.Server) {
		return func(s *smtp.Server) {
			s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{by.issue(t, template)}}
		}
	}
	old := leaf("localhost")
	old.NotAfter = time.Now().Add(-time.Minute)
	for _, security := range []string{SMTPTLS, SMTPSTARTTLS} {
		for name, change := range map[string]func(*smtp.Server){
			"by-another": certified(newCA("theirs-another"), leaf("localhost")), "of-another-name": certified(authority(), leaf("theirs.test")), "expired": certified(authority(), old),
		} {
			r, c := newRelay(t, security, change)
			c.User, c.Password = "desk", relayPassword
			a := send(t, c, letter())
			wantEnd(t, a, Later, "", "certificate")
			if len(r.users)+len(r.mails()) > 0 {
				t.Errorf("%s %s: the relay has %q, %q", security, name, r.users, r.mails())
			}
		}
		_, c := newRelay(t, security)
		c.Roots = nil // the system's
		wantEnd(t, send(t, c, letter()), Later, "", "certificate")
	}
	_, c := newRelay(t, SMTPNone)
	c.Security = SMTPTLS
	c.Time = time.Second
	if a := send(t, c, letter()); a.End != Later || a.Status != "" {
		t.Errorf("a relay without TLS: %+v", a)
	}
	_, c = newHalfRelay(t, nil)
	c.User, c.Password = "desk", relayPassword
	wantEnd(t, send(t, c, letter()), Later, "", "auth")
}

// TestSMTPConfigs: what opens, and what an operator is told of the rest.
func TestSMTPConfigs(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*SMTPConfig)
		words  string // "": it opens
	}{
		"tls":                    {func(*SMTPConfig) {}, ""},
		"starttls":               {func(c *SMTPConfig) { c.Security = SMTPSTARTTLS }, ""},
		"none-to-localhost":      {func(c *SMTPConfig) { c.Security, c.Address = SMTPNone, "localhost:25" }, ""},
		"none-to-ipv6-loopback":  {func(c *SMTPConfig) { c.Security, c.Address = SMTPNone, "[::1]:25" }, ""},
		"none-with-a-password":   {func(c *SMTPConfig) { c.Security, c.Address, c.User, c.Password = SMTPNone, "127.0.0.1:25", "u", "p" }, ""},
		"none-to-another":        {func(c *SMTPConfig) { c.Security = SMTPNone }, `use "starttls" or "tls"`},
		"none-to-a-private-one":  {func(c *SMTPConfig) { c.Security, c.Address = SMTPNone, "10.0.0.1:25" }, `use "starttls" or "tls"`},
		"none-to-a-name-like-it": {func(c *SMTPConfig) { c.Security, c.Address = SMTPNone, "localhost.example:25" }, `use "starttls" or "tls"`},
		"security-missing":       {func(c *SMTPConfig) { c.Security = "" }, `no security ""`},
		"security-misspelt":      {func(c *SMTPConfig) { c.Security = "TLS" }, `no security "TLS"`},
		"no-time":                {func(c *SMTPConfig) { c.Time = 0 }, "without time"},
		"no-port":                {func(c *SMTPConfig) { c.Address = "mail.example" }, "host:port"},
		"no-address":             {func(c *SMTPConfig) { c.Address = "" }, "host:port"},
		"port-a-name":            {func(c *SMTPConfig) { c.Address = "mail.example:smtp" }, "host:port"},
		"address-with-a-path":    {func(c *SMTPConfig) { c.Address = "mail.example:25/x" }, "host:port"},
		"address-with-a-line":    {func(c *SMTPConfig) { c.Address = "mail.example:25\r\n" }, "host:port"},
		"user-without-password":  {func(c *SMTPConfig) { c.User = "u" }, "a user needs a password"},
		"password-without-user":  {func(c *SMTPConfig) { c.Password = fetchSecret }, "a user needs a password"},
		"password-with-nul":      {func(c *SMTPConfig) { c.User, c.Password = "u", fetchSecret+"\x00" }, "holds NUL"},
		"hello-with-a-line":      {func(c *SMTPConfig) { c.Hello = "host\r\nMAIL FROM:<x>" }, "no name for a host"},
		"hello-with-a-space":     {func(c *SMTPConfig) { c.Hello = "my host" }, "no name for a host"},
		"hello-with-a-port":      {func(c *SMTPConfig) { c.Hello = "host:25" }, "no name for a host"},
	} {
		c := SMTPConfig{Name: "relay", Address: "mail.example:465", Security: SMTPTLS, Time: time.Second}
		tt.change(&c)
		_, err := OpenSMTP(c)
		if (err == nil) != (tt.words == "") || err != nil && (!strings.Contains(err.Error(), tt.words) || holdsSecret(err.Error())) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
