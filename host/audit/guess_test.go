package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
)

// An order id is one of a million. Who has all that is left of a log tries each
// of them against the commitments (A5).

// A guesser knows what it could be keyed with.
type guesser struct {
	keys [][]byte
}

// guess tries numbers as an order id, in parallel, and gives those that match a
// commitment to arguments.
func (g guesser) guess(commitments [][]byte, numbers int) map[int]bool {
	wanted := map[uint64]bool{}
	for _, c := range commitments {
		wanted[binary.BigEndian.Uint64(c)] = true
	}
	out := map[int]bool{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			try := g.hashes()
			var sum [sha256.Size]byte
			for n := w; n < numbers; n += workers {
				value := fmt.Appendf(nil, `{"order_id":"LK-%06d"}`, n)
				value = append(value, blanks[len(value):]...) // as commit does it
				for _, h := range try {
					h.Reset()
					h.Write(value)
					if wanted[binary.BigEndian.Uint64(h.Sum(sum[:0]))] {
						mu.Lock()
						out[n] = true
						mu.Unlock()
					}
				}
			}
		})
	}
	wait.Wait()
	return out
}

// hashes are ways to make 32 bytes of a guess: without a key, with each key,
// and as commit does it, with a key made of each and of the value's name.
func (g guesser) hashes() []hash.Hash {
	out := []hash.Hash{sha256.New()}
	for _, key := range g.keys {
		named := hmac.New(sha256.New, key)
		named.Write([]byte("arguments"))
		out = append(out, hmac.New(sha256.New, key), hmac.New(sha256.New, named.Sum(nil)))
	}
	return out
}

// inFolder is what the folder tells without the log's key: all that is short
// enough to be a key in a table of people.db or in a line of one of them.
func (p place) inFolder(t *testing.T, of *Entry) (keys [][]byte) {
	t.Helper()
	db, err := openSQLite(p.file(peopleFile), "ro", "SELECT 1")
	must(t, err)
	defer db.Close()
	rows, err := db.Query("SELECT tag FROM person UNION SELECT tenant FROM person UNION SELECT wrapped FROM person UNION SELECT tag FROM name")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var key []byte
		must(t, rows.Scan(&key))
		keys = append(keys, key)
	}
	must(t, rows.Err())
	keys = append(keys, []byte(of.Call.ID), []byte(of.Call.Who.Person), []byte(of.Call.Who.Session), []byte(of.Call.Who.Ticket))
	for _, c := range of.Call.Commitments {
		mac, err := base64.RawURLEncoding.DecodeString(c)
		must(t, err)
		keys = append(keys, mac)
	}
	blob, err := readValue(p.folder(), of.Sealed[len(of.Sealed)-1])
	must(t, err)
	return append(keys, blob, blob[:12], blob[:32], blob[len(blob)-16:])
}

// withKey is what the key file adds: what is in it, and every salt and every
// person's key that can still be had with it.
func (p place) withKey(t *testing.T) (keys [][]byte) {
	t.Helper()
	text, err := os.ReadFile(p.keyFile())
	must(t, err)
	signing, sealing, _ := strings.Cut(strings.TrimSpace(string(text)), "\n"+sealingPrefix)
	for _, secret := range []string{sealing, strings.SplitN(signing, "+", 5)[4]} {
		key, err := base64.StdEncoding.DecodeString(secret)
		must(t, err)
		keys = append(keys, key, bytes.TrimPrefix(key, []byte{1}))
	}
	k, err := readKey(p.keyFile())
	must(t, err)
	keys = append(keys, k.tags)
	people, err := readPeople(p.file(peopleFile), k)
	must(t, err)
	defer people.close()
	seen := map[string]bool{}
	for _, line := range p.lines(t) {
		e := entry(t, line)
		for _, ref := range e.Sealed {
			by, err := people.byPseudonym(ref.Person)
			must(t, err)
			if by == nil {
				continue
			}
			blob, err := readValue(p.folder(), ref)
			must(t, err)
			opened, err := by.seal.Open(nil, nil, blob, boundTo(ref.Person, e.Kind, e.Call.ID))
			must(t, err)
			var salted struct {
				Salt []byte `json:"salt"`
			}
			must(t, json.Unmarshal(opened, &salted))
			keys = append(keys, salted.Salt)
			if seen[ref.Person] {
				continue
			}
			seen[ref.Person] = true
			secret, err := k.wrap.Open(nil, nil, by.wrapped, by.bound())
			must(t, err)
			keys = append(keys, secret)
		}
	}
	return keys
}

func TestGuessing(t *testing.T) {
	t.Parallel()
	numbers := 50_000
	if os.Getenv("TOOLHOST_NIGHTLY") == "1" {
		numbers = 1_000_000
	}
	p := newPlace(t)
	l := p.open(t)
	const order = 42_017
	one := agnes()
	one.orders[0] = fmt.Sprintf("LK-%06d", order)
	must(t, l.Append(one.event(1)))
	must(t, l.Append(boris().event(2)))
	e := p.found(t, "", Filter{Call: one.event(1).Call.ID})[0].Entry
	var commitments [][]byte
	for _, c := range e.Call.Commitments {
		mac, err := base64.RawURLEncoding.DecodeString(c)
		must(t, err)
		commitments = append(commitments, mac)
	}
	if len(commitments) != 4 {
		t.Fatalf("%d commitments, want those to arguments, result, reason and subject", len(commitments))
	}

	folder := p.inFolder(t, e)
	if got := (guesser{folder}).guess(commitments, numbers); len(got) > 0 {
		t.Errorf("with the folder alone %v was guessed", got)
	}
	withKey := p.withKey(t)
	if got := (guesser{withKey}).guess(commitments, numbers); !got[order] || len(got) != 1 {
		t.Errorf("with the key, before the erasure, %v was guessed; want %d, else this guesser is none", got, order)
	}

	_, err := l.Erase(Person{Customer: one.who.Customer})
	must(t, err)
	must(t, l.Close())
	left := append(p.withKey(t), p.inFolder(t, e)...)
	if len(left) >= len(withKey)+len(folder) {
		t.Errorf("%d keys are left of %d", len(left), len(withKey)+len(folder))
	}
	if got := (guesser{left}).guess(commitments, numbers); len(got) > 0 {
		t.Errorf("after the erasure %v was guessed", got)
	}
}
