// asks_and_ends asks for its row as it should, and then does not end well, in the
// way that its argument says.
package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pdk"
)

type args struct {
	Reason string `json:"reason"`
}

func init() { pdk.Tool(askAndEnd) }

func askAndEnd(c pdk.Call, a args) (any, error) {
	if err := c.Outbox("refunds").Append(); err != nil {
		return nil, err
	}
	switch a.Reason {
	case "traps":
		return deeper(1), nil
	case "panics":
		panic("no")
	case "exits":
		os.Exit(3)
	case "exits-well":
		os.Exit(0)
	case "errs":
		return nil, errors.New("no")
	case "loops":
		for {
		}
	case "sleeps":
		time.Sleep(time.Hour)
	case "fills":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
		}
	case "asks-without-end":
		for {
			_ = c.Outbox("refunds").Append()
		}
	case "huge":
		return map[string]string{"status": strings.Repeat("x", 1_000_000)}, nil
	case "other-shape":
		return map[string]string{"status": "written"}, nil
	case "more":
		return map[string]any{"status": "recorded", "ok": true}, nil
	case "no-object":
		return "recorded", nil
	}
	return map[string]string{"status": "recorded"}, nil
}

// deeper ends where the stack does.
func deeper(n int) int { return deeper(n+1) + n }

func main() {}
