package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// processVariable, when set, makes this binary the plugin process of one way.
const processVariable = "TOOLHOST_BENCH_PROCESS"

// The processes.
const (
	processGRPC = "grpc"
	processMCP  = "mcp"
)

// process makes the command that starts this binary as a plugin.
func process(ctx context.Context, which string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), processVariable+"="+which)
	return cmd, nil
}

// serveProcess is the plugin's side. It reports false if this process is none.
func serveProcess(ctx context.Context) (served bool, err error) {
	switch which := os.Getenv(processVariable); which {
	case "":
		return false, nil
	case processGRPC:
		serveGRPC()
		return true, nil
	case processMCP:
		return true, serveMCP(ctx)
	default:
		return true, fmt.Errorf("%s is %q, want %q or %q", processVariable, which, processGRPC, processMCP)
	}
}
