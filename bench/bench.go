package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"sync"
	"time"
)

// options of a run.
type options struct {
	only    *regexp.Regexp // of the ways; nil: all
	rounds  int
	slice   time.Duration // a row has two in each round: one for one caller, one for many
	callers int
	stderr  io.Writer
}

// callers is how many call side by side. A way with another process does best with more than there are processors,
// the others do no worse.
func callers() int { return 2 * runtime.GOMAXPROCS(0) }

func full() options {
	return options{rounds: 15, slice: 270 * time.Millisecond, callers: callers()}
}

func quick() options {
	return options{rounds: 5, slice: 60 * time.Millisecond, callers: callers()}
}

// bench holds what a run opens beyond its own process.
type bench struct {
	guests  guests
	closing sync.Mutex
	closers []func()
}

func (b *bench) onClose(f func()) {
	b.closing.Lock()
	defer b.closing.Unlock()
	b.closers = append(b.closers, f)
}

func (b *bench) close() {
	for _, f := range b.closers {
		f()
	}
}

// run builds, opens, checks and measures.
func run(ctx context.Context, o options) ([]figures, error) {
	b := &bench{}
	defer b.close()
	var err error
	if b.guests, err = build(ctx); err != nil {
		return nil, err
	}
	// A call has no other end than its own deadline: what cancels the run is not a cost of a row.
	prepared, err := prepareAll(context.WithoutCancel(ctx), rows(b), o)
	if err != nil {
		return nil, err
	}
	return measure(ctx, prepared, o)
}

// prepareAll opens the rows, as many side by side as there are processors. What cannot run here is said and left out.
func prepareAll(ctx context.Context, all []row, o options) ([]*ready, error) {
	opened, failed := make([]*ready, len(all)), make([]error, len(all))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for n, r := range all {
		if o.only != nil && !o.only.MatchString(r.way) {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			opened[n], failed[n] = prepare(ctx, r, o.callers)
		})
	}
	wait.Wait()
	var out []*ready
	for n, r := range all {
		var wrong wrongError
		switch err := failed[n]; {
		case errors.As(err, &wrong):
			return nil, wrong
		case err != nil:
			fmt.Fprintf(o.stderr, "left out: %v: %v\n", r, err)
		case opened[n] != nil:
			out = append(out, opened[n])
		}
	}
	return out, nil
}
