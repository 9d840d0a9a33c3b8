package host

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Recorder keeps what happened. An error means that it could not: the call is
// then refused, and its answer does not leave (I10).
type Recorder interface {
	// Loaded is called once, when a config has loaded whole.
	Loaded(Load) error
	// Started is called when every gate has agreed, before the guest starts.
	Started(*Record) error
	// Ended is called before an answer leaves, for every call and explanation.
	Ended(*Record) error
	// Decided is called with a person's word on the write of Record.Approval, before it
	// has an effect, and with what became of it without them.
	Decided(r *Record, word string) error
}

// Load says which policy is in force.
type Load struct {
	Time    time.Time
	Program string            // who loaded it
	Config  string            // digest of the config
	Tools   map[string]Policy // by tool
}

// Policy pins what a tool was when a call was decided. Each is "sha256:...".
type Policy struct {
	Contract string
	Module   string
	Resolved string // all that the config says of the tool, with what it refers to
}

// Record is one call as it is kept. It is the recorder's own after Ended.
type Record struct {
	CallID    string
	Began     time.Time
	Ended     time.Time
	Explained bool // asked by explain: no guest could run
	Session   Session
	Tool      string
	Reply     string           // the form whose final answer was checked; "": it was a call
	Ticket    string           // of a final answer: the text that the loop was about
	Raw       int              // bytes of the argument text
	Arguments strictjson.Value // as read, x-secret taken out; no value where they were not read
	Proposal  string           // the argument text where it was not read, cut and without secrets
	Config    string           // digest
	Policy    Policy           // zero where the tool is unknown
	Facts     []byte           // JSON: what rules were told of the business data; nil: nothing was fetched
	Answers   []Answer         // each gate's, in order
	State     State
	Gate      Gate
	Code      string
	Reason    string // the true one
	Field     string
	Started   bool // the guest was started
	Usage     Usage
	Uses      []Use
	Result    []byte       // what the model gets, secrets taken out
	Approval  *ApprovalRef // of a write; nil: there is none
	Approver  string       // who decides

	inward bool   // nothing of the call leaves before its end
	hide   *hider // of the call's secret arguments; nil where they were not read
}

// ApprovalRef names an approval.
type ApprovalRef struct {
	ID     string // "": an explanation, which proposes nothing
	Digest string // of all that is shown
	Shows  string // the digest of what it shows from now on; "": what it did
	State  string // how it has ended without running, or was settled; "": neither
	Call   string // that proposed it
	Tries  int    // to deliver
}

// Use is one request of a guest to a capability.
type Use struct {
	Capability string // as the guest named it, shortened
	Function   string // "records.get"
	Status     string
	Asked      string // the file, URL or key that it named, shortened
	Got        string // what came of it where the status is ok: "404"
	Reason     string // why the status is not ok
}

// LookOnly is the recorder of a host that is opened to look at its tools: it
// records nothing, and so every call is refused.
func LookOnly() Recorder { return lookOnly{} }

type lookOnly struct{}

func (lookOnly) Loaded(Load) error { return nil }

func (lookOnly) Started(*Record) error { return errLookOnly }

func (lookOnly) Ended(*Record) error { return errLookOnly }

func (lookOnly) Decided(*Record, string) error { return errLookOnly }

var errLookOnly = errors.New("the host was opened to look at its tools only")

// Also is a recorder that tells another one first. What either cannot record
// is refused.
func Also(first, second Recorder) Recorder { return both{first, second} }

type both struct{ first, second Recorder }

func (b both) Loaded(l Load) error {
	if err := b.first.Loaded(l); err != nil {
		return err
	}
	return b.second.Loaded(l)
}

func (b both) Started(r *Record) error {
	if err := b.first.Started(r); err != nil {
		return err
	}
	return b.second.Started(r)
}

// Ended tells both, whatever the first one says: what has run has ended.
func (b both) Ended(r *Record) error { return errors.Join(b.first.Ended(r), b.second.Ended(r)) }

func (b both) Decided(r *Record, word string) error {
	if err := b.first.Decided(r, word); err != nil {
		return err
	}
	return b.second.Decided(r, word)
}

// MemoryRecorder keeps the last records in memory, for tests and for a process
// that ends with its call.
type MemoryRecorder struct {
	mu      sync.Mutex
	records []Record // a ring once it is full
	next    int      // where the next record goes then
	most    int
	loads   []Load
	words   []string // of decisions, with the approval's id
}

// NewMemoryRecorder keeps at most the given number of records, at least one.
func NewMemoryRecorder(most int) *MemoryRecorder { return &MemoryRecorder{most: max(most, 1)} }

// Loaded implements Recorder.
func (m *MemoryRecorder) Loaded(l Load) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loads = append(m.loads, l)
	return nil
}

// Loads gives the loads, oldest first.
func (m *MemoryRecorder) Loads() []Load {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.loads)
}

// Started implements Recorder.
func (m *MemoryRecorder) Started(*Record) error { return nil }

// Decided implements Recorder.
func (m *MemoryRecorder) Decided(r *Record, word string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.words = append(m.words, word+" by "+r.Approver)
	return nil
}

// Words gives the words of decisions, oldest first: "approved by usr-grace".
func (m *MemoryRecorder) Words() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.words)
}

// Ended implements Recorder.
func (m *MemoryRecorder) Ended(r *Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.records) < m.most {
		m.records = append(m.records, *r)
		return nil
	}
	m.records[m.next] = *r
	m.next = (m.next + 1) % m.most
	return nil
}

// Records gives what is kept, oldest first.
func (m *MemoryRecorder) Records() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Concat(m.records[m.next:], m.records[:m.next])
}
