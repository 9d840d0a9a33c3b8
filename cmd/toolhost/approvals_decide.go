package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/state"
)

func (c *cli) approvalsApproveCommand() *cobra.Command {
	digest := ""
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "approve ID [--digest sha256:...]",
		Short:                 "Show all of it, ask, and do it",
		Long: `Shows all that the write does and asks; only "yes" approves. With --digest, as show
printed it, it does not ask. Every gate is asked again with the data of now. What comes
out otherwise than it was shown is not done: with other facts it waits again. Who you
are is told by your token in TOOLHOST_APPROVER_TOKEN.

stdout   the write, and what its tool gave
stderr   the outcome, e.g. "ok" or "refused: not_allowed (approval)"
exit     0 done, 1 host error, 2 usage or config, 3 refused or not "yes", 4 failed`,
		Example: `  toolhost approvals approve 7Q2M`,
		Args:    exactly(1, "approvals approve takes the ID of an approval; see: toolhost approvals list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withHost(cmd.Context(), func(h *host.Host) error { return c.approve(cmd.Context(), h, args[0], digest) })
		},
	}
	cmd.Flags().StringVar(&digest, "digest", "", "`DIGEST` of what was shown; approves it without asking")
	return cmd
}

// approver tells who the token of the environment is of.
func (c *cli) approver(h *host.Host) (host.Approver, error) {
	token, _ := c.env(tokenVariable)
	if token == "" {
		return host.Approver{}, usage("who approves? Put your token into %s; toolhost approvals token NAME makes one, and an operator puts its line into [approvers]", tokenVariable)
	}
	who, err := h.Approver(token)
	if err != nil {
		return who, &status{code: exitNo, err: err}
	}
	return who, nil
}

func (c *cli) approve(ctx context.Context, h *host.Host, id, digest string) error {
	who, err := c.approver(h)
	if err != nil {
		return err
	}
	a, err := c.approval(ctx, h, id)
	if err != nil {
		return err
	}
	if h.MayApprove(ctx, who, a.ID) != nil {
		o, _ := h.Approve(ctx, who, a.ID, "") // refuses, and records it
		c.printOutcome(h, host.Proposal{Tool: a.Tool}, o)
		return statusOf(o)
	}
	c.printApproval(a)
	if digest == "" && a.Waits() && a.Broken == "" {
		fmt.Fprintf(c.stdout, "\nApprove this write as %s? Only \"yes\" approves: ", clean(who.Subject()))
		answer, err := bufio.NewReader(io.LimitReader(c.stdin, 1<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return &status{code: exitHost, err: err}
		}
		fmt.Fprintln(c.stdout)
		if strings.TrimRight(answer, "\r\n") != "yes" {
			return &status{code: exitNo, err: fmt.Errorf("not approved; it still waits. To refuse it: toolhost approvals deny %s", a.ID)}
		}
		digest = a.Digest
	}
	o, answers := h.Approve(ctx, who, a.ID, digest)
	if len(answers) > 0 {
		fmt.Fprintln(c.stdout)
		c.printAnswers(answers, false, false)
	}
	c.printOutcome(h, host.Proposal{Tool: a.Tool}, o)
	if o.State == host.OK {
		fmt.Fprintf(c.stdout, "  the tool    %s\n", clean(string(o.Result)))
	} else {
		c.printNow(ctx, h, a.ID)
	}
	return statusOf(o)
}

// printNow says what has become of an approval that was not carried out.
func (c *cli) printNow(ctx context.Context, h *host.Host, id string) {
	a, err := h.Approval(ctx, id)
	if err != nil {
		return // what kept it from being carried out is told
	}
	now := string(a.State)
	switch a.State {
	case state.Waiting:
		now = "it still waits, and shows what is so now; look, and approve it again or deny it"
	case state.Failed:
		now = "it has failed; the model can propose it again"
	case state.Unknown:
		now = "nobody knows whether it was done; look for " + a.ID + " in " + a.Shown.Table
	default:
	}
	fmt.Fprintf(c.stderr, "  %s\n", clean(now))
}

func (c *cli) approvalsDenyCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "deny ID",
		Short:                 "Say no: nothing is written, and the model is told so",
		Long: `Ends what waits. Who may approve may deny, and so may who asked for it.

exit     0 denied, 1 host error, 2 usage or config, 3 refused`,
		Example: `  toolhost approvals deny 7Q2M`,
		Args:    exactly(1, "approvals deny takes the ID of an approval; see: toolhost approvals list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withHost(cmd.Context(), func(h *host.Host) error {
				who, err := c.approver(h)
				if err != nil {
					return err
				}
				a, err := c.approval(cmd.Context(), h, args[0])
				if err != nil {
					return err
				}
				o := h.Deny(cmd.Context(), who, a.ID, a.Digest)
				if o.State != host.OK {
					c.printOutcome(h, host.Proposal{Tool: a.Tool}, o)
					return statusOf(o)
				}
				fmt.Fprintf(c.stdout, "denied %s: %s %s, asked by %s; nothing was written\n", clean(a.ID), clean(a.Tool), clean(brief(a)), clean(askedBy(a)))
				return nil
			})
		},
	}
}

func (c *cli) approvalsTokenCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "token NAME",
		Short:                 "Make a token for somebody who approves, and its line for [approvers]",
		Long: `Prints a new token on stdout, for that person alone to keep, and on stderr the line of
[approvers] that knows it by its hash. Nothing is stored.`,
		Example: `  toolhost approvals token usr-grace`,
		Args:    exactly(1, "approvals token takes the subject of the person, as the directory has it"),
		RunE: func(_ *cobra.Command, args []string) error {
			token, hash := newToken()
			fmt.Fprintf(c.stderr, "%q = %q\n", args[0], hash)
			fmt.Fprintln(c.stdout, token)
			return nil
		},
	}
}

// newToken makes a token of 128 bits, and its hash as [approvers] has it.
func newToken() (token, hash string) {
	token = rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, "sha256:" + hex.EncodeToString(sum[:])
}
