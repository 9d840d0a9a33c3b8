package main

import "github.com/spf13/cobra"

func (c *cli) auditCheckpointCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "checkpoint",
		Short:                 "Sign what the log holds now and print it, to be kept elsewhere",
		Long: `Prints a signed checkpoint of all that the log holds. Kept where nobody who can
write to the log can, it shows later that nothing before it was changed or cut.`,
		Example: `  toolhost audit checkpoint > kept.txt && toolhost audit verify --checkpoint kept.txt`,
		Args:    exactly(0, "audit checkpoint takes no argument; see: toolhost audit checkpoint --help"),
		RunE: func(*cobra.Command, []string) error {
			l, _, done, err := c.openLog()
			if err != nil {
				return err
			}
			defer done()
			note, err := l.Checkpoint()
			if err != nil {
				return &status{code: exitHost, err: err}
			}
			_, _ = c.stdout.Write(note) // the sink remembers an error
			return nil
		},
	}
}
