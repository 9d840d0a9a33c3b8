package audit

import (
	"os"
	"strings"
	"testing"
)

// A customer who asks for themselves is one person with one key, by both names.
func TestCustomerIsSubject(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	e := ended(0, "C-00001")
	e.Who.Subject = e.Who.Customer
	must(t, l.Append(e))
	must(t, l.Append(ended(1, "C-00002")))
	_, err := l.Erase(Person{Customer: "C-00001"})
	must(t, err)
	must(t, l.Close())
	got := p.found(t, p.keyFile(), Filter{Call: e.Call.ID})
	if len(got) != 1 || got[0].Gone != GoneErased || len(got[0].Values) != 0 {
		t.Errorf("of an erased customer is shown %+v", got)
	}
	for _, f := range []Filter{{Subject: "C-00001"}, {Customer: "C-00001"}} {
		if got := p.found(t, p.keyFile(), f); len(got) != 0 {
			t.Errorf("an erased customer is found by %+v", f)
		}
	}
	if r := wantSound(t, p); r.Values.Erased != 1 {
		t.Errorf("%+v", r.Values)
	}
}

// Who is erased while their call runs stays who they were at its start: the end
// of the call does not lead from the old pseudonym to a new one.
func TestErasedWhileACallRuns(t *testing.T) {
	for _, elsewhere := range []bool{false, true} { // by this process, or by another
		p := newPlace(t)
		l := p.open(t)
		start := ended(0, "C-00001")
		start.Kind, start.Call.Outcome, start.Call.Ran = Started, "", false
		must(t, l.Append(start))
		eraser := l
		if elsewhere {
			eraser = p.open(t)
		}
		_, err := eraser.Erase(Person{Customer: "C-00001"})
		must(t, err)
		end := ended(0, "C-00001")
		end.GoesOn = true
		must(t, l.Append(end))
		must(t, l.Append(ended(1, "C-00001"))) // who comes back is somebody new
		if elsewhere {
			must(t, eraser.Close())
		}
		must(t, l.Close())
		all := p.found(t, p.keyFile(), Filter{Kinds: []Kind{Started, Ended}})
		if len(all) != 3 {
			t.Fatalf("%d entries", len(all))
		}
		old := all[0].Entry.Call.Who
		if all[1].Entry.Call.Who != old || len(all[1].Values)+len(all[1].Entry.Sealed) != 0 {
			t.Errorf("erased elsewhere: %t; the end is of %+v with %d values, the start of %+v", elsewhere, all[1].Entry.Call.Who, len(all[1].Values), old)
		}
		if all[2].Entry.Call.Who.Person == old.Person {
			t.Error("who came back has the old pseudonym")
		}
		wantSound(t, p)
	}
}

// A people.db that is gone while the log is open is noticed: what would be
// sealed under its keys could never be opened.
func TestPeopleGoneWhileOpen(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	must(t, l.Append(ended(0, "C-00001")))
	must(t, os.Rename(p.file(peopleFile), p.path("away")))
	if err := l.Append(ended(1, "C-00001")); err == nil || !strings.Contains(err.Error(), "people.db: is not there") {
		t.Errorf("without people.db: %v", err)
	}
	must(t, os.Rename(p.path("away"), p.file(peopleFile)))
	must(t, l.Append(ended(2, "C-00001")))
	must(t, l.Close())
	wantSound(t, p)
}

// There is no file for the lock alone that somebody could delete, and with it
// the lock (A3).
func TestNoFileForTheLock(t *testing.T) {
	p := finished(t)
	files, err := os.ReadDir(p.folder())
	must(t, err)
	for _, f := range files {
		if strings.Contains(f.Name(), "lock") {
			t.Errorf("there is a file %q", f.Name())
		}
	}
}

// What a checkpoint command says on its stderr is not kept but for its beginning.
func TestFirstBytes(t *testing.T) {
	var f firstBytes
	for range 1000 {
		if n, err := f.Write(make([]byte, 100)); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(f) != maxSaid {
		t.Errorf("%d bytes are kept", len(f))
	}
}
