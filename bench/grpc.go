package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/bench/order"
)

// The plugin process and the host are gRPC servers to each other: the host calls the tool, and the tool asks
// the host for the row on a connection of go-plugin's broker, which is made once. Every message is a BytesValue.

type message = wrapperspb.BytesValue

// The methods.
const (
	toolService = "bench.Tool"
	toolAttach  = "/" + toolService + "/Attach" // the number of the host's service, in decimal
	toolCall    = "/" + toolService + "/Call"   // arguments in, result out

	hostService = "bench.Host"
	hostGet     = "/" + hostService + "/Get" // a request for a row in, the answer out
)

// service describes methods of one shape, as protoc would.
func service(name string, methods map[string]func(context.Context, []byte) ([]byte, error)) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: name, HandlerType: (*any)(nil)}
	for method, serve := range methods {
		handle := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := &message{}
			if err := decode(in); err != nil {
				return nil, err
			}
			out, err := serve(ctx, in.GetValue())
			return &message{Value: out}, err
		}
		d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: method, Handler: handle})
	}
	return d
}

// invoke calls a method of the other side.
func invoke(ctx context.Context, conn *grpc.ClientConn, method string, in []byte) ([]byte, error) {
	out := &message{}
	err := conn.Invoke(ctx, method, &message{Value: in}, out)
	return out.GetValue(), err
}

func handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "TOOLHOST_BENCH", MagicCookieValue: "plugin"}
}

func grpcPlugins() map[string]plugin.Plugin {
	return map[string]plugin.Plugin{"get_order": &grpcPlugin{}}
}

// grpcPlugin is both sides, as go-plugin wants it.
type grpcPlugin struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer is the plugin's side.
func (*grpcPlugin) GRPCServer(broker *plugin.GRPCBroker, s *grpc.Server) error {
	var host *grpc.ClientConn // set by Attach, before any Call
	s.RegisterService(service(toolService, map[string]func(context.Context, []byte) ([]byte, error){
		"Attach": func(_ context.Context, number []byte) ([]byte, error) {
			id, err := strconv.ParseUint(string(number), 10, 32)
			if err != nil {
				return nil, err
			}
			host, err = broker.Dial(uint32(id))
			return nil, err
		},
		"Call": func(ctx context.Context, arguments []byte) ([]byte, error) {
			return order.Get(arguments, func(request []byte) ([]byte, error) { return invoke(ctx, host, hostGet, request) })
		},
	}), nil)
	return nil
}

// GRPCClient is the host's side: it serves the row and gives the connection to the tool.
func (*grpcPlugin) GRPCClient(ctx context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	id := broker.NextId()
	go broker.AcceptAndServe(id, func(o []grpc.ServerOption) *grpc.Server {
		s := grpc.NewServer(o...)
		s.RegisterService(service(hostService, map[string]func(context.Context, []byte) ([]byte, error){
			"Get": func(_ context.Context, request []byte) ([]byte, error) { return order.Find(request) },
		}), nil)
		return s
	})
	if _, err := invoke(ctx, conn, toolAttach, []byte(strconv.FormatUint(uint64(id), 10))); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	return conn, nil
}

// serveGRPC serves until the host ends this process.
func serveGRPC() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake(), Plugins: grpcPlugins(), GRPCServer: plugin.DefaultGRPCServer, Logger: hclog.NewNullLogger(),
	})
}

// openGRPC starts the plugin and opens one connection, which all callers share.
func (b *bench) openGRPC(ctx context.Context) (func() (caller, error), error) {
	cmd, err := process(ctx, processGRPC)
	if err != nil {
		return nil, err
	}
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake(), Plugins: grpcPlugins(), Cmd: cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	b.onClose(client.Kill)
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense("get_order")
	if err != nil {
		return nil, err
	}
	conn := raw.(*grpc.ClientConn)
	return func() (caller, error) {
		return func() ([]byte, error) { return invoke(ctx, conn, toolCall, []byte(order.Arguments)) }, nil
	}, nil
}
