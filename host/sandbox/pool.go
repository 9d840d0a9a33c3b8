package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pool keeps the instances of all the modules of an engine, and decides which call gets one.
//
//   - A call takes an instance that stands at its module's image; else one that must be put back first, which the
//     call does itself; else it makes one. If its module has as many as it may, or the memory of all is used up, it
//     waits within its time: within a module in the order of coming, between modules in turn.
//   - While a call has it, an instance counts with all the memory that it may come to have, and else with what it
//     has. Idle instances give way to a call that needs memory, those first that were idle longest.
//   - What a call leaves is put back beside the caller's path. What ended badly or has grown is closed.
//   - When a call takes the last one that was ready, the next is made beside it.
//   - What was idle for a while is closed.
type pool struct {
	total int64         // bytes that the instances may count with
	idle  time.Duration // how long an instance may be

	mu      sync.Mutex // guards what follows, and the instances of each module
	counted int64
	modules map[*Module]bool // that are open
	queue   []*Module        // that have waiters, in turn
	left    []*Module        // that have instances to be put back
	staying bool             // a goroutine puts them back, and looks for more for a while
	helping bool             // another one does, and ends with the last
	ticking bool             // a timer is set that closes what is idle
}

// instances are those of one module.
type instances struct {
	most    int // that there may be
	all     int // that there are, or are being made
	calls   int // what holds one or waits for one: Close unmaps the code that runs
	taken   uint64
	ready   []*instance // those that were idle longest first
	used    []*instance // to be put back
	listed  bool        // in pool.left
	filling bool        // one is being made ahead
	// stopFill ends the making ahead; nil: none was begun.
	stopFill context.CancelFunc
	waiters  []*waiter
	closed   bool
	quiet    chan struct{} // closed when calls is 0 after Close
}

// waiter is a call that waits. It is given nothing, by closing, when its module is closed.
type waiter struct{ got chan *instance }

// open lets calls into a module.
func (p *pool) open(m *Module) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.modules[m] = true
}

// get gives a call an instance: at the image, or stale, or without a guest yet.
func (p *pool) get(m *Module, c *call) (*instance, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if m.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	m.calls++
	m.taken++
	if len(p.queue) == 0 {
		if i, _ := p.next(m); i != nil {
			p.fillAhead(m, c)
			p.mu.Unlock()
			return i, nil
		}
	}
	w := &waiter{got: make(chan *instance, 1)}
	if m.waiters = append(m.waiters, w); len(m.waiters) == 1 {
		p.queue = append(p.queue, m)
	}
	p.serve()
	p.mu.Unlock()
	select {
	case i := <-w.got:
		if i == nil {
			p.leave(m)
			return nil, errClosed
		}
		return i, nil
	case <-c.ctx.Done():
		p.giveUp(m, w)
		return nil, c.ctx.Err()
	}
}

// next gives what the module's next call gets; none if it must wait, for memory or for another call of the module.
func (p *pool) next(m *Module) (i *instance, forMemory bool) {
	limit := int64(m.limit)
	from := &m.ready
	if len(*from) == 0 {
		from = &m.used
	}
	if n := len(*from); n > 0 {
		i = (*from)[n-1]
		*from = (*from)[:n-1] // so that it does not make way for itself
		if !p.room(limit - i.counted) {
			*from = append(*from, i)
			return nil, true
		}
		p.count(i, limit)
		return i, false
	}
	if m.all >= m.most {
		return nil, false
	}
	if !p.room(limit) {
		return nil, true
	}
	return p.add(m), false
}

// add gives a place for an instance that is to be made.
func (p *pool) add(m *Module) *instance {
	m.all++
	i := &instance{memory: linearMemory{limit: m.limit, track: !m.cell.none.Load() && theTracker() != nil}}
	p.count(i, int64(m.limit))
	return i
}

// count changes what an instance counts with.
func (p *pool) count(i *instance, bytes int64) {
	p.counted += bytes - i.counted
	i.counted = bytes
}

