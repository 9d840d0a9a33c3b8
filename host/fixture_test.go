package host

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/toolhost/toolhost/host/hosttest"
)

// A desk is a folder with a config, a database and plugins, as an operator has it.
type desk struct {
	dir      string
	recorder *MemoryRecorder
}

// newDesk makes a desk with the config of the repository's root, or with the
// given one, and the named plugins of plugins/ or plugins/hostile/.
func newDesk(t testing.TB, config string, plugins ...string) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), recorder: NewMemoryRecorder(10000)}
	if config == "" {
		raw, err := os.ReadFile("../config.toml")
		if err != nil {
			t.Fatal(err)
		}
		config = hosttest.OnlyTools(string(raw), plugins...)
		d.notices(t)
	}
	d.write(t, "config.toml", config)
	for _, name := range plugins {
		d.plugin(t, name)
	}
	d.sql(t, hosttest.DeskSchema+`INSERT INTO people VALUES ('usr-sam', 'larkfield', 'staff')`)
	var rows []string
	for i := range 2000 {
		rows = append(rows, fmt.Sprintf(`('LK-%06d', 'larkfield', 'C-%05d', 'shipped', '2026-10-01', NULL, NULL, '9.95', '%d.05', 'CAD', '"4 garden chairs"')`, 500000+i*3, 20000+i/4, 100+i))
	}
	d.sql(t, "INSERT INTO orders VALUES "+strings.Join(rows, ", "))
	return d
}

func (d *desk) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// notices makes what else the config of the root opens.
func (d *desk) notices(t testing.TB) {
	t.Helper()
	d.write(t, "var/tickets/T-24011/chairs.txt", "One of the four chairs came with a broken leg.\n")
	d.sqlIn(t, "leave.db", hosttest.LeaveSchema)
	d.sqlIn(t, "notices.db", hosttest.NoticesSchema+`INSERT INTO notices VALUES ('D1', 'u-alice', '2026-09-10', '读书会'), ('D3', 'u-bob', '2026-09-16', '读书会')`)
}

func (d *desk) sql(t testing.TB, statement string) {
	t.Helper()
	d.sqlIn(t, "desk.db", statement)
}

func (d *desk) sqlIn(t testing.TB, file, statement string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(d.dir, "var"), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "var", file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) plugin(t testing.TB, name string) {
	t.Helper()
	guest, err := hosttest.Build("..", name)
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "plugins/"+name+"/plugin.wasm", string(guest.Module))
	d.write(t, "plugins/"+name+"/contract.json", string(guest.Contract))
}

func (d *desk) open(t testing.TB) *Host {
	t.Helper()
	h, err := d.tryOpen(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (d *desk) tryOpen(t testing.TB) (*Host, error) {
	t.Helper()
	return Open(context.Background(), filepath.Join(d.dir, "config.toml"), Options{Recorder: d.recorder})
}

func tom() Session {
	return Session{Tenant: "larkfield", Role: "customer", Attributes: map[string]string{"customer": "C-20000"}}
}

func ask(tool, args string) Proposal { return Proposal{Tool: tool, Arguments: []byte(args)} }
