package audit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A sender hands checkpoints to the command of the config, one at a time, in
// the order of the log. Nothing waits for it but Close, and that not for long.
type sender struct {
	command []string
	log     hclog.Logger
	most    time.Duration // that one checkpoint, and all of them at Close, may take
	notes   chan []byte
	done    chan struct{}
	giveUp  context.CancelFunc
}

// What a command that hangs can hold up.
const (
	sendTime  = 10 * time.Second
	sendQueue = 1000
)

func newSender(o Options) *sender {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sender{
		command: o.CheckpointCommand, log: o.Log, most: cmp.Or(o.sendTime, sendTime),
		notes: make(chan []byte, sendQueue), done: make(chan struct{}), giveUp: cancel,
	}
	go s.run(ctx)
	return s
}

func (s *sender) send(note []byte) {
	if len(s.command) == 0 {
		return
	}
	select {
	case s.notes <- note:
	default:
		s.log.Error("a checkpoint was not sent: the checkpoint command is too slow; a later one covers it")
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
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if err != nil && said.Len() > 0 {
		err = fmt.Errorf("%w: %q", err, said.Bytes()[:min(said.Len(), 300)])
	}
	return err
}

// close sends what is waiting, as far as there is time.
func (s *sender) close() {
	close(s.notes)
	timer := time.AfterFunc(s.most, s.giveUp)
	<-s.done
	timer.Stop()
	s.giveUp()
}