// room makes room for so many bytes more, if it can.
func (p *pool) room(bytes int64) bool {
	for p.counted+bytes > p.total {
		var oldest *Module
		for m := range p.modules {
			if len(m.ready) > 0 && (oldest == nil || m.ready[0].since < oldest.ready[0].since) {
				oldest = m
			}
		}
		if oldest == nil {
			return false
		}
		p.remove(oldest, oldest.ready[0])
		oldest.ready = slices.Delete(oldest.ready, 0, 1)
	}
	return true
}

// remove closes an instance that is in no list.
func (p *pool) remove(m *Module, i *instance) {
	m.all--
	p.count(i, 0)
	i.close()
}

// serve gives to those that wait what there is, in turn. Who waits for memory keeps all others waiting that come later, so
// that it gets some.
func (p *pool) serve() {
	for without := 0; without < len(p.queue); {
		m := p.queue[0]
		i, forMemory := p.next(m)
		if forMemory {
			return
		}
		p.queue = slices.Delete(p.queue, 0, 1)
		without++
		if i != nil {
			without = 0
			m.waiters[0].got <- i
			m.waiters = slices.Delete(m.waiters, 0, 1)
		}
		if len(m.waiters) > 0 {
			p.queue = append(p.queue, m)
		}
	}
}

// giveUp takes a call out of the queue whose time is over.
func (p *pool) giveUp(m *Module, w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := slices.Index(m.waiters, w); n >= 0 {
		if m.waiters = slices.Delete(m.waiters, n, n+1); len(m.waiters) == 0 {
			p.queue = without(p.queue, m)
		}
	} else if i := <-w.got; i != nil { // just now
		p.putAside(m, i)
	}
	p.gone(m)
}

// give takes back what get gave.
func (p *pool) give(m *Module, i *instance, well bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if well && m.image() != nil && m.image().fits(i) {
		i.stale = true
		p.putAside(m, i)
	} else {
		p.remove(m, i)
	}
	p.gone(m)
}

// giveUnused takes back an instance that no call has had.
func (p *pool) giveUnused(m *Module, i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i.since = now()
	p.putAside(m, i)
	p.gone(m)
}

// putAside keeps an instance that a call has had.
func (p *pool) putAside(m *Module, i *instance) {
	if i.guest == nil || m.closed {
		p.remove(m, i)
		return
	}
	p.count(i, i.memory.held())
	if !i.stale {
		p.keep(m, i)
		return
	}
	m.used = append(m.used, i)
	if !m.listed {
		m.listed = true
		p.left = append(p.left, m)
	}
	p.startPutting(m)
}

// keep adds an instance to those that are ready.
func (p *pool) keep(m *Module, i *instance) {
	m.ready = append(m.ready, i)
	if !p.ticking {
		p.ticking = true
		time.AfterFunc(p.idle/2, p.closeIdle)
	}
}

// enter keeps a module open for what is not a call.
func (p *pool) enter(m *Module) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.closed {
		return false
	}
	m.calls++
	return true
}

// leave ends what has entered, or a call that has got nothing.
func (p *pool) leave(m *Module) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone(m)
}

// gone counts a call less, and lets those go on that wait for what it gave back.
func (p *pool) gone(m *Module) {
	if m.calls--; m.closed && m.calls == 0 {
		close(m.quiet)
	}
	p.serve()
}

// close lets no further call into a module. The channel that it gives is closed when the last one has left.
func (p *pool) close(m *Module) (quiet <-chan struct{}, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.closed {
		return m.quiet, false
	}
	m.closed = true
	p.queue = without(p.queue, m)
	for _, w := range m.waiters {
		close(w.got)
	}
	m.waiters = nil
	p.drop(m)
	if m.stopFill != nil {
		m.stopFill()
	}
	if m.calls == 0 {
		close(m.quiet)
	}
	p.serve() // those behind it
	return m.quiet, true
}

// drop closes the instances of a module that no call holds.
func (p *pool) drop(m *Module) {
	for _, i := range slices.Concat(m.ready, m.used) {
		p.remove(m, i)
	}
	m.ready, m.used = nil, nil
}

// forget ends a module that no call holds.
func (p *pool) forget(m *Module) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(m)
	delete(p.modules, m)
	p.left = without(p.left, m)
	p.serve()
}

// without takes a module out of a list.
func without(list []*Module, m *Module) []*Module {
	return slices.DeleteFunc(list, func(other *Module) bool { return other == m })
}
