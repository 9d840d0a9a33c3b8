package audit

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// A waiter is one Append that waits for its group to be on disk.
type waiter struct {
	event  Event
	ready  *prepared
	signal chan signal
	failed error // of this entry alone
	told   bool  // it was answered
}

// signal ends a wait: the entry is written, or was not, or the waiter is to
// write the next group itself.
type signal struct {
	lead bool
	err  error
}

// A prepared entry lacks only its place in the log.
type prepared struct {
	head       []byte
	sealed     []sealed
	who        identified
	people     bool // who is set
	forgotten  bool // who was erased after the call had started: nothing is kept of them
	generation int64
}

// Append writes an entry. When it returns nil the entry is on disk (A1), when
// it returns an error the log is as it was (A2).
//
// Entries that are appended side by side are written as one group: the first
// writes while the others gather, and hands on to one of these.
func (l *Log) Append(e Event) error {
	if e.Kind == Ended && e.Call != nil {
		defer l.running.Delete(e.Call.ID)
	}
	if e.Kind == Started {
		if err := l.roomToEnd(); err != nil {
			return err
		}
	}
	ready, err := l.prepare(e)
	if err != nil {
		return err
	}
	w := &waiter{event: e, ready: ready, signal: make(chan signal, 1)}
	l.queue.Lock()
	l.waiting = append(l.waiting, w)
	follower := l.leading
	l.leading = true
	l.queue.Unlock()
	if follower {
		if s := <-w.signal; !s.lead {
			return s.err
		}
	}
	l.lead()
	return (<-w.signal).err
}

// ran remembers who asked for a call until its end: whoever is erased between
// the two must not come back under another name, by the same call.
func (l *Log) ran(w *waiter) {
	if c := w.event.Call; c != nil && w.event.Kind == Started && w.failed == nil {
		l.running.Store(c.ID, began{who: w.ready.who})
	}
}

// maxGroup bounds what is written, and held in memory, at once.
const maxGroup = 512

// lead writes one group, in which the caller's own entry is the first.
func (l *Log) lead() {
	l.queue.Lock()
	if len(l.waiting) > 1 {
		l.queue.Unlock()
		runtime.Gosched() // who was just answered may have more: let them join
		l.queue.Lock()
	}
	n := min(len(l.waiting), maxGroup)
	group := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	l.queue.Unlock()

	func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.commit(group)
	}()

	l.queue.Lock()
	defer l.queue.Unlock()
	if len(l.waiting) == 0 {
		l.leading, l.waiting = false, nil
		return
	}
	l.waiting[0].signal <- signal{lead: true}
}

// commit writes a group and answers each of its waiters, before a checkpoint
// that may be due: who needs not wait for the disk before the others. It is
// called with mu held.
func (l *Log) commit(group []*waiter) {
	err := l.withOpen(func() error {
		if err := l.write(group); err != nil {
			return fmt.Errorf("audit log %s: %w", l.o.Folder, err)
		}
		if l.answerSoon(group) {
			return nil // the next group is on disk with this one
		}
		if err := l.settle(); err != nil {
			l.drop()
			return fmt.Errorf("audit log %s: %w", l.o.Folder, err)
		}
		for _, w := range group {
			if !w.told {
				l.ran(w)
			}
			w.answer(nil)
		}
		if l.open.sinceCheckpoint() >= int64(l.o.CheckpointEntries) {
			l.tryCheckpoint()
		}
		return nil
	})
	told := true
	for _, w := range group {
		told = told && w.told
		w.answer(err)
	}
	if err != nil && told {
		l.o.Log.Error("audit log", "error", err)
	}
}

// answerSoon answers those of a group that need not wait for the disk, and
// tells whether these are all.
func (l *Log) answerSoon(group []*waiter) (all bool) {
	all = true
	for _, w := range group {
		if !w.event.Soon || w.event.Kind != Started {
			all = false
			continue
		}
		if w.failed == nil {
			l.ran(w)
			l.soon = append(l.soon, w.event.Call.ID)
		}
		w.answer(nil)
	}
	return all
}

// answer ends a wait, once.
func (w *waiter) answer(err error) {
	if !w.told {
		w.told = true
		w.signal <- signal{err: cmp.Or(w.failed, err)}
	}
}

