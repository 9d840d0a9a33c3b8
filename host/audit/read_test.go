package audit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Finding entries again.

var monday = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// call is the n-th call, begun n hours after Monday 8:00. Its id is "call-<n>".
func call(n int, who Who, change func(*Call)) (started, ended Event) {
	at := monday.Add(time.Duration(n) * time.Hour)
	c := Call{ID: fmt.Sprintf("call-%d", n), Began: at, Tool: "get_order", Gates: []GateAnswer{}}
	end := c
	end.Ended, end.Outcome = at.Add(time.Second), "ok"
	if change != nil {
		change(&end)
		c.Tool = end.Tool
	}
	return Event{Kind: Started, At: at, Who: who, Call: &c}, Event{Kind: Ended, At: end.Ended, Who: who, Call: &end}
}

// filed is a log of calls of three people, of which the text says what they are.
//
//	0  start, end  ann, larkfield, session s1, ticket t1, get_order  ok
//	1  start, end  ann, larkfield, session s1, ticket t2, refund     ok
//	2  end         bob, larkfield, session s2,            refund     refused no_permission
//	3  start       bob, moorfield, session s3,            get_order  (has not ended)
//	4  end         ann, moorfield, session s4, ticket t1, get_order  ok, explained
//	24 start, end  a subject "eve" without a customer,    get_order  failed guest_trap
func filed(t testing.TB) place {
	t.Helper()
	p := newPlace(t)
	l := p.open(t, eights)
	must(t, l.Append(Event{Kind: Loaded, At: monday.Add(-time.Hour), Load: &LoadInfo{Config: "sha256:0"}}))
	add := func(n int, who Who, start, end bool, change func(*Call)) {
		s, e := call(n, who, change)
		if start {
			must(t, l.Append(s))
		}
		if end {
			must(t, l.Append(e))
		}
	}
	refund := func(c *Call) { c.Tool = "refund" }
	add(0, Who{Customer: "ann", Subject: "ann@x", Tenant: "larkfield", Session: "s1", Ticket: "t1"}, true, true, nil)
	add(1, Who{Customer: "ann", Subject: "ann@x", Tenant: "larkfield", Session: "s1", Ticket: "t2"}, true, true, refund)
	add(2, Who{Customer: "bob", Subject: "bob@x", Tenant: "larkfield", Session: "s2"}, false, true, func(c *Call) {
		c.Tool, c.Outcome, c.Code = "refund", "refused", "no_permission"
	})
	add(3, Who{Customer: "bob", Subject: "bob@x", Tenant: "moorfield", Session: "s3"}, true, false, nil)
	add(4, Who{Customer: "ann", Subject: "ann@x", Tenant: "moorfield", Session: "s4", Ticket: "t1"}, false, true, func(c *Call) { c.Explained = true })
	add(24, Who{Subject: "eve"}, true, true, func(c *Call) { c.Outcome, c.Code = "failed", "guest_trap" })
	must(t, l.Close())
	return p
}

// named gives short names of entries: "0s" is the start of call 0, "0e" its end.
func named(records []Record) string {
	var out []string
	for _, r := range records {
		kind := string(r.Entry.Kind)
		if c := r.Entry.Call; c != nil {
			kind = strings.TrimPrefix(c.ID, "call-") + kind[:1]
		}
		out = append(out, kind)
	}
	return strings.Join(out, " ")
}

