package config

import (
	"path/filepath"
	"testing"
)

// What is toolhost's own stands apart from each other.
func TestRefusedOwnPaths(t *testing.T) {
	const keep = "; keep it elsewhere, so that it is not copied, changed or lost along with the records"
	for _, c := range []struct {
		rule, data string
		want       []string
	}{
		{
			"key-inside-the-folder", "[audit]\nkey = \"var/audit/audit.key\"\n",
			[]string{`2: [audit] key: the audit key "var/audit/audit.key" lies inside the audit folder "var/audit"` + keep},
		},
		{
			"folder-around-the-default-key-and-state", "[audit]\nfolder = \"var\"\n",
			[]string{
				`2: [audit] folder: the audit key "var/keys/audit.key" lies inside the audit folder "var"` + keep,
				`2: [audit] folder: the state database "var/state/state.db" lies inside the audit folder "var"` + keep,
			},
		},
		{
			"folder-that-is-the-config's", "[host]\nstate = \"/s/state.db\"\n[audit]\nfolder = \".\"\n",
			[]string{`4: [audit] folder: the audit key "var/keys/audit.key" lies inside the audit folder "."` + keep},
		},
		{
			"state-inside-the-default-folder", "[host]\nstate = \"var/audit/deep/er/state.db\"\n",
			[]string{`2: [host] state: the state database "var/audit/deep/er/state.db" lies inside the audit folder "var/audit"` + keep},
		},
		{
			"inside-written-in-another-way", "[audit]\nfolder = \"/d/./rec\"\nkey = \"x/../rec/a.key\"\n",
			[]string{`3: [audit] key: the audit key "x/../rec/a.key" lies inside the audit folder "/d/./rec"` + keep},
		},
		{
			"key-that-begins-with-dots-is-inside", "[audit]\nkey = \"var/audit/..key\"\n",
			[]string{`2: [audit] key: the audit key "var/audit/..key" lies inside the audit folder "var/audit"` + keep},
		},
		{
			"root-as-the-folder", "[audit]\nfolder = \"/\"\nkey = \"/a.key\"\n[host]\nstate = \"/s\"\n",
			[]string{
				`3: [audit] key: the audit key "/a.key" lies inside the audit folder "/"` + keep,
				`5: [host] state: the state database "/s" lies inside the audit folder "/"` + keep,
			},
		},
		{
			"key-that-is-the-folder", "[audit]\nkey = \"var/audit/\"\n",
			[]string{`2: [audit] key: the audit key "var/audit/" is the path of the audit folder too; each needs its own`},
		},
		{
			"folder-that-is-the-default-state", "[audit]\nfolder = \"var/state/state.db\"\n",
			[]string{`2: [audit] folder: the state database "var/state/state.db" is the path of the audit folder too; each needs its own`},
		},
		{
			"state-that-is-the-key", "[host]\nstate = \"k\"\n[audit]\nkey = \"./k\"\n",
			[]string{`2: [host] state: the state database "k" is the path of the audit key too; each needs its own`},
		},
		{
			"nothing-is-held-against-a-faulty-folder", "[audit]\nfolder = 5\nkey = \"var/audit/audit.key\"\n[databases.d]\nurl = \"sqlite:var/audit/d\"\n",
			[]string{"2: [audit] folder: found an integer, expected a string"},
		},
		{
			"nothing-is-held-against-a-faulty-state", "[host]\nstate = \"\"\n[databases.d]\nurl = \"sqlite:var/state/state.db\"\n",
			[]string{"2: [host] state: an empty string; write a value or remove the key"},
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, err := Parse("/d/config.toml", []byte(c.data), Options{})
			checkFaults(t, err, prefixed("config.toml:", c.want))
		})
	}
}

