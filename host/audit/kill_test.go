package audit

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/toolhost/toolhost/host/state"
)

// childOf, in the environment, makes the test binary a host that appends to the
// log of that place until it is killed.
const childOf = "TOOLHOST_AUDIT_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childOf); dir != "" {
		fmt.Fprintln(os.Stderr, appendForever(place{dir}))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendForever appends from several goroutines, and writes the id of each call
// to stdout once Append has answered: from then on its entry must be there (A1).
func appendForever(p place) error {
	s, err := state.Open(p.path("state/state.db"))
	if err != nil {
		return err
	}
	o := p.hostOptions()
	o.State, o.CheckpointEntries = s, 20
	l, err := Open(o)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range 8 {
		go func() {
			for {
				e := ended(rand.IntN(1_000_000), fmt.Sprintf("C-%05d", rand.IntN(50)))
				e.Call.ID = fmt.Sprintf("%016X", rand.Uint64())
				if err := appendCall(l, e); err != nil {
					failed <- err
					return
				}
				_, _ = os.Stdout.WriteString(e.Call.ID + "\n") // the parent has died: so will this
			}
		}()
	}
	return <-failed
}

// appendCall appends the end of a call, and of every second one its start before.
func appendCall(l *Log, e Event) error {
	if e.GoesOn = rand.IntN(2) == 0; e.GoesOn {
		if err := l.Append(startOf(e)); err != nil {
			return err
		}
	}
	return l.Append(e)
}

// startOf is the start that nobody waits for of a call that ends so.
func startOf(e Event) Event {
	call := *e.Call
	call.Ended, call.Outcome, call.Ran, call.Usage, call.Uses = time.Time{}, "", false, nil, nil
	return Event{Kind: Started, At: e.At, Call: &call, Who: e.Who, Values: e.Values[:1], Soon: true}
}

// What a call was answered with is in the log, whenever the host is killed;
// what the kill has left is put right, and that is an entry (A1, A7).
func TestKilled(t *testing.T) {
	t.Parallel()
	const kills, enough = 50 / min(slow, 2), 1000 // the least, of each
	p := newPlace(t)
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any will do
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	read := reading{ids: map[string]bool{}, starts: map[string]bool{}}
	answered, recoveries := 0, 0
	for n := 0; n < kills || answered < enough; n++ {
		if n == 4*kills {
			t.Fatalf("only %d calls were answered: too few to tell", answered)
		}
		answers, after := 1+random.IntN(120), time.Duration(random.Int64N(int64(3*time.Millisecond)))
		if n%5 == 4 { // while it opens the log, or soon after
			answers, after = 0, time.Duration(random.Int64N(int64(60*time.Millisecond)))
		}
		ids := killed(t, p, answers, after)
		answered += len(ids)
		broken := p.brokenBy(t)
		must(t, p.open(t).Close())
		read.on(t, p)
		for _, id := range ids {
			if !read.ids[id] {
				t.Fatalf("kill %d: %s was answered and is not in the log", n, id)
			}
		}
		switch told := read.recovery; {
		case broken != Recovery{} && (told == nil || *told != broken):
			t.Fatalf("kill %d: what the kill left, %+v, was told as %+v", n, broken, told)
		case broken == Recovery{} && told != nil:
			t.Fatalf("kill %d: nothing was left, and a recovery was told: %+v", n, told)
		case told != nil:
			recoveries++
		}
		r, err := Verify(p.folder(), VerifyOptions{Public: p.public(t), Kept: p.kept(t)})
		must(t, err)
		wantTold(t, r)
	}
	r := wantSound(t, p)
	t.Logf("%d answered, %d entries, %d recoveries", answered, r.Entries, recoveries)
}

// killed runs a host, kills it some time after so many answers, and gives the
// ids that it answered.
func killed(t *testing.T, p place, answers int, after time.Duration) (ids []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), childOf+"="+p.dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	in := bufio.NewScanner(out)
	for len(ids) < answers && in.Scan() {
		ids = append(ids, in.Text())
	}
	time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // Wait tells
	for in.Scan() {
		ids = append(ids, in.Text())
	}
	must(t, in.Err())
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the host was not killed, it ended: %v\n%s", err, said.Bytes())
	}
	return ids
}

// brokenBy is what is not whole in the folder.
func (p place) brokenBy(t *testing.T) Recovery {
	t.Helper()
	var out Recovery
	lines, tree := p.mayRead(t, entriesFile), p.mayRead(t, treeFile)
	whole := lines[:bytes.LastIndexByte(lines, '\n')+1]
	out.EntryBytes = int64(len(lines) - len(whole))
	n, have := int64(bytes.Count(whole, []byte("\n"))), int64(len(tree))/tlog.HashSize
	for i := range n {
		if tlog.StoredHashCount(i+1) > have { // from the first line on that lacks one, all are written
			out.Hashes = tlog.StoredHashCount(n) - tlog.StoredHashCount(i)
			break
		}
	}
	_, torn := splitNotes(p.mayRead(t, checkpointsFile))
	out.CheckpointBytes = int64(len(torn))
	return out
}

func (p place) mayRead(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(p.file(name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data
}

// A reading reads on in entries.jsonl.
type reading struct {
	bytes    int64
	ids      map[string]bool // of calls that ended
	starts   map[string]bool // and of those that started
	recovery *Recovery       // in the part that was read last
}

func (r *reading) on(t *testing.T, p place) {
	t.Helper()
	r.recovery = nil
	data := p.read(t, entriesFile)
	for line := range bytes.Lines(data[r.bytes:]) {
		switch e := entry(t, string(bytes.TrimSuffix(line, []byte("\n")))); {
		case e.Kind == Started && (r.starts[e.Call.ID] || r.ids[e.Call.ID]), e.Call != nil && r.ids[e.Call.ID]:
			t.Fatalf("%s stands twice in the log, or started after its end", e.Call.ID)
		case e.Kind == Started:
			r.starts[e.Call.ID] = true
		case e.Call != nil:
			r.ids[e.Call.ID] = true
		case e.Recovery != nil:
			r.recovery = e.Recovery
		}
	}
	r.bytes = int64(len(data))
}
