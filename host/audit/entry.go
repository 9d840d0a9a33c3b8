package audit

import (
	"bytes"
	"crypto/hmac"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is the schema of the lines; docs/audit.md describes it field by field.
const Version = 1

// Kind says what an entry tells.
type Kind string

// The kinds of entries.
const (
	Begun     Kind = "begun"     // the first entry of a log
	Loaded    Kind = "loaded"    // a config has loaded whole
	Started   Kind = "started"   // every gate has agreed, the guest starts now
	Ended     Kind = "ended"     // a call's or an explanation's end; its answer leaves now
	Replied   Kind = "replied"   // a final answer was checked; its verdict leaves now
	Recovered Kind = "recovered" // what a crash had left was put right
	Decided   Kind = "decided"   // a person's word on a write that waits, or what became of it since
	Erased    Kind = "erased"    // a person's key is deleted
	Expired   Kind = "expired"   // old values are deleted
)

// Entry is one line of the log. The fields of it and of what it holds stand in
// the order of their JSON names, so that what is written is canonical.
type Entry struct {
	At        time.Time   `json:"at"`
	Begin     *BeginInfo  `json:"begin,omitzero"`
	Call      *Call       `json:"call,omitzero"`
	Erasure   *Erasure    `json:"erasure,omitzero"`
	Expiry    *Expiry     `json:"expiry,omitzero"`
	Kind      Kind        `json:"kind"`
	Load      *LoadInfo   `json:"load,omitzero"`
	Recovery  *Recovery   `json:"recovery,omitzero"`
	Sealed    []SealedRef `json:"sealed,omitempty"` // the log fills it in
	Seq       int64       `json:"seq"`              // from 0; the log fills it in
	Stamp     string      `json:"stamp"`            // HMAC of the line up to here, under the log's key; the log fills it in
	SchemaVer int         `json:"v"`                // the log fills it in
}

// BeginInfo names the log.
type BeginInfo struct {
	Origin string `json:"origin"` // as in its checkpoints
}

// LoadInfo says which policy is in force from now on.
type LoadInfo struct {
	Config  string            `json:"config"` // digest of the config's bytes
	Program string            `json:"program"`
	Tools   map[string]Policy `json:"tools"`
}

// Policy pins what a tool was. Each is "sha256:" and hex.
type Policy struct {
	Contract string `json:"contract"`
	Module   string `json:"module"`
	Resolved string `json:"resolved"` // all that the config says of the tool, resolved
}

// Call is one call, at its start or at its end; or one check of a final answer. Of
// Decided it is the call that
// proposed the write, and Who is who decides; where nobody does, who asked.
type Call struct {
	Approval      *Approval         `json:"approval,omitzero"` // of a write
	ArgumentBytes int               `json:"argument_bytes"`
	Began         time.Time         `json:"began"`
	Code          string            `json:"code,omitempty"`
	Commitments   map[string]string `json:"commitments,omitempty"` // the log fills it in
	Config        string            `json:"config"`                // digest
	Ended         time.Time         `json:"ended,omitzero"`
	Explained     bool              `json:"explained,omitzero"` // no guest could run
	Gate          string            `json:"gate,omitempty"`     // that ended it
	Gates         []GateAnswer      `json:"gates"`
	ID            string            `json:"id"`
	Outcome       string            `json:"outcome,omitempty"`
	Policy        *Policy           `json:"policy,omitzero"` // none where the tool is unknown
	Ran           bool              `json:"ran,omitzero"`    // the guest was started
	Reply         string            `json:"reply,omitempty"` // the form of a final answer; empty where its role has none
	Tool          string            `json:"tool,omitempty"`  // empty where there is none of that name
	Usage         *Usage            `json:"usage,omitzero"`
	Uses          []Use             `json:"uses,omitempty"`
	Who           Pseudonyms        `json:"who"` // the log fills it in, the role excepted
}

// Approval names a write that waits for a person, or waited, and what was
// decided of it: nothing at a call's end, else a word of docs/audit.md.
type Approval struct {
	Digest string `json:"digest"` // of all that was shown
	ID     string `json:"id"`
	Shows  string `json:"shows,omitempty"` // the digest of what it shows from now on
	State  string `json:"state,omitempty"` // how it has ended, where no end of a call says so
	Tries  int    `json:"tries,omitzero"`  // to deliver
	Word   string `json:"word,omitempty"`
}

// approval is the id of the call's approval; "": none.
func (c *Call) approval() string {
	if c.Approval == nil {
		return ""
	}
	return c.Approval.ID
}

// GateAnswer is one gate's answer: "ok", "no", or "-" where there was nothing to decide.
type GateAnswer struct {
	Gate    string `json:"gate"`
	Place   string `json:"place,omitempty"` // the line of the config that decided
	Verdict string `json:"verdict"`
}

// Usage is what a guest used.
type Usage struct {
	Fuel         uint64 `json:"fuel"`
	HostCalls    int    `json:"host_calls"`
	MemoryBytes  int64  `json:"memory_bytes"`
	Microseconds int64  `json:"us"`
}

// Use counts a guest's requests of one kind to one capability.
type Use struct {
	Capability string `json:"capability,omitempty"` // empty where the guest named none that there is
	Count      int    `json:"count"`
	Function   string `json:"function"`
	Status     string `json:"status"`
}

// Pseudonyms stand for who asked. They are random; people.db alone knows whose
// they are.
type Pseudonyms struct {
	Person  string `json:"person,omitempty"` // the customer, else the subject
	Role    string `json:"role,omitempty"`   // a role that the config knows, as it is
	Session string `json:"session,omitempty"`
	Subject string `json:"subject,omitempty"`
	Tenant  string `json:"tenant,omitempty"`
	Ticket  string `json:"ticket,omitempty"`
}

// SealedRef says where sealed values lie.
type SealedRef struct {
	At     int64  `json:"at"` // offset in the file
	Bytes  int    `json:"bytes"`
	File   string `json:"file"`   // a day, in values/
	Person string `json:"person"` // the pseudonym of whose key seals them
}

// Recovery says what was put right.
type Recovery struct {
	CheckpointBytes int64 `json:"checkpoint_bytes"` // of a torn checkpoint, cut
	EntryBytes      int64 `json:"entry_bytes"`      // of a torn last line, cut
	Hashes          int64 `json:"hashes"`           // of the tree, written anew
}

// Erasure says whose key was deleted.
type Erasure struct {
	Person string `json:"person"`
	UID    int    `json:"uid"` // of the operator on this machine; -1 where there are none
}

// Expiry says which values are gone.
type Expiry struct {
	Before string `json:"before"` // the first day that stays
	Files  int    `json:"files"`
	People int    `json:"people"` // whose pseudonyms nobody can tell any more
}

// lineTail ends every line as it is first written out; the log puts its own
// part in its place, which sorts last.
const lineTail = `"seq":0,"stamp":"","v":0}`

// head is a line up to what the log fills in.
func (e *Entry) head() ([]byte, error) {
	e.Sealed, e.Seq, e.Stamp, e.SchemaVer = nil, 0, "", 0
	e.At = plainTime(e.At)
	if c := e.Call; c != nil {
		c.Began, c.Ended = plainTime(c.Began), plainTime(c.Ended)
	}
	line, err := json.Marshal(e, json.Deterministic(true), jsontext.AllowInvalidUTF8(false))
	if err != nil {
		return nil, fmt.Errorf("an entry cannot be written as JSON: %w", err)
	}
	head, ok := bytes.CutSuffix(line, []byte(lineTail))
	if !ok {
		return nil, fmt.Errorf("an entry ends with %q", line[max(0, len(line)-len(lineTail)):])
	}
	return head, nil
}

// plainTime has what a line keeps of a time: UTC, to the microsecond.
func plainTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Microsecond)
}

