package host

import (
	"slices"
	"strings"
	"testing"
)

// inspect gives the report on a module in a plugin's folder.
func inspect(t *testing.T, module string) *ModuleReport {
	t.Helper()
	return reportOn(t.Context(), []byte(module), "plugins/plain/plugin.wasm")
}

// What is printed to paste is a config that loads, once a capability is named.
func TestInspectModuleGivesAConfigThatLoads(t *testing.T) {
	capabilities, _, _ := strings.Cut(loadConfig, "[tools.plain]")
	for name, module := range map[string]string{
		"no-grant":  wasm(nil, nil),
		"one-grant": wasm([]string{"records.get", "records.get", "records.list"}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			r := inspect(t, module)
			d := newDesk(t, capabilities+strings.ReplaceAll(r.Needs.Config, "NAME", "orders"))
			d.write(t, "plugins/plain/plugin.wasm", module)
			d.write(t, "plugins/plain/contract.json", plainContract)
			if reports := d.open(t).Reports(); !r.Loads || reports[0].Module != r.Digest || reports[0].Size != r.Size {
				t.Errorf("inspected %+v, loaded %+v", r, reports[0])
			}
		})
	}
}

// What InspectModule refuses does not load, and the other way.
func TestInspectModuleAgreesWithTheLoad(t *testing.T) {
	for name, module := range map[string]string{
		"plain":            wasm(nil, nil),
		"unknown-function": wasm([]string{"records.drop"}, nil),
		"start-section":    wasm(nil, map[byte][]byte{8: {1}}),
		"no-module":        "#!/bin/sh\n",
		"invalid-code":     wasm(nil, map[byte][]byte{10: {2, 4, 0, 0x20, 0, 0x0b, 2, 0, 0x0b}}),
		"memory-over-all":  wasm(nil, map[byte][]byte{5: {1, 0, 0x81, 0x80, 0x02}}),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "[limits]\nmemory = \"2GiB\"\n"+loadConfig)
			d.write(t, "plugins/plain/plugin.wasm", module)
			d.write(t, "plugins/plain/contract.json", plainContract)
			h, err := d.tryOpen(t)
			if h != nil {
				defer h.Close()
			}
			r := inspect(t, module)
			if r.Loads != (err == nil) || r.Loads != (len(r.Refusals) == 0) {
				t.Errorf("refusals %q, the load said %v", r.Refusals, err)
			}
			for _, text := range r.Refusals {
				if !strings.HasPrefix(text, "the memory starts with ") && !strings.Contains(err.Error(), text) {
					t.Errorf("the load does not say %q: %v", text, err)
				}
			}
		})
	}
}

func TestInspectModuleSortsImports(t *testing.T) {
	r := inspect(t, wasm([]string{"files.read", "records.list", "toolhost.log", "records.get", "records.drop", "outbox.append", "queue.append", "records.get"}, nil))
	if got := r.Imports.Capabilities; len(got) != 3 || got[0].Kind != "records" || !slices.Equal(got[0].Functions, []string{"get", "list"}) || got[1].Kind != "files" || got[2].Kind != "outbox" {
		t.Errorf("capabilities %v", got)
	}
	if got := r.Imports.NotOffered; len(got) != 2 || got[0].Shown != "queue.append" || got[1].Shown != "records.drop" || len(r.Refusals) != 2 {
		t.Errorf("not offered %v, refusals %q", got, r.Refusals)
	}
	if r.Needs.Effect != "write" || !slices.Equal(r.Needs.Kinds, []string{"records", "files", "outbox"}) {
		t.Errorf("needs %+v", r.Needs)
	}
	if want := "grants = { NAME_OF_RECORDS = {}, NAME_OF_FILES = {}, NAME_OF_OUTBOX = {} } #"; !strings.Contains(r.Needs.Config, want) {
		t.Errorf("%s\nlacks %s", r.Needs.Config, want)
	}
}

func TestInspectModuleSaysHowMemoryStarts(t *testing.T) {
	for name, tt := range map[string]struct {
		memory []byte
		limit  string
		max    bool
	}{
		"the-default-is-enough":   {[]byte{1, 0, 0x80, 0x04}, "", false}, // 512 pages
		"one-page-over-it":        {[]byte{1, 0, 0x81, 0x04}, "32832KiB", false},
		"a-maximum-changes-none":  {[]byte{1, 1, 1, 0x80, 0x80, 0x04}, "", true},
		"the-most-that-can-be":    {[]byte{1, 0, 0x80, 0x80, 0x02}, "2GiB", false},
		"no-page-is-none-as-well": {[]byte{1, 0, 0}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := inspect(t, wasm(nil, map[byte][]byte{5: tt.memory}))
			if !r.Loads || r.Memory.Limit != tt.limit || (r.Memory.MaxPages != nil) != tt.max {
				t.Errorf("%+v, refusals %q", r.Memory, r.Refusals)
			}
		})
	}
}

// Only a folder that a config could name is written into its section.
func TestInspectModuleNamesThePluginsFolder(t *testing.T) {
	for shown, want := range map[string]string{
		"mine/plugins/plain/plugin.wasm":  "[tools.plain]\nplugin = \"mine/plugins/plain\"",
		"/opt/plugins/plain/plugin.wasm":  "[tools.plain]\nplugin = \"plugins/plain\"",
		"a\"{x}/plain/plugin.wasm":        "[tools.plain]\nplugin = \"plugins/plain\"",
		"plugin.wasm":                     "[tools.NAME]\nplugin = \"plugins/NAME\"",
		"plugins/Plain Tool/plugin.wasm":  "[tools.NAME]\nplugin = \"plugins/NAME\"",
		"target/wasm32-wasip1/plain.wasm": "[tools.NAME]\nplugin = \"plugins/NAME\"",
	} {
		if r := reportOn(t.Context(), []byte(wasm(nil, nil)), shown); !strings.HasPrefix(r.Needs.Config, want) {
			t.Errorf("%s:\n%s", shown, r.Needs.Config)
		}
	}
}
