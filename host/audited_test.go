package host

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

// openAudited opens the desk as an operator does: with the log of its config.
func (d *desk) openAudited(t testing.TB) *Host {
	t.Helper()
	h, err := Open(context.Background(), filepath.Join(d.dir, "config.toml"), Options{Program: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

// read gives the entries of the desk's log.
func (d *desk) read(t testing.TB, f audit.Filter) []audit.Record {
	t.Helper()
	r, err := audit.OpenReader(d.path("var/audit"), d.path("var/keys/audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []audit.Record
	f.After = -1
	if err := r.Find(f, func(rec audit.Record) error {
		out = append(out, rec)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func value(rec audit.Record, name string) string {
	for _, v := range rec.Values {
		if v.Name == name {
			return string(v.JSON)
		}
	}
	return ""
}

// What stands in the log is what the config knows; what somebody wrote is
// sealed, wherever it came from (A4).
func TestNothingPersonalInTheLog(t *testing.T) {
	d := newDesk(t, "", "get_order", "read_file", "fetch_url")
	h := d.openAudited(t)
	s := Session{
		ID: "loop-marker", Subject: "subject-marker", Tenant: "tenant-marker", Role: "role-marker",
		Attributes: map[string]string{"customer": "customer-marker", "ticket": "ticket-marker"},
	}
	staff, customer := s, s
	staff.Role, customer.Role = "staff", "customer"
	for _, p := range []Proposal{
		{Tool: "tool-marker", Arguments: []byte(`{"x":"argument-marker"}`)},
		{Tool: "get_order", Arguments: []byte(`{"order_id":"LK-500000"}`)},
		{Tool: "get_order", Arguments: []byte(`{"name-marker":"argument-marker"}`)},
		{Tool: "get_order", Arguments: []byte(`argument-marker`)},
		{Tool: "get_order", Arguments: []byte(`{"order_id":"LK-500000","order_id":"argument-marker"}`)},
		{Tool: "read_file", Arguments: []byte(`{"path":"argument-marker"}`)},
		{Tool: "fetch_url", Arguments: []byte(`{"url":"https://track.carrier.example/v1/argument-marker"}`)},
	} {
		for _, who := range []Session{s, staff, customer} {
			h.Call(t.Context(), who, p)
			h.Explain(t.Context(), who, p, false)
		}
	}
	h.Call(t.Context(), tom(), Proposal{Tool: "get_order", Arguments: []byte(`{"order_id":"LK-500000"}`)})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	records := d.read(t, audit.Filter{})
	if len(records) != 2+42+2 {
		t.Errorf("%d entries", len(records))
	}
	err := filepath.WalkDir(d.path("var"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) == ".db" && filepath.Dir(path) == d.path("var") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, marker := range []string{"marker", "LK-500000", "C-20000"} {
			if bytes.Contains(data, []byte(marker)) {
				t.Errorf("%s holds %q", path, marker)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := value(records[2], "session"); !strings.Contains(got, "customer-marker") || !strings.Contains(got, "loop-marker") {
		t.Errorf("the sealed session is %s", got)
	}
}

// 200 calls side by side make one log: each call once, by its start and its end.
func TestSideBySideInOneLog(t *testing.T) {
	d := newDesk(t, "", "get_order")
	h := d.openAudited(t)
	const calls = 200
	ids := make([]string, calls)
	var wait sync.WaitGroup
	for i := range calls {
		wait.Go(func() {
			ids[i] = h.Call(t.Context(), tom(), Proposal{Tool: "get_order", Arguments: fmt.Appendf(nil, `{"order_id":"LK-%06d"}`, 500000+i%12*3)}).CallID
		})
	}
	wait.Wait()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := audit.Verify(d.path("var/audit"), audit.VerifyOptions{KeyFile: d.path("var/keys/audit.key")})
	if err != nil || len(r.Findings) > 0 {
		t.Fatalf("verify: %v %v", err, r.Findings)
	}
	starts, ends := map[string]int{}, map[string]int{}
	for _, rec := range d.read(t, audit.Filter{Kinds: []audit.Kind{audit.Started, audit.Ended}}) {
		if rec.Entry.Kind == audit.Started {
			starts[rec.Entry.Call.ID]++
			continue
		}
		ends[rec.Entry.Call.ID]++
		if rec.Entry.Call.Ran != (starts[rec.Entry.Call.ID] == 1) {
			t.Errorf("call %s ran: %t, starts before its end: %d", rec.Entry.Call.ID, rec.Entry.Call.Ran, starts[rec.Entry.Call.ID])
		}
	}
	for _, id := range ids {
		if ends[id] != 1 {
			t.Errorf("call %s has %d ends", id, ends[id])
		}
	}
}

// docs/audit.md has every member that a line can have.
func TestDocumentedMembers(t *testing.T) {
	doc, err := os.ReadFile("../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range members("", reflect.TypeFor[audit.Entry]()) {
		if !bytes.Contains(doc, []byte("`"+member+"`")) {
			t.Errorf("docs/audit.md says nothing of `%s`", member)
		}
	}
}

// members gives the paths of the members that hold a value. A policy's stand in
// the table once, under "…".
func members(path string, of reflect.Type) []string {
	switch {
	case of.Kind() == reflect.Pointer:
		return members(path, of.Elem())
	case of.Kind() == reflect.Slice:
		return members(path+"[]", of.Elem())
	case of.Kind() == reflect.Map:
		return []string{path + ".NAME"}
	case of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]():
		return []string{path}
	}
	out := []string{}
	if of == reflect.TypeFor[audit.Policy]() {
		out, path = append(out, path), "…"
	}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if path != "" {
			name = path + "." + name
		}
		out = append(out, members(name, of.Field(i).Type)...)
	}
	return out
}
