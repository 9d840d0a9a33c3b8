package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
	"github.com/toolhost/toolhost/server"
)

func (c *cli) converseCommand() *cobra.Command {
	var who sessionFlags
	var asJSON bool
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "converse [--session FILE | --as k=v,...] FILE|-",
		Short:                 "Answer the calls of a recorded conversation, and check its final answer",
		Long: `Reads a recorded conversation whole, and then answers each call that the model wrote in
it as "call" does: the calls are real. Shows each step: who acts, what happens, and what
each gate said. What the recording has as answers of tools is only compared with. The
final answer is checked as "reply check" does, where the session's role has a form.

stdout   each step, and at the end the verdict
exit     0 valid, or nothing to check; 1 host error, 3 rejected,
         2 when the file could not be read: then nothing ran`,
		Example: `  toolhost converse testdata/conversations/T-80001.json`,
		Args:    exactly(1, "converse takes one FILE, or - for stdin; see: toolhost converse --help"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.converse(cmd.Context(), who, args[0], asJSON)
		},
	}
	who.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: the steps and the verdict as one JSON object")
	return cmd
}

func (c *cli) converse(ctx context.Context, who sessionFlags, file string, asJSON bool) error {
	if err := c.noApprover(); err != nil {
		return err
	}
	text, err := c.readMessage(file)
	if err != nil {
		return err
	}
	conversation, unread := server.ReadConversation(text)
	s, err := c.conversationSession(who, conversation.Session, unread)
	if err != nil {
		return usage("%s: %w", inputName(file), err)
	}
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	c.warnOfAttributes(h, s)
	if unread != nil {
		recordUnread(ctx, h, s, unread)
		return usage("%s: %w", inputName(file), unread)
	}
	k := &converser{form: conversation.Form, ticket: conversation.Ticket, shown: h.Shown}
	k.trace = func(p host.Proposal) (host.Outcome, []host.Answer) { return h.Trace(ctx, s, p) }
	if h.HasForm(s.Role) {
		k.check = func(r host.Reply) host.ReplyOutcome { return h.CheckReply(s, r) }
	}
	var out []byte
	if asJSON {
		k.tell = func(step conversationStep) { out = step.appendJSON(out) }
	} else {
		fmt.Fprintf(c.stdout, "%s, %s\n\n", clean(whoAsks(s)), conversation.Form)
		k.tell = c.printStep
	}
	k.run(conversation.Turns)
	if asJSON {
		_, _ = c.stdout.Write(append(cleanJSON(k.appendJSON(out)), '\n')) // the sink remembers an error
	} else {
		c.printEnd(k, s)
	}
	if k.verdict != nil && !k.verdict.Valid {
		return &status{code: exitNo}
	}
	return nil
}

// conversationSession is who asks: from the file, or from a flag where the file
// does not say. It always is of one loop.
func (c *cli) conversationSession(who sessionFlags, session strictjson.Value, unread error) (host.Session, error) {
	var e *server.UnreadableError
	if errors.As(unread, &e) {
		session = e.Session
	}
	var s host.Session
	var err error
	switch given := session.Kind() != strictjson.Nothing; {
	case given && who.given():
		return s, errors.New("the file says who asks; give no --session and no --as")
	case given:
		s, err = flatSession(session)
	case unread != nil && !who.given():
		return s, unread
	default:
		s, err = who.read(c)
	}
	if err == nil && s.ID == "" {
		s.ID = rand.Text()
	}
	return s, err
}

// recordUnread records a message that could not be read, as answer does.
func recordUnread(ctx context.Context, h *host.Host, s host.Session, unread error) {
	var e *server.UnreadableError
	if errors.As(unread, &e) && e.Message != nil {
		h.Unreadable(ctx, s, e.Message, e.Why.Error())
	}
}
