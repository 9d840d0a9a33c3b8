package sandbox

import (
	"context"
	"slices"
	"time"
)

// What the pool does beside the calls: it puts instances back, makes one ahead and closes what is idle.

// startPutting sees to it that what is to be put back soon is. To wake a goroutine takes a call some microseconds, so one
// that has nothing more to do stays for a while, and is helped only where the next call would have to wait.
func (p *pool) startPutting(m *Module) {
	switch {
	case !p.staying:
		p.staying = true
		go p.stay()
	case !p.helping && len(m.ready) == 0:
		p.helping = true
		go p.help()
	}
}

// How long a goroutine that puts instances back waits for the next, and how often.
const (
	stayPause = 100 * time.Microsecond
	stayTimes = 20
)

func (p *pool) stay() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for idle := 0; idle < stayTimes; idle++ {
		if p.putBack() {
			idle = 0
		}
		p.mu.Unlock()
		time.Sleep(stayPause)
		p.mu.Lock()
	}
	p.staying = false
	p.putBack() // what came with the last of its time
}

func (p *pool) help() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.putBack()
	p.helping = false
}

// putBack puts back what calls have left, until there is nothing, and says whether there was something.
func (p *pool) putBack() (some bool) {
	for len(p.left) > 0 {
		m := p.left[0]
		if len(m.used) == 0 || m.closed {
			m.listed = false
			p.left = slices.Delete(p.left, 0, 1)
			continue
		}
		i := m.used[0]
		m.used = slices.Delete(m.used, 0, 1)
		m.calls++
		some = true
		p.mu.Unlock()
		m.image().restore(i)
		p.mu.Lock()
		p.putAside(m, i)
		p.gone(m)
	}
	return some
}

// fillAhead makes one more instance beside a call, if the call took the last one. A module that is called for the first
// time may never be called again.
func (p *pool) fillAhead(m *Module, c *call) {
	if len(m.ready)+len(m.used) > 0 || m.filling || m.all >= m.most || m.taken < 2 || p.counted+int64(m.limit) > p.total {
		return
	}
	m.filling = true
	m.calls++
	i := p.add(m)
	ctx, stop := context.WithCancel(context.Background())
	m.stopFill = stop
	ahead := m.newCall(ctx, Call{Time: c.Time, Fuel: c.Fuel, HostCalls: c.HostCalls}, now())
	go func() {
		defer stop()
		defer ahead.ctx.close()
		err := m.make(i, ahead)
		i.since = now()
		p.mu.Lock()
		defer p.mu.Unlock()
		m.filling = false
		if err != nil { // the next call finds out why
			p.remove(m, i)
		} else {
			p.putAside(m, i)
		}
		p.gone(m)
	}()
}

// closeIdle closes what was idle too long.
func (p *pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, some := now().add(-p.idle), false
	for m := range p.modules {
		for len(m.ready) > 0 && m.ready[0].since < before {
			p.remove(m, m.ready[0])
			m.ready = slices.Delete(m.ready, 0, 1)
		}
		some = some || m.all > 0
	}
	if p.ticking = some; some {
		time.AfterFunc(p.idle/2, p.closeIdle)
	}
	p.serve()
}
