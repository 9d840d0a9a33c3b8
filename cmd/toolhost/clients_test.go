package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/hosttest"
)

// A clientConfig is how MCP clients write which server they start.
type clientConfig struct {
	MCPServers map[string]clientServer `json:"mcpServers"`
	Servers    map[string]clientServer `json:"servers"`
}

type clientServer struct {
	Command string
	Args    []string
	Env     map[string]string
}

// Each configuration of a client in docs/clients.md starts a server that lists tools.
func TestClientConfigs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := demoDesk(t, "get_order")
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		var c clientConfig
		if err := json.Unmarshal([]byte(block[1]), &c); err != nil {
			t.Fatal(err)
		}
		for _, s := range []clientServer{c.MCPServers["desk"], c.Servers["desk"]} {
			if s.Command == "" {
				continue
			}
			if s.Command != "toolhost" {
				t.Errorf("starts %q", s.Command)
			}
			listTools(t, dir, s)
		}
	}
}

func listTools(t *testing.T, dir string, s clientServer) {
	t.Helper()
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`
	var out, said bytes.Buffer
	c := &cli{
		stdin: strings.NewReader(in), stdout: &out, stderr: &said, dir: dir,
		env:      func(name string) (string, bool) { v, ok := s.Env[name]; return v, ok },
		terminal: func(io.Writer) bool { return false },
	}
	if code := c.run(context.Background(), s.Args); code != exitOK || !strings.Contains(out.String(), `"name":"get_order"`) {
		t.Errorf("toolhost %s: exit status %d\n%s%s", strings.Join(s.Args, " "), code, out.String(), said.String())
	}
}

// demoDesk is a folder as the demo leaves it, with these tools alone.
func demoDesk(t *testing.T, tools ...string) string {
	t.Helper()
	dir := t.TempDir()
	config, err := os.ReadFile("../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := readDemoCases("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := fillVar(t.Context(), filepath.Join(dir, "var"), cases); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "config.toml"), []byte(hosttest.WideBounds(hosttest.OnlyTools(string(config), tools...))))
	for _, name := range tools {
		guest, err := hosttest.Build("../..", name)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "plugins", name, "plugin.wasm"), guest.Module)
		writeFile(t, filepath.Join(dir, "plugins", name, "contract.json"), guest.Contract)
	}
	return dir
}
