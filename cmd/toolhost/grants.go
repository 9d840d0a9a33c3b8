package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
)

func (c *cli) grantsCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "grants [TOOL...]",
		Short:                 "What each tool can reach, for whom and by which functions; runs no guest code",
		Long: `Loads everything, as check does, and writes a line for each thing that a tool can reach:
who may call the tool ("(directory)": it says who holds the role), the capability, the
functions that its module imports for it ("-": the gates alone look there), and what is
reached, how far. What has no line is out of reach. --json has all that decides, too.

exit     0, or 2 where the config does not load or has no such tool`,
		Example: `  toolhost grants read_file`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := c.look(cmd.Context())
			if err != nil {
				return err
			}
			defer h.Close()
			for _, name := range args {
				if !slices.Contains(h.ToolNames(), name) {
					return usage("no tool %q; there are: %s", name, strings.Join(h.ToolNames(), ", "))
				}
			}
			reports := slices.DeleteFunc(h.Reports(), func(r host.Report) bool {
				return len(args) > 0 && !slices.Contains(args, r.Name)
			})
			if asJSON {
				_, _ = c.stdout.Write(append(grantsJSON(reports), '\n')) // the sink remembers an error
				return nil
			}
			return c.printGrants(reports)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object: tools, each with its callers and grants")
	return cmd
}

func (c *cli) printGrants(reports []host.Report) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tEFFECT\tCALLED BY\tCAPABILITY\tBY\tREACHES")
	for _, r := range reports {
		head := fmt.Sprintf("%s\t%s\t%s", r.Name, r.Effect, callers(r))
		if len(r.Reaches) == 0 {
			fmt.Fprintf(w, "%s\t-\t-\tnothing\n", head)
		}
		for _, reach := range r.Reaches {
			by := reach.Capability + "\t" + cmp.Or(strings.Join(reach.By, ", "), "-")
			for _, sentence := range reach.Sentences {
				fmt.Fprintf(w, "%s\t%s\t%s\n", head, by, clean(sentence))
				head, by = "\t\t", "\t" // the next lines go on
			}
		}
	}
	return w.Flush()
}

func grantsJSON(reports []host.Report) []byte {
	b := []byte(`{"tools":[`)
	for i, r := range reports {
		if i > 0 {
			b = append(b, ',')
		}
		b = strictjson.AppendString(append(b, `{"name":`...), r.Name)
		b = strictjson.AppendString(append(b, `,"effect":`...), r.Effect)
		b = appendTexts(append(b, `,"callers":`...), r.Callers)
		b = appendTexts(append(b, `,"by_directory":`...), r.Decided)
		b = strictjson.AppendString(append(b, `,"approve":`...), r.Approve)
		b = strictjson.AppendString(append(b, `,"policy":`...), r.Policy.Resolved)
		b = append(b, `,"grants":[`...)
		for j, reach := range r.Reaches {
			if j > 0 {
				b = append(b, ',')
			}
			b = strictjson.AppendString(append(b, `{"capability":`...), reach.Capability)
			b = strictjson.AppendString(append(b, `,"kind":`...), reach.Kind)
			b = appendTexts(append(b, `,"by":`...), reach.By)
			b = appendTexts(append(b, `,"reaches":`...), reach.Sentences)
			b = append(append(b, `,"resolved":`...), reach.Resolved...)
			b = append(b, '}')
		}
		b = append(b, `]}`...)
	}
	return append(b, `]}`...)
}

func appendTexts(b []byte, texts []string) []byte {
	b = append(b, '[')
	for i, s := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = strictjson.AppendString(b, s)
	}
	return append(b, ']')
}
