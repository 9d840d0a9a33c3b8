package audit

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// The index says where to look. What it says of an entry is not believed.

// editIndex changes the index as who can write to the folder does.
func (p place) editIndex(t *testing.T, statements ...string) {
	t.Helper()
	p.found(t, "", Filter{}) // makes it
	db, err := sql.Open("sqlite", p.file(indexFile))
	must(t, err)
	for _, s := range statements {
		_, err := db.Exec(s)
		must(t, err)
	}
	must(t, db.Close())
}

// soon fails the test, and all others with it, where the index never answers.
func soon(t *testing.T) {
	t.Helper()
	timer := time.AfterFunc(20*time.Second*slow, func() { panic(t.Name() + " has not ended") })
	t.Cleanup(func() { timer.Stop() })
}

func TestEditedIndex(t *testing.T) {
	t.Parallel()
	for _, test := range indexEdits {
		t.Run(test.name, func(t *testing.T) {
			soon(t)
			p := filed(t)
			p.editIndex(t, test.edit...)
			if got := named(p.found(t, p.keyFile(), test.filter)); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
			if got := named(p.found(t, p.keyFile(), Filter{})); got != allFiled {
				t.Errorf("afterwards found %q", got)
			}
		})
	}
}

// allFiled is all that filed has.
const allFiled = "begun loaded 0s 0e 1s 1e 2e 3s 4e 24s 24e"

// indexEdits are changes, and what is found all the same.
var indexEdits = []struct {
	name   string
	edit   []string
	filter Filter
	want   string
}{
	{"outcome", []string{"UPDATE entry SET outcome = 'ok' WHERE outcome = 'refused'"}, Filter{Outcome: "ok"}, "0e 1e 4e"},
	{"code", []string{"UPDATE entry SET code = 'none' WHERE code <> ''"}, Filter{Code: "none"}, ""},
	{"tool", []string{"UPDATE entry SET tool = 'refund'"}, Filter{Tool: "refund"}, "1s 1e 2e"},
	{"kind", []string{"UPDATE entry SET kind = 'loaded' WHERE kind = 'begun'"}, Filter{Kinds: []Kind{Loaded}}, "loaded"},
	{"time-since", []string{"UPDATE entry SET at = at + 86400000000"}, Filter{Since: monday.Add(10 * time.Hour)}, "24s 24e"},
	{"time-until", []string{"UPDATE entry SET at = 0"}, Filter{Until: monday.Add(time.Minute), Kinds: []Kind{Started, Ended}}, "0s 0e"},
	{"unfinished", []string{"UPDATE entry SET kind = 'started'", "UPDATE entry SET call = seq"}, Filter{Unfinished: true}, "3s"},
	{"call", []string{"UPDATE entry SET call = (SELECT call FROM entry WHERE seq = 4)"}, Filter{Call: "call-1"}, "1s 1e"},
	{"person", []string{"UPDATE entry SET person = (SELECT person FROM entry WHERE seq = 6)"}, Filter{Customer: "bob"}, "2e 3s"},
	{"subject", []string{"UPDATE entry SET subject = (SELECT subject FROM entry WHERE seq = 6)"}, Filter{Subject: "bob@x"}, "2e 3s"},
	{"tenant", []string{"UPDATE entry SET tenant = (SELECT tenant FROM entry WHERE seq = 7)"}, Filter{Tenant: "moorfield"}, "3s 4e"},
	{"session", []string{"UPDATE entry SET session = (SELECT session FROM entry WHERE seq = 7)"}, Filter{Session: "s3"}, "3s"},
	{"ticket", []string{"UPDATE entry SET ticket = (SELECT ticket FROM entry WHERE seq = 4)"}, Filter{Ticket: "t2"}, "1s 1e"},
	{"negative", []string{"UPDATE entry SET pos = -7 WHERE seq = 5"}, Filter{}, allFiled},
	{"behind-the-end", []string{"UPDATE entry SET pos = 1 << 50 WHERE seq = 5"}, Filter{}, allFiled},
	{"within", []string{"UPDATE entry SET pos = pos + 3 WHERE seq = 5"}, Filter{}, allFiled},
	{"no-length", []string{"UPDATE entry SET len = 0 WHERE seq = 5"}, Filter{}, allFiled},
	{"longer-than-any", []string{"UPDATE entry SET len = 1 << 40 WHERE seq = 5"}, Filter{}, allFiled},
	{"place-of-another", []string{"UPDATE entry SET (pos, len) = (SELECT pos, len FROM entry WHERE seq = 4) WHERE seq = 5"}, Filter{}, allFiled},
	{"last-ones", []string{"UPDATE entry SET pos = 1 WHERE seq = 9"}, Filter{Last: 4}, "3s 4e 24s 24e"},
	{"after", []string{"UPDATE entry SET pos = 1 WHERE seq = 9"}, Filter{After: 6}, "3s 4e 24s 24e"},
	{"number", []string{"UPDATE entry SET seq = 90 WHERE seq = 4"}, Filter{After: 7}, "4e 24s 24e"},
	{"an-end-that-overflows", []string{"UPDATE upto SET last_at = -9000000000000000000, bytes = 9000000000000000000"}, Filter{}, allFiled},
	{"a-table-too-many", []string{"CREATE TABLE other (x)"}, Filter{}, allFiled},
	{"a-trigger", []string{"CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END"}, Filter{}, allFiled},
	{"no-index", []string{"DROP INDEX entry_at"}, Filter{}, allFiled},
	{"a-column-gone", []string{"ALTER TABLE entry DROP COLUMN explained"}, Filter{}, allFiled},
	{
		"a-view-without-an-end",
		[]string{
			"DROP TABLE entry",
			"CREATE VIEW entry AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) " +
				"SELECT x AS seq, 0 AS pos, 1 AS len, 0 AS at, '' AS kind, '' AS tool, '' AS outcome, '' AS code, 0 AS explained, " +
				"0 AS call, 0 AS person, 0 AS subject, 0 AS tenant, 0 AS session, 0 AS ticket FROM c",
		},
		Filter{},
		allFiled,
	},
}

