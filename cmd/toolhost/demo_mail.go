package main

import (
	"io"
	"net"
	"net/mail"
	"slices"
	"sync"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/toolhost/toolhost/host/config"
)

const demoMailServer = "shop"

// mailAddress is where the config sends the demo's mail: this machine itself.
func mailAddress(conf *config.Config) (string, error) {
	i := slices.IndexFunc(conf.Mails, func(m config.Mail) bool { return m.Name == demoMailServer })
	if i < 0 {
		return "", usage("there is no [mail.%s], which says where the demo's mail server listens", demoMailServer)
	}
	if host, _, err := net.SplitHostPort(conf.Mails[i].Server); err != nil || host != "127.0.0.1" {
		return "", usage("[mail.%s] leads to %s; the demo's mail server listens on 127.0.0.1 alone", demoMailServer, conf.Mails[i].Shown)
	}
	return conf.Mails[i].Server, nil
}

// A mailbox is a real SMTP server that keeps what it takes in memory.
type mailbox struct {
	mu    sync.Mutex
	mails []takenMail
}

type takenMail struct{ to, subject, id string }

// serveMail runs the mail server until stop is called.
func serveMail(address string) (box *mailbox, stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, usage("the demo's mail server cannot listen on %s: %v\nend what listens there, or name another port in [mail.%s]", address, err, demoMailServer)
	}
	box = &mailbox{}
	server := smtp.NewServer(box)
	server.Domain, server.ReadTimeout, server.WriteTimeout = "localhost", 10*time.Second, 10*time.Second
	server.MaxMessageBytes, server.MaxRecipients = 1<<20, 10
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends with Close
	}()
	return box, func() {
		_ = server.Close() // nothing is kept
		<-ended
	}, nil
}

// NewSession implements smtp.Backend.
func (b *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &mailSession{box: b}, nil }

func (b *mailbox) taken() []takenMail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.mails)
}

type mailSession struct {
	box *mailbox
	to  string
}

// Mail implements smtp.Session.
func (s *mailSession) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt implements smtp.Session.
func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

// Data implements smtp.Session.
func (s *mailSession) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, m.Body); err != nil {
		return err
	}
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.box.mails = append(s.box.mails, takenMail{s.to, m.Header.Get("Subject"), m.Header.Get("Message-Id")})
	return nil
}

// Reset implements smtp.Session.
func (s *mailSession) Reset() { s.to = "" }

// Logout implements smtp.Session.
func (s *mailSession) Logout() error { return nil }
