package host

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/config"
)

func sam() Session {
	return Session{
		Subject: "usr-sam", Tenant: "larkfield", Role: "staff",
		Attributes: map[string]string{"customer": "C-31186", "ticket": "T-24011"},
	}
}

// What is missing, lies outside or is a link is alike to the model, and no
// guest starts for it (I1).
func TestDeniedFilesAreAlike(t *testing.T) {
	d := newDesk(t, "", "read_file")
	d.write(t, "var/tickets/T-2/other.txt", "another ticket's")
	d.link(t, "var/tickets/T-24011/link.txt", "../T-2/other.txt")
	h := d.open(t)
	var first []byte
	for _, path := range []string{"nope.txt", "../T-2/other.txt", "link.txt", "/etc/passwd", ".", "..", "chairs.txt/", "a//b", "CHAIRS.TXT", "var/tickets/T-24011/chairs.txt"} {
		o := h.Call(t.Context(), sam(), ask("read_file", `{"path":"`+path+`"}`))
		if o.State != Refused || o.Gate != GateCapability || o.Code != codeFileDenied || o.Field != "path" {
			t.Errorf("%s: %s", path, o.Line())
		}
		said := bytes.Replace(o.Result, []byte(path), []byte("PATH"), 1)
		if first == nil {
			first = said
		}
		if !bytes.Equal(said, first) {
			t.Errorf("%s: the model hears %s, and for another path %s", path, said, first)
		}
	}
	if n := h.Stats().Runs["read_file"]; n != 0 {
		t.Errorf("%d guests were started", n)
	}
	if o := h.Call(t.Context(), sam(), ask("read_file", `{"path":"chairs.txt"}`)); o.State != OK || !bytes.Contains(o.Result, []byte("broken leg")) {
		t.Errorf("%s %s", o.Line(), o.Result)
	}
}

func (d *desk) link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(d.dir, from)); err != nil {
		t.Fatal(err)
	}
}

const filesConfig = `[audit]
folder = "var/audit"
[capabilities.f]
kind = "files"
root = "ROOT"
scope = "everyone"
access = "read"
`

const fetchConfig = `[capabilities.c]
kind = "fetch"
[[capabilities.c.allow]]
url = "https://a.example/"
methods = ["GET"]
roots = "ca.pem"
`

// What a capability needs is looked at when the config is loaded, and told
// with file, line and key.
func TestCapabilitiesThatDoNotLoad(t *testing.T) {
	link := func(from, to string) func(*testing.T, *desk) {
		return func(t *testing.T, d *desk) {
			d.write(t, "var/audit/x", "")
			d.write(t, "var/keys/x", "")
			d.link(t, from, to)
		}
	}
	files := func(root string) string { return strings.Replace(filesConfig, "ROOT", root, 1) }
	for name, tt := range map[string]struct {
		config string
		before func(*testing.T, *desk)
		want   string
	}{
		"no-root":                  {files("nowhere"), nil, `config.toml:5: [capabilities.f] root: the folder "nowhere" is not there; make it, or correct the path`},
		"root-that-is-a-file":      {files("var/desk.db"), nil, `config.toml:5: [capabilities.f] root: the folder "var/desk.db" cannot be opened: it is no folder`},
		"link-to-the-audit-folder": {files("docs"), link("docs", "var/audit"), `config.toml:5: [capabilities.f] root: the folder "docs" leads to one that holds the audit folder, which no tool may read as a file`},
		"link-around-the-key":      {files("docs"), link("docs", "var/keys"), `config.toml:5: [capabilities.f] root: the folder "docs" leads to one that holds the audit key, which no tool may read as a file`},
		"link-around-the-state": {
			"[host]\nstate = \"own/state.db\"\n" + files("docs"), func(t *testing.T, d *desk) { d.write(t, "own/x", ""); d.link(t, "docs", "own") },
			`config.toml:7: [capabilities.f] root: the folder "docs" leads to one that holds the state database, which no tool may read as a file`,
		},
		"link-around-a-database": {
			files("docs") + "[databases.shop]\nurl = \"sqlite:shop/shop.db\"\n", func(t *testing.T, d *desk) { d.write(t, "shop/shop.db", ""); d.link(t, "docs", "shop") },
			`config.toml:5: [capabilities.f] root: the folder "docs" leads to one that holds the database shop, which no tool may read as a file`,
		},
		"link-around-the-program": {
			strings.Replace(files("docs"), "[audit]\n", "[audit]\ncheckpoint_command = [\"bin/keep\"]\n", 1), func(t *testing.T, d *desk) { d.write(t, "bin/keep", ""); d.link(t, "docs", "bin") },
			`config.toml:6: [capabilities.f] root: the folder "docs" leads to one that holds the program of checkpoint_command, which no tool may read as a file`,
		},
		"link-around-the-config": {
			files("up/docs"), func(t *testing.T, d *desk) { d.write(t, "up/x", ""); d.link(t, "up/docs", "..") },
			`config.toml:5: [capabilities.f] root: the folder "up/docs" leads to one that holds the config, which no tool may read as a file`,
		},
		"link-into-the-audit-folder":    {files("docs/deep"), link("docs", "var/audit"), `config.toml:5: [capabilities.f] root: the folder "docs/deep" leads into the audit folder`},
		"certificates-that-are-missing": {fetchConfig, nil, `config.toml:6: [capabilities.c] allow.roots: "ca.pem" cannot be read: no such file or directory`},
		"certificates-that-are-none": {
			fetchConfig, func(t *testing.T, d *desk) { d.write(t, "ca.pem", "none") },
			`config.toml:6: [capabilities.c] allow.roots: "ca.pem" holds no certificate in PEM`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tt.config)
			if tt.before != nil {
				tt.before(t, d)
			}
			if name == "link-into-the-audit-folder" {
				d.write(t, "var/audit/deep/x", "")
			}
			_, err := d.tryOpen(t)
			var faults *config.Faults
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nlacks %s", err, tt.want)
			}
		})
	}
}
