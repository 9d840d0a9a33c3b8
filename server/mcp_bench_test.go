package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// BenchmarkMCP is one tool call over pipes: get_order as a handler of the SDK's
// own server, in the process and with the same query, and as a plugin through
// toolhost. ns/op is the time from one answer to the next; latency-us what one
// caller waits.
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

// nativeGetOrder is the tool as one writes it without a host.
func nativeGetOrder(b *testing.B) mcp.ToolHandler {
	b.Helper()
	d := openMCPDesk(b, host.NewMemoryRecorder(1), "get_order")
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "var", "desk.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct {
			OrderID string `json:"order_id"`
		}
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		var text string
		err := db.QueryRowContext(ctx, `SELECT json_object('ok', json('true'), 'order', json_object('order_id', order_id, 'status', status, 'total', total, 'items', items))
			FROM orders WHERE order_id = ? AND tenant = ? AND customer_id = ?`, args.OrderID, tom().Tenant, tom().Attributes["customer"]).Scan(&text)
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
}

func nativeClient(b *testing.B) *mcp.ClientSession {
	b.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "native", Version: "0"}, nil)
	server.AddTool(&mcp.Tool{Name: "get_order", InputSchema: json.RawMessage(`{"type":"object"}`)}, nativeGetOrder(b))
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
