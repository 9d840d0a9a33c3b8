package audit

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// people.db holds a random key and a random pseudonym for each person, and
// pseudonyms for sessions and tickets, which are a person's. Whose they are is
// told by a keyed tag (HMAC-SHA256) alone, and a key lies there wrapped, so that
// the folder without the log's key tells nothing. Deleting a person's row is
// erasing the person: what is sealed stays sealed, and pseudonyms stay random.

const peopleFile = "people.db"

// Kinds of people and of names.
const (
	kindCustomer = "customer"
	kindSubject  = "subject"
	kindNobody   = "nobody" // the session names neither
	kindTenant   = "tenant"
	kindSession  = "session"
	kindTicket   = "ticket"
)

// A person is a row of people.db, or one that is about to be.
type person struct {
	id          int64 // 0: not stored yet
	kind        string
	tag, tenant []byte
	pseudonym   string
	wrapped     []byte
	seal        cipher.AEAD
	seen        string
	names       map[string]*name // by kind and tag
}

type name struct {
	stored    bool
	kind      string
	tag       []byte
	pseudonym string
	seen      string
}

// identified is who asked, in pseudonyms.
type identified struct {
	person, subject, tenant *person // subject and tenant may be nil
	session, ticket         *name   // of person; may be nil
	since                   int64   // the generation in which this held
	erased                  bool    // person is, since the call has started
}

// people reads and writes people.db. What it knows it keeps, until another
// process has changed the file.
type people struct {
	mu         sync.Mutex
	db         *sql.DB   // one connection, as data_version is a connection's
	changed    *sql.Stmt // gives data_version; nil: refresh has not asked yet
	unmarked   bool      // no row was marked for erasure when known began
	key        *key
	known      map[string]*person
	version    int64 // data_version of known
	generation int64 // how often known was thrown away
	held       int   // people and names in known
}

// errPeople is every error of people.db.
var errPeople = errors.New(peopleFile)

// maxKnown bounds what is kept in memory.
const maxKnown = 20_000

// refresh throws away what is known if another process has changed the file, or
// if it is much. It is called with the log's lock held, so that what it says
// holds until the lock is given back: at any other time somebody who is new
// could be known to a group that is being written, and be invented again.
func (p *people) refresh() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	version, err := p.dataVersion()
	if err != nil {
		return fmt.Errorf("%w: %w", errPeople, err)
	}
	if version != p.version || p.held > maxKnown {
		p.version = version
		p.forget()
	}
	return nil
}

// dataVersion is another one than before where another process has changed the file.
func (p *people) dataVersion() (version int64, err error) {
	if p.changed == nil {
		if p.changed, err = p.db.Prepare("PRAGMA data_version"); err != nil {
			return 0, err
		}
	}
	err = p.changed.QueryRow().Scan(&version)
	return version, err
}

// gone tells whether a person was erased, and the generation in which that holds.
func (p *people) gone(who identified) (bool, int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if who.since == p.generation {
		return false, p.generation, nil
	}
	var n int
	err := p.db.QueryRow("SELECT count(*) FROM person WHERE pseudonym = ? AND erasing IS NULL", who.person.pseudonym).Scan(&n)
	if err != nil {
		err = fmt.Errorf("%w: %w", errPeople, err)
	}
	return n == 0, p.generation, err
}

// current is the generation of what is known.
func (p *people) current() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation
}

func (p *people) forget() {
	p.known, p.held, p.unmarked = map[string]*person{}, 0, false
	p.generation++
}