// What no day can be said of is not counted, but the index made anew.
func TestCountsOfADamagedIndex(t *testing.T) {
	soon(t)
	p := filed(t)
	p.editIndex(t, "UPDATE entry SET at = 1 << 62")
	r, err := OpenReader(p.folder(), "")
	must(t, err)
	defer r.Close()
	got, err := r.Counts(Filter{Tool: "refund"})
	want := []Count{{"2026-11-30", "ok", "", 1}, {"2026-11-30", "refused", "no_permission", 1}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// Who is given an entry may ask for others, and end the search with an error.
func TestSearchWithinASearch(t *testing.T) {
	soon(t)
	p := filed(t)
	p.editIndex(t, "UPDATE entry SET pos = 1 WHERE seq IN (3, 9)")
	r, err := OpenReader(p.folder(), p.keyFile())
	must(t, err)
	defer r.Close()
	var outer, inner []Record
	must(t, r.Find(Filter{After: -1}, func(one Record) error {
		outer = append(outer, one)
		if one.Entry.Seq != 1 {
			return nil
		}
		return r.Find(Filter{Tool: "refund", After: -1}, func(one Record) error {
			inner = append(inner, one)
			return nil
		})
	}))
	if got, want := named(outer)+", "+named(inner), "begun loaded 0s 0e 1s 1e 2e 3s 4e 24s 24e, 1s 1e 2e"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	stop := errors.New("stop")
	n := 0
	if err := r.Find(Filter{After: -1}, func(Record) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("after %d: %v", n, err)
	}
}

// Where the index is right and the lines are not, the lines are blamed.
func TestLinesOfOtherNumbers(t *testing.T) {
	p := filed(t)
	p.writeLines(t, slices.Delete(p.lines(t), 5, 6))
	r, err := OpenReader(p.folder(), p.keyFile())
	must(t, err)
	defer r.Close()
	n := 0
	err = r.Find(Filter{After: -1}, func(Record) error { n++; return nil })
	if n != 5 || err == nil || !strings.Contains(err.Error(), "entries.jsonl, line 6") || !strings.Contains(err.Error(), "holds entry 6, expected 5") {
		t.Errorf("after %d entries: %v", n, err)
	}
}
