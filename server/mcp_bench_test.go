package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// BenchmarkMCP is one tool call over pipes: by a handler of the SDK's own server,
// which does nothing, and by get_order through toolhost. ns/op is the time from
// one answer to the next; latency-us what one caller waits.
func BenchmarkMCP(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("native/callers=%d", callers), func(b *testing.B) {
			benchmarkCalls(b, nativeClient(b), callers)
		})
		b.Run(fmt.Sprintf("toolhost/callers=%d", callers), func(b *testing.B) {
			d := openMCPDesk(b, host.NewMemoryRecorder(1000), "get_order")
			benchmarkCalls(b, d.connect(b, tom(), "", nil), callers)
		})
		b.Run(fmt.Sprintf("toolhost+audit/callers=%d", callers), func(b *testing.B) {
			d := openMCPDesk(b, nil, "get_order")
			benchmarkCalls(b, d.connect(b, tom(), "", nil), callers)
		})
	}
}

func nativeClient(b *testing.B) *mcp.ClientSession {
	b.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "native", Version: "0"}, nil)
	server.AddTool(&mcp.Tool{Name: "get_order", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"ok":true}`}}}, nil
		})
	inRead, inWrite := mustPipe(b)
	outRead, outWrite := mustPipe(b)
	go func() { _ = server.Run(context.Background(), &mcp.IOTransport{Reader: inRead, Writer: outWrite}) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "a test", Version: "0"}, nil).
		Connect(b.Context(), &mcp.IOTransport{Reader: outRead, Writer: inWrite}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { client.Close() })
	return client
}

func benchmarkCalls(b *testing.B, c *mcp.ClientSession, callers int) {
	b.Helper()
	p := func() *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: "get_order", Arguments: json.RawMessage(`{"order_id":"LK-615204"}`)}
	}
	if r, err := c.CallTool(b.Context(), p()); err != nil || r.IsError {
		b.Fatalf("%v %v", err, r)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if r, err := c.CallTool(b.Context(), p()); err != nil || r.IsError {
					b.Errorf("%v %v", err, r)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	perCall := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(1/perCall, "calls/s")
	b.ReportMetric(perCall*float64(min(callers, b.N))*1e6, "latency-us")
}
