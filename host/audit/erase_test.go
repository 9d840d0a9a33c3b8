package audit

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Erasing a person, and what is left of it (A4, A5).

// asked is a call of somebody, with all that is personal in it.
type asked struct {
	who    Who
	orders []string
}

func (a asked) secrets() []string {
	return append([]string{a.who.Customer, a.who.Subject, a.who.Session, a.who.Ticket}, a.orders...)
}

func (a asked) event(n int) Event {
	e := ended(n, "")
	e.Who = a.who
	e.Values = []Value{
		{Name: "arguments", JSON: []byte(`{"order_id":"` + a.orders[0] + `"}`)},
		{Name: "result", JSON: []byte(`{"orders":["` + strings.Join(a.orders, `","`) + `"]}`)},
		TextValue("reason", "asked for "+a.orders[0]+" by "+a.who.Subject),
	}
	return e
}

func agnes() asked {
	return asked{
		who:    Who{Customer: "KD-7742109", Subject: "agnes.miller@example.org", Tenant: "larkfield", Session: "sess-Zq81xR", Ticket: "TICKET-55301"},
		orders: []string{"LK-483920", "LK-483921", "LK-990417"},
	}
}

func boris() asked {
	return asked{
		who:    Who{Customer: "KD-1180034", Subject: "boris.olson@example.org", Tenant: "larkfield", Session: "sess-Bk07nW", Ticket: "TICKET-60417"},
		orders: []string{"LK-120077", "LK-345678"},
	}
}

// rows are the bytes of people.db by which somebody could be found or read.
func (p place) rows(t testing.TB, pseudonym string) map[string][]byte {
	t.Helper()
	db, err := openSQLite(p.file(peopleFile), "ro", "SELECT 1")
	must(t, err)
	defer db.Close()
	out := map[string][]byte{}
	var id int64
	var tag, wrapped []byte
	must(t, db.QueryRow("SELECT id, tag, wrapped FROM person WHERE pseudonym = ?", pseudonym).Scan(&id, &tag, &wrapped))
	out["tag"], out["wrapped key"], out["pseudonym"] = tag, wrapped, []byte(pseudonym)
	rows, err := db.Query("SELECT tag, pseudonym FROM name WHERE person = ?", id)
	must(t, err)
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		var tag []byte
		var pseudonym string
		must(t, rows.Scan(&tag, &pseudonym))
		out["tag of name "+itoa(n)], out["pseudonym of name "+itoa(n)] = tag, []byte(pseudonym)
	}
	must(t, rows.Err())
	return out
}

// wantRowsGone looks for them in people.db and what lies beside it, raw.
func wantRowsGone(t testing.TB, p place, rows map[string][]byte) {
	t.Helper()
	for path, data := range p.files(t) {
		if !strings.HasPrefix(filepath.Base(path), peopleFile) {
			continue
		}
		for what, row := range rows {
			if bytes.Contains(data, row) {
				t.Errorf("%s still holds the %s of an erased person", filepath.Base(path), what)
			}
		}
	}
}

// found are the records of a filter.
func (p place) found(t testing.TB, keyFile string, f Filter) []Record {
	t.Helper()
	r, err := OpenReader(p.folder(), keyFile)
	must(t, err)
	defer r.Close()
	if f.After == 0 {
		f.After = -1
	}
	out := []Record{}
	must(t, r.Find(f, func(one Record) error {
		out = append(out, one)
		return nil
	}))
	return out
}

func (p place) keyFile() string { return p.path("keys/audit.key") }