// appendTail completes the line that begins at start, without its end.
func (k *key) appendTail(line []byte, start int, seq int64, sealed []SealedRef) []byte {
	if len(sealed) > 0 {
		line = append(line, `"sealed":[`...)
		for i, s := range sealed {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(line, `{"at":`...)
			line = strconv.AppendInt(line, s.At, 10)
			line = append(line, `,"bytes":`...)
			line = strconv.AppendInt(line, int64(s.Bytes), 10)
			line = append(line, `,"file":"`...)
			line = append(line, s.File...)
			line = append(line, `","person":"`...)
			line = append(line, s.Person...)
			line = append(line, `"}`...)
		}
		line = append(line, `],`...)
	}
	line = append(line, `"seq":`...)
	line = strconv.AppendInt(line, seq, 10)
	line = append(line, stampName+k.stamp(line[start:])...)
	line = append(line, `","v":`...)
	line = strconv.AppendInt(line, Version, 10)
	return append(line, '}')
}

// stampName ends the part of a line that its stamp is over.
const stampName = `,"stamp":"`

// stamped tells whether a line carries the stamp of this key.
func (k *key) stamped(line []byte, e *Entry) bool {
	i := bytes.LastIndex(line, []byte(stampName))
	return i >= 0 && hmac.Equal([]byte(e.Stamp), []byte(k.stamp(line[:i])))
}

// valid holds an entry's kind against what it tells.
func (e *Entry) valid() error {
	told := map[Kind]bool{
		Begun: e.Begin != nil, Loaded: e.Load != nil, Recovered: e.Recovery != nil, Erased: e.Erasure != nil, Expired: e.Expiry != nil,
	}
	calls := false
	for _, kind := range []Kind{Started, Ended, Decided, Replied} {
		told[kind] = e.Kind == kind && e.Call != nil
		calls = calls || e.Kind == kind
	}
	for kind, has := range told {
		if has != (kind == e.Kind) {
			return fmt.Errorf("an entry of kind %q does not tell what it should, or more", e.Kind)
		}
	}
	switch {
	case e.Call != nil && (!calls || e.Call.ID == ""):
		return fmt.Errorf("an entry of kind %q with a call, or a call without an id", e.Kind)
	case e.Kind == Decided && (e.Call.Approval == nil || e.Call.Approval.Word == ""):
		return fmt.Errorf("an entry of kind %q that names no approval and no word", e.Kind)
	case len(e.Sealed) > 2 || len(e.Sealed) > 0 && !calls:
		return fmt.Errorf("an entry of kind %q seals %d texts", e.Kind, len(e.Sealed))
	case e.Expiry != nil && !dayForm.MatchString(e.Expiry.Before):
		return fmt.Errorf("%q is no day", e.Expiry.Before)
	}
	if _, known := told[e.Kind]; !known {
		return fmt.Errorf("there are no entries of kind %q", e.Kind)
	}
	return nil
}

// ReadEntry reads one line. Fields that this version does not know are errors:
// a line says nothing that nobody reads.
func ReadEntry(line []byte) (*Entry, error) {
	var e Entry
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if e.SchemaVer != Version {
		return nil, fmt.Errorf("the entry is of version %d, this toolhost knows %d", e.SchemaVer, Version)
	}
	if err := e.valid(); err != nil {
		return nil, err
	}
	return &e, nil
}
