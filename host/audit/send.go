package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A sender hands checkpoints to the state database, the last one, and to the
// command of the config, each, in the order of the log. Neither waits for the
// other, and nothing waits for them but Close, and that not for long.
type sender struct {
	command []string
	state   Keeper
	log     hclog.Logger
	most    time.Duration // that one checkpoint, and all of them at Close, may take
	notes   chan []byte   // for the command
	done    chan struct{}
	giveUp  context.CancelFunc

	mu     sync.Mutex
	due    *dueNote      // for the state database; nil: it has the last one
	wake   chan struct{} // there is one, or none will come any more
	kept   chan struct{} // closed when none will come any more and all is kept
	unkept error         // why it does not have the last one
}

// dueNote is a signed checkpoint of so many entries.
type dueNote struct {
	entries int64
	note    []byte
}

// What a command that hangs can hold up.
const (
	sendTime  = 10 * time.Second
	sendQueue = 1000
)

func newSender(o Options) *sender {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sender{
		command: o.CheckpointCommand, state: o.State, log: o.Log, most: cmp.Or(o.sendTime, sendTime),
		notes: make(chan []byte, sendQueue), done: make(chan struct{}), giveUp: cancel,
		wake: make(chan struct{}, 1), kept: make(chan struct{}),
	}
	go s.run(ctx)
	go s.keep()
	return s
}

func (s *sender) send(entries int64, note []byte) {
	s.mu.Lock()
	s.due = &dueNote{entries, note}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
	if len(s.command) == 0 {
		return
	}
	select {
	case s.notes <- note:
	default:
		s.log.Error("a checkpoint was not sent: the checkpoint command is too slow; a later one covers it")
	}
}

// keep puts the last checkpoint into the state database.
func (s *sender) keep() {
	defer close(s.kept)
	for range s.wake {
		s.mu.Lock()
		due := s.due
		s.due = nil
		s.mu.Unlock()
		if due == nil {
			continue
		}
		err := s.state.KeepCheckpoint(due.entries, due.note)
		if err != nil {
			s.log.Error("the state database does not have the last checkpoint; a later one covers it", "error", err)
		}
		s.mu.Lock()
		s.unkept = err
		s.mu.Unlock()
	}
}

func (s *sender) run(ctx context.Context) {
	defer close(s.done)
	left := 0
	for note := range s.notes {
		if ctx.Err() != nil {
			left++
			continue
		}
		if err := s.one(ctx, note); err != nil {
			s.log.Error("the checkpoint command failed; a later checkpoint covers this one", "command", s.command[0], "error", err)
		}
	}
	if left > 0 {
		s.log.Error("checkpoints were not sent: the checkpoint command is too slow", "command", s.command[0], "checkpoints", left)
	}
}

// one runs the command, without a shell, with a checkpoint on its stdin. Of the
// environment it gets what finds programs and a home, and no secret.
func (s *sender) one(ctx context.Context, note []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.most)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Stdin = bytes.NewReader(note)
	cmd.WaitDelay = time.Second
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var said firstBytes
	cmd.Stderr = &said
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and a child of it has not
	}
	if err != nil && len(said) > 0 {
		err = fmt.Errorf("%w: %q", err, []byte(said))
	}
	return err
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes []byte

const maxSaid = 300

func (f *firstBytes) Write(p []byte) (int, error) {
	*f = append(*f, p[:min(len(p), maxSaid-len(*f))]...)
	return len(p), nil
}

// close keeps the last checkpoint and sends what is waiting, as far as there is
// time. The error says that the state database does not have the last one.
func (s *sender) close() error {
	close(s.wake)
	close(s.notes)
	timer := time.AfterFunc(s.most, s.giveUp)
	<-s.kept
	<-s.done
	timer.Stop()
	s.giveUp()
	return s.unkept
}
