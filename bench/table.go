package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// baseline is the way that the table compares with: the same guest with nothing around it.
const baseline = "stock/reused"

func find(all []figures, guest, way string) (figures, bool) {
	for _, f := range all {
		if f.Guest == guest && f.Way == way {
			return f, true
		}
	}
	return figures{}, false
}

// writeJSON writes a list of figures.
func writeJSON(w io.Writer, all []figures) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if all == nil {
		all = []figures{}
	}
	return e.Encode(all)
}

// writeText writes the machine, the table, the aims and what the rows do not say themselves.
func writeText(w io.Writer, all []figures, o options) error {
	if _, err := fmt.Fprintf(w, "%s\none caller for p50 and p99, %d side by side for calls/s; medians of %d rounds\n\n", machine(), o.callers, o.rounds); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "guest\tway\tp50\tp99\tcalls/s\tp50 to %s\n", baseline)
	for _, f := range all {
		ratio := "-"
		if base, ok := find(all, f.Guest, baseline); ok {
			ratio = fmt.Sprintf("%.2f", float64(f.P50)/float64(base.P50))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.0f\t%s\n", f.Guest, f.Way, short(f.P50), short(f.P99), f.Calls, ratio)
	}
	fmt.Fprintf(t, "\naim\tmeasured\twanted\t\n")
	for _, a := range aims() {
		fmt.Fprintf(t, "%s\n", a.line(all))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, notes)
	return err
}

const notes = `
process/grpc asks the row back from the host through go-plugin's broker. In process/stdio-mcp it is local to the server: MCP has no request for it.
The extism rows run guests of Extism's own ABI, and every other row of a guest the same module. README.md says what each row does.
`

// short is a time to three digits or so.
func short(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f us", float64(ns)/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f us", float64(ns)/1e3)
	default:
		return fmt.Sprintf("%.2f ms", float64(ns)/1e6)
	}
}