func TestErase(t *testing.T) {
	p := newPlace(t)
	l := p.open(t, eights)
	for n := range 10 {
		must(t, l.Append(agnes().event(n)))
		must(t, l.Append(boris().event(n)))
	}
	if r := wantSound(t, p); r.Values.Whole != 40 || r.Values.Erased != 0 {
		t.Errorf("before: %+v", r.Values)
	}
	before := p.found(t, p.keyFile(), Filter{Customer: agnes().who.Customer}) // it makes the index, too
	wantNowhere(t, p, append(agnes().secrets(), boris().secrets()...))        // nor of who is not erased
	pseudonym := before[0].Entry.Call.Who.Person
	rows := p.rows(t, pseudonym)
	if len(before) != 10 || len(rows) != 7 {
		t.Fatalf("%d records and %d rows of a person with a session and a ticket", len(before), len(rows))
	}

	erased, err := l.Erase(Person{Customer: agnes().who.Customer})
	must(t, err)
	if erased != pseudonym {
		t.Errorf("%s was erased, want %s", erased, pseudonym)
	}
	wantRowsGone(t, p, rows) // her tags come again with her
	must(t, l.Append(agnes().event(100)))
	must(t, l.Close())
	if r := wantSound(t, p); r.Values.Whole != 32 || r.Values.Erased != 10 { // her subject is another person
		t.Errorf("after: %+v", r.Values)
	}
	wantNowhere(t, p, append(agnes().secrets(), boris().secrets()...))
	wantErasedShown(t, p, before)

	if _, err := p.open(t).Erase(Person{Customer: "KD-0000000"}); !errors.Is(err, ErrNoSuchPerson) {
		t.Errorf("nobody was erased: %v", err)
	}
}

// wantErasedShown is what a reader shows after agnes was erased and came again.
func wantErasedShown(t *testing.T, p place, before []Record) {
	t.Helper()
	for _, old := range before {
		got := p.found(t, p.keyFile(), Filter{Call: old.Entry.Call.ID})
		for _, one := range got {
			if one.Entry.Call.Who.Person != old.Entry.Call.Who.Person {
				continue // boris has calls of the same ids
			}
			if one.Gone != GoneErased || len(one.Values) != 1 || one.Values[0].Name != subjectValue {
				t.Errorf("of an erased person is shown: %s %v", one.Gone, one.Values)
			}
		}
	}
	again := p.found(t, p.keyFile(), Filter{Customer: agnes().who.Customer})
	if len(again) != 1 || again[0].Gone != "" || again[0].Entry.Call.Who.Person == before[0].Entry.Call.Who.Person {
		t.Fatalf("who comes again is somebody new: %+v", again)
	}
	for name, values := range map[string][2]string{
		"session": {again[0].Entry.Call.Who.Session, before[0].Entry.Call.Who.Session},
		"ticket":  {again[0].Entry.Call.Who.Ticket, before[0].Entry.Call.Who.Ticket},
	} {
		if values[0] == values[1] {
			t.Errorf("the %s of who comes again has the pseudonym of before", name)
		}
	}
	others := p.found(t, p.keyFile(), Filter{Customer: boris().who.Customer})
	for _, one := range others {
		if one.Gone != "" || len(one.Values) != 4 {
			t.Errorf("of another one is shown: %s %v", one.Gone, one.Values)
		}
	}
	if len(others) != 10 {
		t.Errorf("%d records of another one, want 10", len(others))
	}
}

// In a people.db of many pages rows move between them as it grows, and SQLite
// leaves copies behind in the rest of a page, which it does not overwrite when
// the row is deleted. None of them stays.
func TestEraseAmongMany(t *testing.T) {
	t.Parallel()
	const people = 3000 / min(slow, 3)
	p := newPlace(t)
	l := p.open(t)
	l.unsynced = true
	appendOf(t, l, people, 64, people)
	db := l.people.Load().db
	for n := range people / 2 { // as Erase does, one by one
		_, err := l.people.Load().markErasing(Person{Customer: fmt.Sprintf("C-%05d", 2*n)})
		must(t, err)
	}
	gone := map[string][]byte{}
	rows, err := db.Query(`SELECT pseudonym, tag, wrapped FROM person WHERE erasing IS NOT NULL
		UNION ALL SELECT n.pseudonym, n.tag, n.tag FROM name n JOIN person p ON p.id = n.person WHERE p.erasing IS NOT NULL`)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var pseudonym string
		var tag, wrapped []byte
		must(t, rows.Scan(&pseudonym, &tag, &wrapped))
		gone["pseudonym "+pseudonym], gone["tag of "+pseudonym] = []byte(pseudonym), tag
		if !bytes.Equal(tag, wrapped) {
			gone["wrapped key of "+pseudonym] = wrapped
		}
	}
	must(t, rows.Err())
	must(t, l.Append(ended(people, "somebody new"))) // who writes next ends it
	wantRowsGone(t, p, gone)
	must(t, l.Close())
	if r := wantSound(t, p); len(gone) < people || r.Values.Erased < people/3 {
		t.Errorf("%d rows of %d people are gone, and %d values", len(gone), people, r.Values.Erased)
	}
}

