package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/server"
)

func (c *cli) answerCommand() *cobra.Command {
	var who sessionFlags
	var format string
	cmd := &cobra.Command{
		Use:                   "answer --format FORMAT (--session FILE | --as k=v,...) [FILE|-]",
		DisableFlagsInUseLine: true,
		Short:                 "Answer the tool calls of a provider's assistant message",
		Long: `Reads an assistant message as the provider's API returned it (from stdin, or FILE):
the message, the whole response, or the chunks of a stream. Decides each call in it.

stdout   what to append after that message, ids matched, one line of JSON
stderr   one line for each call, e.g. "get_order: refused: other_customer (caller)"
exit     0 when every call was answered, 1 host error,
         2 when the message could not be read: then nothing ran`,
		Example: `  toolhost answer --format openai --as role=customer,tenant=larkfield,customer=C-81265 <message.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("answer takes one FILE, or - for stdin; see: toolhost answer --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			form, ok := server.FormNamed(format, server.CallForms())
			if !ok {
				return usage("--format %q: answer knows %s", format, server.FormNames(server.CallForms()))
			}
			return c.answer(cmd.Context(), who, form, append(args, "-")[0])
		},
	}
	who.add(cmd)
	cmd.Flags().StringVar(&format, "format", "", "the provider's API that the message is from: openai, anthropic or gemini")
	completeForms(cmd, server.CallForms())
	return cmd
}

func (c *cli) answer(ctx context.Context, who sessionFlags, form server.Form, file string) error {
	if err := c.noApprover(); err != nil {
		return err
	}
	s, err := who.read(c)
	if err != nil {
		return err
	}
	message, err := c.readMessage(file)
	if err != nil {
		return err
	}
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	c.warnOfAttributes(h, s)
	// The whole message is read before anything of it runs.
	calls, err := form.Calls(message)
	if err != nil {
		if !errors.Is(err, server.ErrNoCalls) {
			h.Unreadable(ctx, s, message, err.Error())
		}
		return usage("%s: %w", inputName(file), err)
	}
	var outcomes []host.Outcome
	for _, call := range calls {
		o := h.Call(ctx, s, host.Proposal{Tool: call.Tool, Arguments: call.Arguments})
		outcomes = append(outcomes, o)
		fmt.Fprintf(c.stderr, "%s: %s\n", clean(o.Tool), c.paintState(o.State, clean(o.Line())))
	}
	_, _ = c.stdout.Write(append(form.Answer(calls, outcomes), '\n')) // the sink remembers an error
	return nil
}

// readMessage reads one byte more than a message may have, so that a longer one
// is refused and not cut.
func (c *cli) readMessage(file string) ([]byte, error) {
	in := c.stdin
	if file != "-" {
		f, err := os.Open(c.path(file))
		if err != nil {
			return nil, usageOf(err)
		}
		defer f.Close()
		in = f
	}
	message, err := io.ReadAll(io.LimitReader(in, server.MaxFormMessage+1))
	if err != nil {
		return nil, &status{code: exitHost, err: fmt.Errorf("%s: %w", inputName(file), err)}
	}
	return message, nil
}

func inputName(file string) string {
	if file == "-" {
		return "stdin"
	}
	return file
}

func completeForms(cmd *cobra.Command, forms []server.Form) {
	var names []string
	for _, f := range forms {
		names = append(names, string(f))
	}
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
}
