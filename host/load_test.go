package host

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/config"
)

// wasm writes a module that exports memory and run, and has the given imports
// ("records.get") of the one shape, and further sections by id.
func wasm(imports []string, sections map[byte][]byte) string {
	str := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	vec := func(items ...[]byte) []byte { return append([]byte{byte(len(items))}, slices.Concat(items...)...) }
	section := func(id byte, body []byte) []byte { return append([]byte{id, byte(len(body))}, body...) }
	var list [][]byte
	for _, name := range imports {
		module, function, _ := strings.Cut(name, ".")
		list = append(list, slices.Concat(str(module), str(function), []byte{0, 1}))
	}
	body := map[byte][]byte{
		1:  vec([]byte{0x60, 0, 1, 0x7f}, []byte{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7e}, []byte{0x60, 0, 0}), // types
		2:  vec(list...),
		3:  vec([]byte{0}, []byte{2}), // run, and a function that a start section can name
		5:  vec([]byte{0, 1}),
		7:  vec(slices.Concat(str("memory"), []byte{2, 0}), slices.Concat(str("run"), []byte{0, byte(len(imports))})),
		10: vec([]byte{4, 0, 0x41, 0, 0x0b}, []byte{2, 0, 0x0b}),
	}
	for id, b := range sections {
		body[id] = b
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range []byte{1, 2, 3, 4, 5, 6, 7, 8, 10} {
		if b, ok := body[id]; ok && len(b) > 0 && b[0] != 0 || id == 8 && ok {
			out = append(out, section(id, b)...)
		}
	}
	return string(out)
}

const loadConfig = `[databases.desk]
url = "sqlite:var/desk.db"
[capabilities.orders]
kind = "records"
database = "desk"
table = "orders"
key = "order_id"
columns = ["order_id"]
scope = "everyone"
[tools.plain]
plugin = "plugins/plain"
effect = "read"
callers = ["anyone"]
`

const plainContract = `{"name":"plain","description":"d","inputSchema":{"type":"object","properties":{"id":{"type":"string","maxLength":9}},"required":["id"],"additionalProperties":false},
"outputSchema":{"type":"object","properties":{},"additionalProperties":false}}`

// What a module imports and what its tool is granted must be the same; the
// error names tool, import and config line, and nothing was compiled.
func TestModulesThatDoNotLoad(t *testing.T) {
	for name, tt := range map[string]struct {
		module string
		config string
		want   string
	}{
		"import-without-a-grant": {
			wasm([]string{"records.get"}, nil), loadConfig,
			`config.toml:10: [tools.plain] plugins/plain/plugin.wasm imports records.get, but the tool is granted no capability of kind records`,
		},
		"each-import-is-named": {
			wasm([]string{"records.get", "records.list"}, nil), loadConfig,
			`config.toml:10: [tools.plain] plugins/plain/plugin.wasm imports records.list, but the tool is granted no`,
		},
		"grant-without-an-import": {
			wasm(nil, nil), loadConfig + "grants = { orders = {} }\n",
			`config.toml:14: [tools.plain] grants.orders: plugins/plain/plugin.wasm imports nothing of kind records`,
		},
		"kind-that-nobody-offers":     {wasm([]string{"queue.append"}, nil), loadConfig, `config.toml:11: [tools.plain] plugin: plugins/plain/plugin.wasm: imports queue.append`},
		"function-that-nobody-offers": {wasm([]string{"records.drop"}, nil), loadConfig + "grants = { orders = {} }\n", `[tools.plain] plugin: plugins/plain/plugin.wasm: imports records.drop`},
		"unknown-wasi-function":       {wasm([]string{"wasi_snapshot_preview1.path_open"}, nil), loadConfig, `config.toml:11: [tools.plain] plugin: plugins/plain/plugin.wasm: imports wasi_snapshot_preview1.path_open`},
		"start-section":               {wasm(nil, map[byte][]byte{8: {1}}), loadConfig, `config.toml:11: [tools.plain] plugin: plugins/plain/plugin.wasm: has a start section`},
		"imported-memory": {
			wasm(nil, map[byte][]byte{2: []byte("\x01\x03env\x06memory\x02\x00\x01"), 5: {0}}), loadConfig,
			`config.toml:11: [tools.plain] plugin: plugins/plain/plugin.wasm: imports`,
		},
		"memory-over-the-limit": {
			wasm(nil, map[byte][]byte{5: {1, 0, 64}}), loadConfig + "limits = { memory = \"1MiB\" }\n",
			`config.toml:11: [tools.plain] plugin: plugins/plain/plugin.wasm: the memory starts with 64 pages`,
		},
		"no-module-at-all": {"#!/bin/sh\n", loadConfig, `config.toml:11: [tools.plain] plugin: plugins/plain/plugin.wasm: `},
		"invalid-code":     {wasm(nil, map[byte][]byte{10: {2, 4, 0, 0x20, 0, 0x0b, 2, 0, 0x0b}}), loadConfig, `config.toml:11: [tools.plain] plugin: plugins/plain/plugin.wasm: `},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tt.config)
			d.write(t, "plugins/plain/plugin.wasm", tt.module)
			d.write(t, "plugins/plain/contract.json", plainContract)
			h, err := d.tryOpen(t)
			var faults *config.Faults
			if h != nil || !errors.As(err, &faults) {
				t.Fatalf("host %v, error %v", h, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nlacks %s", err, tt.want)
			}
			if len(d.recorder.Loads()) != 0 {
				t.Error("a load was recorded")
			}
		})
	}
}

// A grant with only serves the gates: the module need not import its kind.
func TestGrantForTheGatesAlone(t *testing.T) {
	d := newDesk(t, loadConfig+"grants = { orders = { only = \"{args.id}\" } }\n")
	d.write(t, "plugins/plain/plugin.wasm", wasm(nil, nil))
	d.write(t, "plugins/plain/contract.json", plainContract)
	h := d.open(t)
	if loads := d.recorder.Loads(); len(loads) != 1 || !strings.HasPrefix(loads[0].Tools["plain"].Module, "sha256:") {
		t.Errorf("loads %v", loads)
	}
	s := Session{Role: "anyone"}
	if o := h.Call(t.Context(), s, ask("plain", `{"id":"LK-999999"}`)); o.Code != "not_found" || !strings.Contains(string(o.Result), wordsNotAvailable) {
		t.Errorf("%s %s", o.Line(), o.Result)
	}
	if o := h.Call(t.Context(), s, ask("plain", `{"id":"LK-500000"}`)); o.Code != "invalid_result" { // it gives none
		t.Errorf("%s %s", o.Line(), o.Reason)
	}
}

// Everything that is wrong is told at once, whichever file it stands in.
func TestFaultsOfAllFilesTogether(t *testing.T) {
	d := newDesk(t, loadConfig+"tiem = \"2s\"\n")
	d.write(t, "plugins/plain/plugin.wasm", wasm([]string{"env.abort"}, nil))
	d.write(t, "plugins/plain/contract.json", `{"name":"plane"}`)
	_, err := d.tryOpen(t)
	for _, want := range []string{"tiem: unknown key", "env.abort", "inputSchema is missing", "faults; nothing was loaded"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}
