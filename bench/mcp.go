package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/bench/order"
)

// serveMCP is an MCP server on stdio with the tool in it. The row is in its own process: MCP has no request for one.
func serveMCP(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "0"}, nil)
	server.AddTool(&mcp.Tool{Name: "get_order", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result, err := order.Get(r.Params.Arguments, order.Find)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(result)}}}, nil
		})
	return server.Run(ctx, &mcp.StdioTransport{})
}

// openMCP starts the server and opens one session, which all callers share.
func (b *bench) openMCP(ctx context.Context) (func() (caller, error), error) {
	cmd, err := process(ctx, processMCP)
	if err != nil {
		return nil, err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "0"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	b.onClose(func() { _ = session.Close() }) // the process has ended then
	return func() (caller, error) {
		return func() ([]byte, error) { return callMCP(ctx, session) }, nil
	}, nil
}

func callMCP(ctx context.Context, session *mcp.ClientSession) ([]byte, error) {
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_order", Arguments: json.RawMessage(order.Arguments)})
	if err != nil {
		return nil, err
	}
	if len(r.Content) != 1 {
		return nil, errors.New("not one piece of content")
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok || r.IsError {
		return nil, errors.New("no text, or an error")
	}
	return []byte(text.Text), nil
}
