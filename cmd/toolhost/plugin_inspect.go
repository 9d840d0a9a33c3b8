package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

func (c *cli) pluginInspectCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "inspect FILE.wasm",
		Short:                 "Say what a module could do, what it needs, and why it would not load; runs no guest code",
		Long: `Reads a module (FILE.wasm, or a folder that holds plugin.wasm) without a config: its size
and digest, how its memory and tables start and how far they grow, what it imports and
exports, and the section of a config that it needs, to paste. What it imports is all
that it could ever ask for; what it gets is what its grants say. Every refusal is told.

exit     0 toolhost would load it, 3 it would not, 2 no such file, or usage`,
		Example: `  toolhost plugin inspect plugins/get_order`,
		Args:    exactly(1, "plugin inspect takes one module, FILE.wasm or the folder of its plugin; see: toolhost plugin inspect --help"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.inspectModule(cmd.Context(), args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object with the same facts")
	return cmd
}

func (c *cli) inspectModule(ctx context.Context, name string, asJSON bool) error {
	r, err := host.InspectModule(ctx, c.path(name), filepath.ToSlash(name))
	if err != nil {
		return usage("plugin inspect: %s", clean(err.Error()))
	}
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			return &status{code: exitHost, err: err}
		}
		_, _ = c.stdout.Write(append(cleanJSON(line), '\n')) // the sink remembers an error
	} else {
		c.printModule(r)
	}
	if !r.Loads {
		return &status{code: exitNo, err: fmt.Errorf("%s; toolhost would not load this module", count(len(r.Refusals), "fault"))}
	}
	return nil
}

func (c *cli) printModule(r *host.ModuleReport) {
	fmt.Fprintln(c.stdout, clean(r.File))
	c.fact("size", fmt.Sprintf("%d bytes", r.Size))
	c.fact("digest", r.Digest)
	if r.Imports != nil { // it could be read
		c.fact("functions", fmt.Sprintf("%d, imports not counted", r.Functions))
		c.fact("memory", memoryTexts(r.Memory)...)
		c.fact("tables", tablesText(r.Tables))
		c.fact("imports", importTexts(r.Imports)...)
		c.fact("exports", exportTexts(r.Exports)...)
		c.fact("state", r.State.Sentences()...)
		c.fact("needs", needsText(r.Needs))
	}
	fmt.Fprintln(c.stdout)
	for _, text := range r.Refusals {
		fmt.Fprintf(c.stdout, "%s: %s\n", c.paint(c.stdout, red, "refused"), clean(text))
	}
	if r.Loads { // else there is nothing to paste yet
		for line := range strings.Lines(r.Needs.Config) {
			fmt.Fprintf(c.stdout, "  %s", line)
		}
		fmt.Fprintln(c.stdout, "\nno faults")
	}
}

func (c *cli) fact(name string, lines ...string) {
	for _, line := range lines {
		fmt.Fprintf(c.stdout, "  %-10s %s\n", name, line)
		name = ""
	}
}

func pagesText(n uint32) string {
	return fmt.Sprintf("%s (%s)", count(int(n), "page"), config.ShowSize(int64(n)<<16))
}

func memoryTexts(m *host.ModuleMemory) []string {
	if m == nil {
		return []string{"none of its own"}
	}
	out := []string{"starts with " + pagesText(m.Pages)}
	if m.MaxPages != nil {
		out[0] += fmt.Sprintf("; its own maximum is %s, and limits.memory bounds it too", pagesText(*m.MaxPages))
	} else {
		out[0] += "; no maximum of its own: limits.memory bounds it"
	}
	if m.Limit != "" {
		out = append(out, fmt.Sprintf("would not start within the default %s: set memory = %q or more in [limits]",
			config.ShowSize(config.DefaultLimits().Memory), m.Limit))
	}
	return out
}

func tablesText(tables []host.ModuleTable) string {
	var out []string
	for _, t := range tables {
		out = append(out, fmt.Sprintf("%d elements at the start, at most %d while it runs", t.Elements, t.Most))
	}
	return cmp.Or(strings.Join(out, "; "), "none")
}

func importTexts(i *host.ModuleImports) []string {
	var out []string
	if len(i.Toolhost) > 0 {
		out = append(out, "toolhost: "+strings.Join(i.Toolhost, ", "))
	}
	for _, k := range i.Capabilities {
		out = append(out, fmt.Sprintf("capability %s: %s", k.Kind, strings.Join(k.Functions, ", ")))
	}
	if n := len(i.WASI); n > 0 {
		out = append(out, fmt.Sprintf("WASI: %s (clocks, random, output; no files, no network)", count(n, "function")))
	}
	if len(i.NotOffered) > 0 {
		out = append(out, "not offered: "+othersText(i.NotOffered))
	}
	if len(out) == 0 {
		return []string{"nothing"}
	}
	return out
}

func exportTexts(e *host.ModuleExports) []string {
	var abi []string
	for _, x := range e.ABI {
		abi = append(abi, x.Name+" "+x.State)
	}
	out := []string{strings.Join(abi, ", ")}
	if len(e.Others) > 0 {
		out = append(out, "others, never called: "+othersText(e.Others))
	}
	return out
}

// maxOthers is how many foreign names a screen has room for; --json has all.
const maxOthers = 12

func othersText(list []host.ModuleOther) string {
	var out []string
	for n, o := range list {
		if n == maxOthers {
			out = append(out, fmt.Sprintf("and %d more (see --json)", len(list)-n))
			break
		}
		text := o.Shown
		if o.Kind != "function" {
			text += " (" + o.Kind + ")"
		}
		out = append(out, clean(text))
	}
	return strings.Join(out, ", ")
}

func needsText(n *host.ModuleNeeds) string {
	if len(n.Kinds) == 0 {
		return "no grant: it can ask for nothing but its arguments"
	}
	return "a grant of kind " + strings.Join(n.Kinds, ", and of kind ")
}