// A second host had the log open, and the person in its memory, before the
// erasure; a third goes on with calls of the person all the while.
func TestEraseBesideOtherHosts(t *testing.T) {
	p := newPlace(t)
	a, b := p.open(t), p.open(t)
	must(t, b.Append(agnes().event(0)))
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := b.Append(agnes().event(1000*g + n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 5 {
		waitFor(t, "another call", more(p, t))
		_, err := a.Erase(Person{Customer: agnes().who.Customer})
		must(t, err)
	}
	close(stop)
	wait.Wait()
	must(t, b.Append(agnes().event(9999)))
	must(t, a.Close())
	must(t, b.Close())

	erased := map[string]bool{}
	for _, line := range p.lines(t) {
		e := entry(t, line)
		if e.Erasure != nil {
			erased[e.Erasure.Person] = true
		}
		if e.Call != nil && erased[e.Call.Who.Person] {
			t.Fatalf("entry %d is of somebody who was erased before", e.Seq)
		}
	}
	if len(erased) != 5 {
		t.Errorf("%d pseudonyms were erased, want 5", len(erased))
	}
	wantSound(t, p)
}

// more tells whether lines have come since it was made.
func more(p place, t *testing.T) func() bool {
	had := len(p.read(t, entriesFile))
	return func() bool { return len(p.read(t, entriesFile)) > had+4000 }
}

// waitFor waits until something is so.
func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestEraseOneOfSeveralTenants(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	defer l.Close()
	here, there, none := agnes(), agnes(), agnes()
	there.who.Tenant, none.who.Tenant = "moorfield", ""
	for n, one := range []asked{here, there, none} {
		must(t, l.Append(one.event(n)))
	}
	who := Person{Customer: here.who.Customer}
	if _, err := l.Erase(who); !errors.Is(err, ErrSeveralTenants) {
		t.Fatalf("one of several was erased: %v", err)
	}
	for left, tenant := range []string{"", "moorfield"} {
		who.Tenant = &tenant
		_, err := l.Erase(who)
		must(t, err)
		if _, err := l.Erase(who); !errors.Is(err, ErrNoSuchPerson) {
			t.Errorf("erased a second time: %v", err)
		}
		if n := len(p.found(t, p.keyFile(), Filter{Customer: who.Customer})); n != 2-left {
			t.Errorf("%d calls of that name are left, want %d", n, 2-left)
		}
	}
}

// Each kind of person can be erased: a subject, and who was not named.
func TestEraseOthers(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	defer l.Close()
	subject, nobody := agnes(), boris()
	subject.who.Customer, nobody.who.Customer, nobody.who.Subject = "", "", ""
	must(t, l.Append(subject.event(1)))
	must(t, l.Append(nobody.event(2)))
	for n, who := range []Person{{Subject: subject.who.Subject}, {Nobody: true}} {
		_, err := l.Erase(who)
		must(t, err)
		if r := wantSound(t, p); r.Values.Erased != int64(n+1) {
			t.Errorf("%+v: %+v", who, r.Values)
		}
	}
}
