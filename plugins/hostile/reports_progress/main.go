// reports_progress says how far it is, more often than it gets on, and takes its time. Its progress
// also goes back and over the end: a client must not be confused by that.
package main

import (
	"time"

	"github.com/toolhost/toolhost/pdk"
)

type args struct {
	Steps int `json:"steps"`
	Pause int `json:"pause_ms"`
}

func init() { pdk.Tool(report) }

func report(c pdk.Call, a args) (any, error) {
	for i := range a.Steps {
		c.Progress(float64(i+1), float64(a.Steps))
		c.Progress(float64(i), float64(a.Steps)) // back
		time.Sleep(time.Duration(a.Pause) * time.Millisecond)
	}
	return map[string]any{"steps": a.Steps}, nil
}

func main() {}
