package config

import (
	"strings"
	"testing"
)

const goodFiles = `
[capabilities.ticket_files]
kind = "files"
root = "var/tickets"
folder = "{session.tenant}/t-{session.ticket}"
access = "read"
max_bytes = "64KiB"
max_files = 20
`

func TestFiles(t *testing.T) {
	c, err := Parse("/srv/config.toml", []byte(readGood(t)+goodFiles), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	f := c.Capabilities[1].Files
	if f.Root != "/srv/var/tickets" || f.Shown != "var/tickets" || f.Everyone || f.MaxBytes != 64<<10 || f.MaxFiles != 20 {
		t.Errorf("got %+v", f)
	}
	if len(f.Folder) != 2 || f.FolderShown() != "{session.tenant}/t-{session.ticket}" {
		t.Errorf("the folder is %q", f.FolderShown())
	}
	c, err = Parse("/srv/config.toml", []byte("[capabilities.f]\nkind = \"files\"\nroot = \"docs\"\nscope = \"everyone\"\naccess = \"read\"\n"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if f := c.Capabilities[0].Files; !f.Everyone || len(f.Folder) != 0 || f.MaxBytes != 256<<10 || f.MaxFiles != 100 {
		t.Errorf("got %+v", f)
	}
}

func TestRefusedFiles(t *testing.T) {
	const folder = `folder = "{session.tenant}/t-{session.ticket}"`
	files := func(rule, old, text string, want ...string) refusal {
		for i := range want {
			want[i] = strings.Replace("config.toml:"+want[i], ": ", ": [capabilities.ticket_files] ", 1)
		}
		return refusal{rule, old, text, want}
	}
	for _, c := range []refusal{
		files("all-that-is-missing", "root = \"var/tickets\"\n"+folder+"\naccess = \"read\"", "",
			`2: root: missing; for example root = "var/tickets"`,
			`2: folder: missing; write folder = "{session.ticket}"; files without a folder for each session must say so: scope = "everyone"`,
			`2: access: missing; for example access = "read"`),
		files("unknown-key", "max_files = 20", "max_file = 20", `8: max_file: unknown key (did you mean "max_files"?); known here: kind, root, folder, scope, access, max_bytes, max_files`),
		files("reference-in-root", `"var/tickets"`, `"var/{session.ticket}"`, `4: root: "{session.ticket}" may not stand here; this key takes no reference`),
		files("argument-in-folder", folder, `folder = "{args.ticket}"`, `5: folder: "{args.ticket}" may not stand here; this key takes {session.x}`),
		files("variable-in-folder", folder, `folder = "{env.DESK}"`, `5: folder: "{env.DESK}" may not stand here; this key takes {session.x}`),
		files("folder-without-braces", folder, `folder = "session.ticket"`, `5: folder: "session.ticket" is literal text; write "{session.ticket}" for the value`),
		files("the-same-folder-for-every-session", folder, `folder = "shared"`, `5: folder: "shared" is the same folder for every session; write it into root, with scope = "everyone"`),
		files("two-values-in-one-name", folder, `folder = "{session.tenant}-{session.ticket}"`,
			`5: folder: "{session.tenant}-{session.ticket}" puts two values into one name, so that two sessions could have one folder; write a / between them`),
		files("step-up", folder, `folder = "../{session.ticket}"`, `5: folder: "../{session.ticket}" has the name .. in it; write plain names`),
		files("step-to-itself", folder, `folder = "./{session.ticket}"`, `5: folder: "./{session.ticket}" has the name . in it; write plain names`),
		files("absolute-folder", folder, `folder = "/{session.ticket}"`, `5: folder: "/{session.ticket}" has an empty name in it; write plain names with one / between them`),
		files("empty-name-at-the-end", folder, `folder = "{session.ticket}/"`, `5: folder: "{session.ticket}/" has an empty name in it; write plain names with one / between them`),
		files("backslash", folder, `folder = 'a\{session.ticket}'`, `5: folder: "a\\{session.ticket}" holds a \; write / between names`),
		files("folder-and-scope", folder, folder+"\nscope = \"everyone\"", `6: scope: a folder for each session stands there already; remove one of the two`),
		files("another-scope", folder, `scope = "all"`, `5: scope: "all" is no scope of files; write "everyone", or a folder for each session`),
		files("write-access", `access = "read"`, `access = "write"`, `6: access: files that a tool may write are not in this version of toolhost; write "read"`),
		files("another-access", `access = "read"`, `access = "all"`, `6: access: no access "all"; write "read"`),
		files("zero-max-bytes-denies", `"64KiB"`, `"0B"`, `7: max_bytes: "0B" is out of bounds, from 1B to 1MiB`),
		files("zero-max-files-denies", "max_files = 20", "max_files = 0", `8: max_files: 0 is out of bounds, from 1 to 1000`),
		files("root-that-holds-what-is-toolhosts", `"var/tickets"`, `"var"`,
			`4: root: the folder holds the audit folder and the audit key and the state database and the database desk, which no tool may read as a file`),
		files("root-that-holds-a-plugin", `"var/tickets"`, `"plugins"`, `4: root: the folder holds the plugin of get_order, which no tool may read as a file`),
		files("root-that-is-a-plugin", `"var/tickets"`, `"plugins/get_order"`, `4: root: the folder holds the plugin of get_order, which no tool may read as a file`),
		files("root-of-everything", `"var/tickets"`, `".."`,
			`4: root: the folder holds the config and the audit folder and the audit key and the state database and the database desk and the plugin of get_order, which no tool may read as a file`),
		files("root-inside-the-audit-folder", `"var/tickets"`, `"var/audit/x"`, `4: root: the folder lies inside the audit folder "var/audit", which no tool may read as a file`),
		files("root-that-holds-a-token", "max_files = 20", "max_files = 20\n[approvers]\nusr-grace = \"file:var/tickets/larkfield/t-1/grace\"",
			`4: root: the folder holds the token's hash of usr-grace, which no tool may read as a file`),
		files("root-that-is-the-audit-folder", `"var/tickets"`, `"var/audit"`, `4: root: the folder holds the audit folder, which no tool may read as a file`),
	} {
		t.Run(c.rule, func(t *testing.T) {
			data := c.apply(t, goodFiles[1:])
			_, err := Parse("config.toml", []byte("\n"+data+readGood(t)), testOptions())
			checkFaults(t, err, c.want)
		})
	}
}
