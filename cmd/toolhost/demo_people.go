package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// The demo's people: after the models have proposed, they say yes and no. Their
// tokens are made anew at each run, and lie in var/keys beside the hashes, where no
// real token would: so that "approvals approve" can be tried by hand.

const tokenFile = ".token"

// writeToken makes a token for a person of [approvers].
func writeToken(folder string, a config.Approver) error {
	if filepath.Dir(a.File) != filepath.Join(folder, "keys") {
		return fmt.Errorf("[approvers] %s: %s lies outside var/keys, where the demo does not write", a.Subject, a.Shown)
	}
	if err := os.MkdirAll(filepath.Dir(a.File), 0o700); err != nil {
		return err
	}
	token, hash := newToken()
	if err := os.WriteFile(a.File, []byte(hash+"\n"), 0o600); err != nil {
		return err
	}
	return os.WriteFile(a.File+tokenFile, []byte(token+"\n"), 0o600)
}

// person proves who somebody of the demo is.
func (c *cli) person(h *host.Host, name string) (host.Approver, error) {
	token, err := os.ReadFile(c.path("var/keys/" + name + ".sha256" + tokenFile))
	if err != nil {
		return host.Approver{}, err
	}
	return h.Approver(string(token[:len(token)-1]))
}

// A scene is one write that a model proposes, and what a person makes of it.
type scene struct {
	tells   string
	session host.Session
	tool    string
	args    string
	by      string // who decides
	yes     bool
}

func demoScenes() []scene {
	sam := host.Session{Subject: "usr-sam", Tenant: "larkfield", Role: "staff", Attributes: map[string]string{"ticket": "T-24011", "customer": "C-31186"}}
	camille := host.Session{Subject: "E001", Role: "employee", Attributes: map[string]string{}}
	return []scene{
		{
			"an attachment has ordered a refund; every gate lets it pass, and a person does not",
			sam, "issue_refund", `{"order_id":"LK-702219","amount":89.00,"reason":"The note in the attached file asks for it."}`, "usr-grace", false,
		},
		{"a label for a chair that arrived broken", sam, "create_return_label", `{"order_id":"LK-702219"}`, "usr-grace", true},
		{
			"the customer is written to, at the address of their account and no other", sam, "send_email",
			`{"to":"nadia.okafor@example.net","subject":"Your chair","body":"Hello,\na label for the broken chair is on its way.\n"}`, "usr-grace", true,
		},
		{"who asks for leave confirms it, and the service is told", camille, "creer_demande_conges", `{"employe_id":"E001","date_debut":"2026-10-20","date_fin":"2026-10-21","type_conge":"rtt"}`, "E001", true},
		{"a colleague's leave: the service refuses it, and the model hears that", camille, "creer_demande_conges", `{"employe_id":"E002","date_debut":"2026-10-20","date_fin":"2026-10-21","type_conge":"rtt"}`, "E001", true},
		{"who asked to call leave off thinks better of it", camille, "annuler_demande", `{"demande_id":"D0001"}`, "E001", false},
	}
}

// peopleDecide plays the scenes, and shows what has changed.
func (c *cli) peopleDecide(ctx context.Context, h *host.Host, box *mailbox) error {
	fmt.Fprintf(c.stdout, "a person decides\n\n")
	for _, s := range demoScenes() {
		if err := c.play(ctx, h, s); err != nil {
			return &status{code: exitHost, err: fmt.Errorf("%s: %w", s.tool, err)}
		}
	}
	for _, m := range box.taken() {
		fmt.Fprintf(c.stdout, "the mail server has %q for %s, %s\n\n", m.subject, clean(m.to), clean(m.id))
	}
	fmt.Fprintln(c.stdout, "what has changed")
	if err := c.changes(ctx, h, false); err != nil {
		return err
	}
	fmt.Fprintln(c.stdout)
	return nil
}

func (c *cli) play(ctx context.Context, h *host.Host, s scene) error {
	fmt.Fprintf(c.stdout, "%s\n\n", s.tells)
	o := h.Call(ctx, s.session, host.Proposal{Tool: s.tool, Arguments: []byte(s.args)})
	if o.State != host.Pending {
		return fmt.Errorf("%s: %s", o.Line(), o.Reason)
	}
	a, err := h.Approval(ctx, o.Approval)
	if err != nil {
		return err
	}
	c.printApproval(a)
	who, err := c.person(h, s.by)
	if err != nil {
		return err
	}
	if s.yes {
		o, _ = h.Approve(ctx, who, a.ID, a.Digest)
		fmt.Fprintf(c.stdout, "\n  %s approves: %s\n", s.by, clean(o.Line()))
	} else {
		o = h.Deny(ctx, who, a.ID, a.Digest)
		fmt.Fprintf(c.stdout, "\n  %s says no: %s\n", s.by, clean(o.Line()))
	}
	if o.State != host.OK {
		return fmt.Errorf("%s: %s", o.Line(), o.Reason)
	}
	if err := h.DeliverDue(ctx, func(d host.Delivered) { fmt.Fprintf(c.stdout, "  delivery: %s %s\n", d.State, clean(d.Status)) }); err != nil {
		return err
	}
	told := h.Call(ctx, s.session, host.Proposal{Tool: host.StatusTool, Arguments: []byte(`{"approval":"` + a.ID + `"}`)})
	fmt.Fprintf(c.stdout, "  the model asks, and hears %s\n\n", clean(string(told.Result)))
	return nil
}