// of gives the pseudonyms of who asked, new ones where there are none yet, and
// the generation in which they hold.
func (p *people) of(w Who) (identified, int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var who identified
	var err error
	find := func(kind, value string) *person {
		tenant := w.Tenant
		if kind == kindTenant {
			tenant = ""
		}
		found, findErr := p.find(kind, value, tenant)
		err = errors.Join(err, findErr)
		return found
	}
	switch {
	case w.Customer != "":
		who.person = find(kindCustomer, w.Customer)
		switch w.Subject {
		case "":
		case w.Customer: // one person, and one key
			who.subject = who.person
		default:
			who.subject = find(kindSubject, w.Subject)
		}
	case w.Subject != "":
		who.person = find(kindSubject, w.Subject)
		who.subject = who.person
	default:
		who.person = find(kindNobody, "")
	}
	if w.Tenant != "" {
		who.tenant = find(kindTenant, w.Tenant)
	}
	if err == nil {
		who.session, err = p.name(who.person, kindSession, w.Session)
	}
	if err == nil {
		who.ticket, err = p.name(who.person, kindTicket, w.Ticket)
	}
	if err != nil {
		return who, 0, fmt.Errorf("%w: %w", errPeople, err)
	}
	who.since = p.generation
	return who, p.generation, nil
}

func (p *people) find(kind, value, tenant string) (*person, error) {
	at := kind + "\x00" + tenant + "\x00" + value
	if found, ok := p.known[at]; ok {
		return found, nil
	}
	found := &person{kind: kind, tag: p.key.tag(kind, value), tenant: p.key.tag(kindTenant, tenant), names: map[string]*name{}}
	err := p.db.QueryRow("SELECT id, pseudonym, wrapped, seen FROM person WHERE kind = ? AND tag = ? AND tenant = ? AND erasing IS NULL",
		kind, found.tag, found.tenant).Scan(&found.id, &found.pseudonym, &found.wrapped, &found.seen)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = p.invent(found)
	case err == nil:
		err = p.unwrap(found)
	}
	if err != nil {
		return nil, err
	}
	p.known[at] = found
	p.held++
	return found, nil
}

// invent gives a person a pseudonym and a key, both random.
func (p *people) invent(to *person) error {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	to.pseudonym = newPseudonym()
	to.wrapped = p.key.wrap.Seal(nil, nil, secret, to.bound())
	var err error
	to.seal, err = sealer(secret)
	return err
}

func newPseudonym() string { return rand.Text()[:20] } // 100 bits

// bound is what a person's wrapped key is bound to: all that the row says of
// whose it is, so that nobody can give it to somebody else.
func (one *person) bound() []byte {
	b := []byte("toolhost audit person v1\x00" + one.kind + "\x00" + one.pseudonym + "\x00")
	return append(append(b, one.tag...), one.tenant...)
}

// unwrap opens the key of a person whose row was read.
func (p *people) unwrap(one *person) error {
	secret, err := p.key.wrap.Open(nil, nil, one.wrapped, one.bound())
	if err != nil {
		return fmt.Errorf("the row of %s is damaged, or was made without this log's key", one.pseudonym)
	}
	one.seal, err = sealer(secret)
	return err
}

// mark is what a name's row carries.
func (n *name) mark(k *key, of string) []byte {
	return k.mark("name", n.kind, string(n.tag), n.pseudonym, of)
}

// name finds or invents a session's or ticket's pseudonym.
func (p *people) name(of *person, kind, value string) (*name, error) {
	if value == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	at := kind + "\x00" + value
	if found, ok := of.names[at]; ok {
		return found, nil
	}
	found := &name{kind: kind, tag: p.key.tag(kind, value)}
	err := sql.ErrNoRows
	if of.id != 0 {
		var mark []byte
		err = p.db.QueryRow("SELECT pseudonym, seen, mark FROM name WHERE kind = ? AND tag = ? AND person = ?", kind, found.tag, of.id).
			Scan(&found.pseudonym, &found.seen, &mark)
		if err == nil && !hmac.Equal(mark, found.mark(p.key, of.pseudonym)) {
			err = fmt.Errorf("the row of %s is damaged, or was made without this log's key", found.pseudonym)
		}
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		found.pseudonym = newPseudonym()
	case err != nil:
		return nil, err
	default:
		found.stored = true
	}
	of.names[at] = found
	p.held++
	return found, nil
}
