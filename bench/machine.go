package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// peers are the modules whose versions matter.
func peers() map[string]string {
	return map[string]string{
		"github.com/tetratelabs/wazero":               "wazero",
		"github.com/extism/go-sdk":                    "extism",
		"github.com/bytecodealliance/wasmtime-go/v39": "wasmtime-go",
		"github.com/hashicorp/go-plugin":              "go-plugin",
		"google.golang.org/grpc":                      "grpc",
		"github.com/modelcontextprotocol/go-sdk":      "mcp go-sdk",
	}
}

// machine says where and with what a run was made.
func machine() string {
	line := fmt.Sprintf("%s, %d processors, %s %s/%s", cpu(), runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return line
	}
	names := peers()
	for _, m := range info.Deps {
		if name := names[m.Path]; name != "" {
			line += ", " + name + " " + m.Version
		}
	}
	return line
}

// cpu is the processor's name where the system tells it.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