// What tools read, and who writes plugins, reaches nothing of toolhost's own.
func TestRefusedToolsAndDatabasesOnOwnPaths(t *testing.T) {
	const itself = ", which toolhost keeps for itself"
	const somebody = "; a plugin's folder is somebody else's to write"
	url := func(rule, url, want string) refusal {
		return refusal{rule, `url = "sqlite:var/desk.db"`, `url = "` + url + `"`, []string{"config.toml:2: [databases.desk] url: " + want}}
	}
	plugin := func(rule, folder, want string) refusal {
		return refusal{rule, `plugin = "plugins/get_order"`, `plugin = "` + folder + `"`, []string{"config.toml:17: [tools.get_order] plugin: the folder " + want + somebody}}
	}
	testRefusals(t, []refusal{
		url("database-that-is-the-state", "sqlite:var/state/state.db", `"sqlite:var/state/state.db" is the state database "var/state/state.db"`+itself),
		url("database-that-is-the-key", "sqlite:./var/keys/audit.key", `"sqlite:./var/keys/audit.key" is the audit key "var/keys/audit.key"`+itself),
		url("database-that-is-the-folder", "sqlite:var/audit", `"sqlite:var/audit" is the audit folder "var/audit"`+itself),
		url("database-inside-the-folder", "sqlite:var/audit/x/desk.db", `"sqlite:var/audit/x/desk.db" lies inside the audit folder "var/audit"`+itself),
		plugin("plugin-that-is-the-folder", "var/audit", `is the audit folder "var/audit"`),
		plugin("plugin-inside-the-folder", "var/audit/plugins/x", `lies inside the audit folder "var/audit"`),
		plugin("folder-inside-a-plugin", "var/../var", `holds the audit folder "var/audit" and the audit key "var/keys/audit.key" and the state database "var/state/state.db"`),
		plugin("key-inside-a-plugin", "var/keys", `holds the audit key "var/keys/audit.key"`),
		plugin("state-inside-a-plugin", "var/state", `holds the state database "var/state/state.db"`),
		{
			"program-inside-a-plugin", "", "[audit]\ncheckpoint_command = [\"plugins/get_order/bin/keep\"]\n",
			[]string{`config.toml:17: [tools.get_order] plugin: the folder holds the program of checkpoint_command "plugins/get_order/bin/keep"` + somebody},
		},
	})
}

func prefixed(prefix string, list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = prefix + text
	}
	return out
}

// The texts of these paths begin alike; their parts do not. The audit folder
// may stand in the folder of the key, or in that of the state database.
func TestOwnPathsThatStandApart(t *testing.T) {
	tool := "[tools.x]\neffect = \"read\"\ncallers = []\nplugin = "
	for rule, data := range map[string]string{
		"key-in-a-folder-of-a-longer-name":      "[audit]\nkey = \"var/audit-old/audit.key\"\n",
		"state-in-a-folder-of-a-longer-name":    "[host]\nstate = \"var/audit-old/state.db\"\n",
		"database-in-a-folder-of-a-longer-name": "[databases.d]\nurl = \"sqlite:var/audit-old/d.db\"\n",
		"plugin-in-a-folder-of-a-longer-name":   tool + "\"var/audit-old\"\n",
		"plugin-of-a-shorter-name":              tool + "\"var/aud\"\n",
		"state-of-a-longer-name":                "[databases.d]\nurl = \"sqlite:var/state/state.db-old\"\n",
		"key-beside-the-folder":                 "[audit]\nfolder = \"a/audit\"\nkey = \"a/audit.key\"\n",
		"folder-in-the-folder-of-the-key":       "[audit]\nfolder = \"k/deep/audit\"\nkey = \"k/audit.key\"\n",
		"folder-in-the-folder-of-the-state":     "[audit]\nfolder = \"var/state/audit\"\n",
		"key-beside-the-state":                  "[audit]\nkey = \"var/state/audit.key\"\n",
		"program-beside-a-plugin":               tool + "\"plugins/x\"\n[audit]\ncheckpoint_command = [\"plugins/x-keep\"]\n",
	} {
		t.Run(rule, func(t *testing.T) {
			if _, err := Parse("config.toml", []byte(data), Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInsideGoesByTheParts(t *testing.T) {
	for _, c := range []struct {
		path, folder string
		want         bool
	}{
		{"/var/audit/x", "/var/audit", true},
		{"/var/audit/x/y", "/var", true},
		{"/var/audit/..x", "/var/audit", true},
		{"/x", "/", true},
		{"/var/audit", "/var/audit", false},
		{"/var/audit-old/x", "/var/audit", false},
		{"/var/audit", "/var/audit-old", false},
		{"/var", "/var/audit", false},
		{"/", "/", false},
	} {
		path, folder := filepath.FromSlash(c.path), filepath.FromSlash(c.folder)
		if Inside(path, folder) != c.want {
			t.Errorf("%s in %s: %v", path, folder, !c.want)
		}
	}
}

// A variable of the environment may be a secret, here too.
func TestOwnPathsShowNoEnvironment(t *testing.T) {
	env := func(string) (string, bool) { return "s3cret/../var/audit", true }
	_, err := Parse("config.toml", []byte("[databases.d]\nurl = \"sqlite:{env.X}/d.db\""), Options{Env: env})
	checkFaults(t, err, []string{
		`config.toml:2: [databases.d] url: "sqlite:{env.X}/d.db" lies inside the audit folder "var/audit", which toolhost keeps for itself`,
	})
}
