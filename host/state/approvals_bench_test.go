package state

import (
	"fmt"
	"testing"
)

// BenchmarkProposeAmongMany proposes where 20,000 of 1,000 people wait already.
func BenchmarkProposeAmongMany(b *testing.B) {
	clock := atNoon()
	a := newApprovals(b, clock.now)
	tx, err := a.db.Begin()
	must(b, err)
	for i := range 20_000 {
		_, err := tx.Exec("INSERT INTO approval (id, state, recorded, tool, same, who, digest, content, call, asked, expires) VALUES (?, 'waiting', 1, 'pay', ?, ?, 'd', x'7b7d', 'c', ?, ?)",
			fmt.Sprintf("X%d", i), fmt.Appendf(nil, "same %d", i), fmt.Appendf(nil, "who %d", i%1000), clock.at.UnixMicro(), clock.at.UnixMicro()+1e12)
		must(b, err)
	}
	must(b, tx.Commit())
	n := 0
	for b.Loop() {
		p := write(fmt.Sprintf("N%d", n))
		p.Most = 1 << 30
		_, _, err := a.Propose(p)
		must(b, err)
		n++
	}
}
