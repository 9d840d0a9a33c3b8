package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// figures is what a run says about one row, as -json prints it.
type figures struct {
	Guest string  `json:"guest"`
	Way   string  `json:"way"`
	P50   int64   `json:"p50_ns"`
	P99   int64   `json:"p99_ns"`
	Calls float64 `json:"calls_per_s"`
}

// round is what one round says about a row.
type round struct{ p50, p99, calls float64 }

// measure lets the rows take turns, so that a busy machine is busy for all of them, and gives the medians of the rounds.
func measure(ctx context.Context, all []*ready, o options) ([]figures, error) {
	rounds := make([][]round, len(all))
	for range o.rounds {
		for n, p := range all {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			r, err := p.round(o.slice)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", p.row, err)
			}
			rounds[n] = append(rounds[n], r)
		}
	}
	var out []figures
	for n, p := range all {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("%v: at the end: %w", p.row, err)
		}
		out = append(out, figures{
			Guest: p.guest, Way: p.way,
			P50:   int64(medianOf(rounds[n], func(r round) float64 { return r.p50 })),
			P99:   int64(medianOf(rounds[n], func(r round) float64 { return r.p99 })),
			Calls: medianOf(rounds[n], func(r round) float64 { return r.calls }),
		})
	}
	return out, nil
}

func medianOf(rounds []round, of func(round) float64) float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// round measures one caller for one slice of time and all callers for another. What the rows before left
// is collected first. Each slice makes at least one call.
func (p *ready) round(slice time.Duration) (round, error) {
	runtime.GC()
	times, err := p.alone(slice)
	if err != nil {
		return round{}, err
	}
	runtime.GC()
	calls, err := p.together(slice)
	slices.Sort(times)
	return round{p50: quantile(times, 50), p99: quantile(times, 99), calls: calls}, err
}

// quantile gives the smallest value that so many percent of all do not exceed.
func quantile(sorted []time.Duration, percent int) float64 {
	return float64(sorted[(len(sorted)*percent+99)/100-1])
}

// pause stands between two calls of one caller, who has something to do with a result: what a call leaves to be done beside its
// path is done then. It is in calls/s.
const pause = 250 * time.Microsecond

func (p *ready) alone(slice time.Duration) (times []time.Duration, err error) {
	call := p.callers[0]
	for end := time.Now().Add(slice); len(times) == 0 || time.Now().Before(end); {
		if !p.atOnce {
			busy(pause)
		}
		begin := time.Now()
		result, err := call()
		times = append(times, time.Since(begin))
		if err := p.look(result, err); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// busy keeps its processor, so that the next call finds it awake.
func busy(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

// together gives the calls a second of all callers side by side.
func (p *ready) together(slice time.Duration) (float64, error) {
	var stop atomic.Bool
	var calls atomic.Int64
	var wait sync.WaitGroup
	errs := make([]error, len(p.callers))
	begin := time.Now()
	for n, call := range p.callers {
		wait.Go(func() {
			made := int64(0)
			for made == 0 || !stop.Load() {
				if errs[n] = p.look(call()); errs[n] != nil {
					break
				}
				made++
			}
			calls.Add(made)
		})
	}
	time.Sleep(slice)
	stop.Store(true)
	wait.Wait()
	took := time.Since(begin).Seconds()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(calls.Load()) / took, nil
}

// look holds a result against the one that was right.
func (p *ready) look(result []byte, err error) error {
	if err == nil && !bytes.Equal(result, p.result) {
		err = wrongError{p.row, string(result)}
	}
	return err
}