// write writes a group: who is new, what is sealed, the entries.
func (l *Log) write(group []*waiter) error {
	now := l.o.Clock()
	people, generation := l.people.Load(), l.people.Load().current()
	var entries []*prepared
	var who []identified
	for _, w := range group {
		if l.lostStart(w.event) {
			w.failed = errStartLost
			continue
		}
		if w.ready.people && w.ready.generation != generation { // somebody was erased meanwhile
			if w.ready, w.failed = l.prepareWith(people, w.event); w.failed != nil {
				continue
			}
		}
		entries = append(entries, w.ready)
		if w.ready.people && !w.ready.forgotten {
			who = append(who, w.ready.who)
		}
	}
	err := people.keep(who, dayOf(now))
	if err == nil && len(entries) > 0 {
		err = l.open.write(entries, dayOf(now))
	}
	if err != nil {
		l.drop()
	}
	return err
}

// prepare does what needs no lock of the folder: marshal, seal, commit.
func (l *Log) prepare(e Event) (*prepared, error) {
	if e.Call == nil {
		return l.prepareWith(nil, e)
	}
	p := l.people.Load()
	if p == nil {
		return later(), nil
	}
	ready, err := l.prepareWith(p, e)
	if errors.Is(err, errPeople) {
		return later(), nil
	}
	return ready, err
}

// later is an entry that its group's leader prepares: people.db is not open
// now, after an error, or was closed at this moment.
func later() *prepared { return &prepared{people: true, generation: -1} }

func (l *Log) prepareWith(p *people, e Event) (*prepared, error) {
	entry := Entry{At: e.At, Kind: e.Kind, Load: e.Load, Call: e.Call}
	if e.Call == nil {
		head, err := entry.head()
		return &prepared{head: head}, err
	}
	who, generation, err := l.whoAsked(p, e)
	if err != nil {
		return nil, err
	}
	out := &prepared{who: who, people: true, generation: generation, forgotten: who.erased}
	if who.erased {
		e.Values = nil
	}
	call := *e.Call
	call.Who = who.pseudonyms(call.Who.Role)
	call.Commitments = map[string]string{}
	if out.sealed, err = sealFor(who, e); err != nil {
		return nil, err
	}
	for _, part := range out.sealed {
		for _, c := range part.commitments {
			call.Commitments[c.name] = c.mac
		}
	}
	entry.Call = &call
	out.head, err = entry.head()
	return out, err
}

// whoAsked is who the event is of. The end of a call is of whoever it was at
// its start, even if they are erased by now.
func (l *Log) whoAsked(p *people, e Event) (identified, int64, error) {
	if e.GoesOn {
		if started, ok := l.running.Load(e.Call.ID); ok && !started.(began).lost {
			who := started.(began).who
			erased, generation, err := p.gone(who)
			who.erased = erased
			return who, generation, err
		}
	}
	return p.of(e.Who)
}

// subjectValue is the name of the value that Append adds.
const subjectValue = "subject"

// sealFor seals an event's values for its person, and the subject for itself
// where it is another.
func sealFor(who identified, e Event) ([]sealed, error) {
	var out []sealed
	values := e.Values
	if slices.ContainsFunc(values, func(v Value) bool { return v.Name == subjectValue }) {
		return nil, fmt.Errorf("a value has the name %q, which is the log's own", subjectValue)
	}
	if who.subject != nil && !e.GoesOn {
		subject := TextValue(subjectValue, e.Who.Subject)
		if who.subject == who.person {
			values = append(values[:len(values):len(values)], subject)
		} else {
			part, err := sealValues(who.subject, e.Kind, e.Call.ID, []Value{subject})
			if err != nil {
				return nil, err
			}
			out = append(out, part)
		}
	}
	if len(values) == 0 {
		return out, nil
	}
	part, err := sealValues(who.person, e.Kind, e.Call.ID, values)
	if err == nil && len(part.blob) > maxSealed {
		err = errors.New("the values of a call are too large to keep")
	}
	return append(out, part), err
}

func (w identified) pseudonyms(role string) Pseudonyms {
	out := Pseudonyms{Role: role, Person: w.person.pseudonym}
	if w.subject != nil {
		out.Subject = w.subject.pseudonym
	}
	if w.tenant != nil {
		out.Tenant = w.tenant.pseudonym
	}
	if w.session != nil {
		out.Session = w.session.pseudonym
	}
	if w.ticket != nil {
		out.Ticket = w.ticket.pseudonym
	}
	return out
}

// reserve is left on the disk for the end of the calls that have started.
const reserve = 1 << 20

// roomToEnd refuses a start whose end could not be written.
func (l *Log) roomToEnd() error {
	if err := roomIn(l.o.Folder); err != nil {
		return fmt.Errorf("audit log %s: %w", l.o.Folder, err)
	}
	return nil
}

// roomIn tells whether the reserve is there.
func roomIn(folder string) error {
	free, err := freeBytes(folder)
	if err == nil && free < reserve {
		err = fmt.Errorf("only %d bytes are free on its disk", free)
	}
	return err
}
