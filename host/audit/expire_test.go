package audit

import (
	"bytes"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// Values are kept for so many days.

// A calendar is a clock that is set by hand.
type calendar struct{ at atomic.Int64 }

func (c *calendar) set(day string) {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err) // a day of this file
	}
	c.at.Store(at.Add(12 * time.Hour).Unix())
}

func (c *calendar) now() time.Time { return time.Unix(c.at.Load(), 0) }

// keeping keeps values for 30 days. It runs tend often.
func keeping(c *calendar) func(*Options) {
	return func(o *Options) { o.KeepDays, o.Clock, o.CheckpointTime = 30, c.now, 200*time.Millisecond }
}

// days are the files in values/.
func (p place) days(t *testing.T) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(p.file(valuesFolder))
	must(t, err)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// visits are one of agnes on the first of October, and one of boris on that day
// and on the next.
func visits(t *testing.T, c *calendar) place {
	t.Helper()
	p := newPlace(t)
	c.set("2026-10-01")
	l := p.open(t, keeping(c))
	must(t, l.Append(agnes().event(1)))
	must(t, l.Append(boris().event(2)))
	c.set("2026-10-02")
	must(t, l.Append(boris().event(3)))
	must(t, l.Close())
	return p
}

func TestExpire(t *testing.T) {
	var c calendar
	p := visits(t, &c)
	old := p.found(t, p.keyFile(), Filter{Customer: agnes().who.Customer})[0]
	rows := p.rows(t, old.Entry.Call.Who.Person)

	c.set("2026-10-31") // 30 days after the first
	l := p.open(t, keeping(&c))
	must(t, l.Append(boris().event(4)))
	must(t, l.Close())
	if got := p.days(t); len(got) != 3 {
		t.Errorf("before its time %v is left", got)
	}
	if r := wantSound(t, p); r.Values.Expired != 0 || r.Values.Whole != 8 {
		t.Errorf("before its time: %+v", r.Values)
	}

	c.set("2026-11-01") // 31 days after the first
	l = p.open(t, keeping(&c))
	waitFor(t, "the first day to go", func() bool { return len(p.days(t)) == 2 })
	must(t, l.Append(boris().event(5)))
	must(t, l.Close())

	told := p.found(t, "", Filter{Kinds: []Kind{Expired}})
	// agnes, her subject, her session and her ticket were not seen since.
	if want := (Expiry{Before: "2026-10-02", Files: 1, People: 4}); len(told) != 1 || *told[0].Entry.Expiry != want {
		t.Errorf("%d entries tell of it, want one of %+v: %s", len(told), want, told[0].Line)
	}
	if r := wantSound(t, p); r.Values.Expired != 4 || r.Values.Whole != 6 {
		t.Errorf("afterwards: %+v", r.Values)
	}
	wantRowsGone(t, p, rows)
	if got := p.found(t, p.keyFile(), Filter{Customer: agnes().who.Customer}); len(got) != 0 {
		t.Errorf("%d entries are still agnes'", len(got))
	}
	for _, one := range p.found(t, p.keyFile(), Filter{}) {
		if one.Entry.Call == nil {
			continue
		}
		want := Gone("")
		if one.Entry.Seq <= 2 {
			want = GoneExpired
		}
		if one.Gone != want || (want == "") != (len(one.Values) == 4) {
			t.Errorf("entry %d shows %q and %d values, want %q", one.Entry.Seq, one.Gone, len(one.Values), want)
		}
	}
}

// A log that stays open expires values on the next day too, and goes on.
func TestExpireWhileOpen(t *testing.T) {
	var c calendar
	p := newPlace(t)
	c.set("2026-10-01")
	l := p.open(t, keeping(&c))
	must(t, l.Append(agnes().event(1)))
	for n, day := range []string{"2026-11-05", "2026-12-20"} {
		c.set(day)
		waitFor(t, "the values of before to go", func() bool { return len(p.days(t)) == 0 })
		must(t, l.Append(agnes().event(2+n)))
	}
	must(t, l.Close())
	if r := wantSound(t, p); r.Values.Expired != 4 || r.Values.Whole != 2 {
		t.Errorf("%+v", r.Values)
	}
	who := map[string]bool{}
	for _, one := range p.found(t, "", Filter{Kinds: []Kind{Ended}}) {
		who[one.Entry.Call.Who.Person] = true
	}
	if len(who) != 3 {
		t.Errorf("who was not seen for 30 days has %d pseudonyms in 3 visits", len(who))
	}
}

// A file that is older than the last that expired is not excused by that entry
// where it is of a later day.
func TestDeletedByHandIsNotExpired(t *testing.T) {
	var c calendar
	p := visits(t, &c)
	c.set("2026-11-01")
	l := p.open(t, keeping(&c))
	must(t, l.Expire())
	must(t, l.Close())
	wantSound(t, p)
	must(t, os.Remove(p.file(valuesFolder+"/2026-10-02")))
	wantTold(t, p.verify(t), "values values/2026-10-02:0")
}

// Expire deletes what has the form of a day, and nothing else.
func TestExpireLeavesOtherFiles(t *testing.T) {
	var c calendar
	p := visits(t, &c)
	p.write(t, valuesFolder+"/1999", []byte("mine"))
	c.set("2027-11-01")
	l := p.open(t, keeping(&c))
	must(t, l.Expire())
	must(t, l.Close())
	if got := p.read(t, valuesFolder+"/1999"); !bytes.Equal(got, []byte("mine")) || len(p.days(t)) != 1 {
		t.Errorf("left are %v", p.days(t))
	}
	wantSound(t, p)
}