func TestFind(t *testing.T) {
	p := filed(t)
	pseudonym := p.found(t, p.keyFile(), Filter{Ticket: "t2"})[0].Entry.Call.Who.Ticket
	for _, test := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"all", Filter{}, "begun loaded 0s 0e 1s 1e 2e 3s 4e 24s 24e"},
		{"session", Filter{Session: "s1"}, "0s 0e 1s 1e"},
		{"ticket-of-one-person-in-two-tenants", Filter{Ticket: "t1"}, "0s 0e 4e"},
		{"ticket-by-its-pseudonym", Filter{Ticket: pseudonym}, "1s 1e"},
		{"tenant", Filter{Tenant: "moorfield"}, "3s 4e"},
		{"customer-in-all-tenants", Filter{Customer: "ann"}, "0s 0e 1s 1e 4e"},
		{"customer-in-one-tenant", Filter{Customer: "ann", Tenant: "moorfield"}, "4e"},
		{"subject", Filter{Subject: "bob@x"}, "2e 3s"},
		{"subject-without-a-customer", Filter{Subject: "eve"}, "24s 24e"},
		{"tool", Filter{Tool: "refund"}, "1s 1e 2e"},
		{"outcome", Filter{Outcome: "ok"}, "0e 1e 4e"},
		{"code", Filter{Code: "no_permission"}, "2e"},
		{"call", Filter{Call: "call-1"}, "1s 1e"},
		{"kinds", Filter{Kinds: []Kind{Begun, Loaded, Started}}, "begun loaded 0s 1s 3s 24s"},
		{"since-includes-the-time", Filter{Since: monday.Add(3 * time.Hour), Tool: "get_order"}, "3s 4e 24s 24e"},
		{"until-excludes-it", Filter{Until: monday.Add(time.Hour), Tool: "get_order"}, "0s 0e"},
		{"after", Filter{After: 7}, "4e 24s 24e"},
		{"last", Filter{Last: 2}, "24s 24e"},
		{"last-of-what-fits", Filter{Last: 2, Customer: "ann", Kinds: []Kind{Ended}}, "1e 4e"},
		{"unfinished", Filter{Unfinished: true}, "3s"},
		{"unfinished-of-another", Filter{Unfinished: true, Customer: "ann"}, ""},
		{"calls", Filter{Calls: true}, "begun loaded 0e 1e 2e 3s 4e 24e"},
		{"combination", Filter{Tool: "get_order", Tenant: "larkfield", Session: "s1", Outcome: "ok", Calls: true}, "0e"},
		{"nothing-fits", Filter{Tool: "refund", Outcome: "failed"}, ""},
		{"nobody-of-that-name", Filter{Customer: "zoe"}, ""},
		{"a-name-is-of-its-kind-alone", Filter{Customer: "bob@x"}, ""},
		{"no-SQL", Filter{Tool: "x' OR '1'='1", Code: `"`, Session: "';--"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := named(p.found(t, p.keyFile(), test.filter)); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// Without the key names are nobody's, and nothing that is sealed is opened.
func TestFindWithoutTheKey(t *testing.T) {
	p := filed(t)
	if got := p.found(t, "", Filter{Ticket: "t1"}); len(got) != 0 {
		t.Errorf("without the key %d entries of a ticket are found by its name", len(got))
	}
	for _, r := range p.found(t, "", Filter{Kinds: []Kind{Started}}) {
		if r.Gone != GoneLocked || len(r.Values) > 0 {
			t.Errorf("without the key is shown: %q %v", r.Gone, r.Values)
		}
		if got := p.found(t, "", Filter{Customer: r.Entry.Call.Who.Person}); len(got) == 0 {
			t.Error("without the key nothing is found by a pseudonym")
		}
	}
}

func TestCounts(t *testing.T) {
	p := filed(t)
	r, err := OpenReader(p.folder(), p.keyFile())
	must(t, err)
	defer r.Close()
	for _, test := range []struct {
		filter Filter
		want   []Count
	}{
		{Filter{}, []Count{
			{"2026-11-30", "ok", "", 2}, {"2026-11-30", "refused", "no_permission", 1}, {"2026-12-01", "failed", "guest_trap", 1},
		}},
		{Filter{Tool: "refund"}, []Count{{"2026-11-30", "ok", "", 1}, {"2026-11-30", "refused", "no_permission", 1}}},
		{Filter{Customer: "ann", Until: monday.Add(time.Hour)}, []Count{{"2026-11-30", "ok", "", 1}}},
		{Filter{Code: "none_of_this"}, nil},
	} {
		got, err := r.Counts(test.filter)
		must(t, err)
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v, want %v", test.filter, got, test.want)
		}
	}
}

// A reader that stays open finds what was written since, and who is new.
func TestFindWhatIsNew(t *testing.T) {
	p := filed(t)
	r, err := OpenReader(p.folder(), p.keyFile())
	must(t, err)
	defer r.Close()
	l := p.open(t)
	defer l.Close()
	for n := range 3 {
		must(t, l.Append(ended(n, "late")))
		found := 0
		must(t, r.Find(Filter{Customer: "late", After: -1}, func(Record) error { found++; return nil }))
		if found != n+1 {
			t.Errorf("%d entries are found of %d", found, n+1)
		}
	}
}

// The index is made anew where it is not this log's, or is damaged, and what is
// found is the same.
func TestIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	of := func(p place) []byte {
		p.found(t, "", Filter{})
		return p.read(t, indexFile)
	}
	old, other := of(filed(t)), of(finished(t))
	for name, data := range map[string][]byte{
		"empty":                  {},
		"no-database":            []byte("no database"),
		"garbage":                []byte(strings.Repeat("garbage ", 4096)),
		"of-another-log":         other,
		"of-another-shorter-log": old,
		"cut":                    old[:len(old)/2],
		"a-page-of-zeros":        slices.Concat(old[:4096], make([]byte, 4096), old[8192:]),
	} {
		t.Run(name, func(t *testing.T) {
			p := filed(t)
			p.write(t, indexFile, data)
			if got, want := named(p.found(t, p.keyFile(), Filter{Customer: "ann"})), "0s 0e 1s 1e 4e"; got != want {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
	for page := range len(old) / 4096 {
		t.Run("page-"+itoa(page)+"-of-zeros", func(t *testing.T) {
			p := filed(t)
			p.write(t, indexFile, of(p))
			p.zeros(t, indexFile, page*4096, 4096)
			if got, want := named(p.found(t, p.keyFile(), Filter{Customer: "ann"})), "0s 0e 1s 1e 4e"; got != want {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
	t.Run("behind", func(t *testing.T) {
		p := filed(t)
		before := of(p)
		l := p.open(t)
		must(t, l.Append(ended(1, "ann")))
		must(t, l.Close())
		p.write(t, indexFile, before)
		if got := p.found(t, p.keyFile(), Filter{Customer: "ann"}); len(got) != 6 {
			t.Errorf("%d entries are found, want 6", len(got))
		}
	})
	t.Run("ahead", func(t *testing.T) {
		p := filed(t)
		p.write(t, indexFile, of(p))
		p.writeLines(t, p.lines(t)[:6])
		if got, want := named(p.found(t, p.keyFile(), Filter{})), "begun loaded 0s 0e 1s 1e"; got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	})
}

// A line that cannot be read is told with its place, and what to ask next.
func TestFindInADamagedLog(t *testing.T) {
	p := filed(t)
	p.writeLines(t, edit(p.lines(t), 4, "{", "["))
	r, err := OpenReader(p.folder(), p.keyFile())
	must(t, err)
	defer r.Close()
	err = r.Find(Filter{After: -1}, func(Record) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "entries.jsonl, line 5") || !strings.Contains(err.Error(), "toolhost audit verify") {
		t.Errorf("of a damaged line is said: %v", err)
	}
}

func TestFindBySearchAlone(t *testing.T) {
	t.Parallel()
	const entries = 20_000 / slow
	p, _ := manyEntries(t, entries)
	r, err := OpenReader(p.folder(), p.keyFile())
	must(t, err)
	defer r.Close()
	for _, f := range []Filter{{Ticket: "T-C-00777"}, {Session: "s-C-00777"}, {Customer: "C-00777"}, {Ticket: "T-C-00777", Last: 2}, {Call: ended(777, "").Call.ID}} {
		f.After = -1
		found := 0
		must(t, r.Find(f, func(Record) error { found++; return nil }))
		want := entries / manyPeople
		switch {
		case f.Last > 0:
			want = f.Last
		case f.Call != "":
			want = 1
		}
		if found != want {
			t.Errorf("%+v: %d entries are found, want %d", f, found, want)
		}
		plan := r.plan(t, f)
		if !strings.Contains(plan, "SEARCH e USING INDEX entry_") || strings.Contains(plan, "SCAN e") || strings.Contains(plan, "entry_at") {
			t.Errorf("%+v is found by\n%s", f, plan)
		}
	}
}

// plan is how the index answers.
func (r *Reader) plan(t *testing.T, f Filter) string {
	t.Helper()
	query, args, err := r.query(f)
	must(t, err)
	rows, err := r.index.db.Query("EXPLAIN QUERY PLAN "+query, args...)
	must(t, err)
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var a, b, c int
		var text string
		must(t, rows.Scan(&a, &b, &c, &text))
		out.WriteString(text + "\n")
	}
	must(t, rows.Err())
	return out.String()
}

// manyPeople is of how many customers manyEntries are.
const manyPeople = 2000

// manyEntries is a log of so many calls, not synced, and how long they took.
func manyEntries(t testing.TB, entries int) (place, time.Duration) {
	t.Helper()
	p := newPlace(t)
	l := p.open(t)
	l.unsynced = true
	began := time.Now()
	appendOf(t, l, entries, 64, manyPeople)
	took := time.Since(began)
	must(t, l.Close())
	return p, took
}

// A ticket is found among a million entries within a second.
func TestMillion(t *testing.T) {
	if os.Getenv("TOOLHOST_NIGHTLY") != "1" {
		t.Skip("with TOOLHOST_NIGHTLY=1")
	}
	const entries = 1_000_000
	p, took := manyEntries(t, entries)
	t.Logf("%d entries were appended in %s, without fsync", entries, took)
	must(t, os.Remove(p.file(indexFile))) // the log itself has made it as it went
	began := time.Now()
	p.found(t, p.keyFile(), Filter{Call: "none"})
	t.Logf("the index was made in %s", time.Since(began))
	for _, name := range []string{entriesFile, treeFile, indexFile, peopleFile} {
		info, err := os.Stat(p.file(name))
		must(t, err)
		t.Logf("%s: %.1f MB", name, float64(info.Size())/1e6)
	}
	began = time.Now()
	got := p.found(t, p.keyFile(), Filter{Ticket: "T-C-00777"})
	took = time.Since(began)
	t.Logf("%d entries of a ticket were found in %s", len(got), took)
	if len(got) != entries/manyPeople || took > time.Second {
		t.Errorf("%d entries, want %d, in %s", len(got), entries/manyPeople, took)
	}
	began = time.Now()
	r := wantSound(t, p)
	t.Logf("verified with %d sealed texts in %s", r.Values.Whole, time.Since(began))
	began = time.Now()
	plain, err := Verify(p.folder(), VerifyOptions{Public: p.public(t), Kept: p.kept(t)})
	must(t, err)
	wantTold(t, plain)
	t.Logf("verified without the key in %s", time.Since(began))
}
