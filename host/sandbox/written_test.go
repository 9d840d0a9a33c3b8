package sandbox

import (
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
)

// withTracker has a test's instances watched by a tracker, however small they are; nil: by none.
func withTracker(t testing.TB, use tracker) {
	before, smallest := theTracker, smallestWatched
	theTracker, smallestWatched = func() tracker { return use }, pageSize
	t.Cleanup(func() {
		theTracker, smallestWatched = before, smallest
		distrusted.Store(false)
	})
}

// bothWays runs a test with all memory compared, and, where the kernel can be asked, with what it says.
func bothWays(t *testing.T, test func(t *testing.T)) {
	t.Run("compared", func(t *testing.T) {
		withTracker(t, nil)
		test(t)
	})
	t.Run("watched", func(t *testing.T) {
		kernel := theTracker()
		if kernel == nil {
			_, err := newTracker()
			t.Log("the kernel cannot be asked: ", err)
			return
		}
		withTracker(t, kernel)
		test(t)
		if distrusted.Load() {
			t.Error("the kernel has missed a write")
		}
	})
}

// TestTrackerSeesEachWrite, and no other, for random writes of the process and of system calls.
func TestTrackerSeesEachWrite(t *testing.T) {
	kernel := theTracker()
	if kernel == nil {
		t.Log("the kernel cannot be asked")
		return
	}
	const pages = 500
	memory, err := mapMemory(pages * blockSize)
	if err != nil {
		t.Fatal(err)
	}
	defer unmapMemory(memory)
	if err := kernel.watch(memory); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		want, got := map[int]bool{}, map[int]bool{}
		for range r.IntN(150) {
			n := r.IntN(pages)
			memory[n*blockSize+r.IntN(blockSize)] = byte(r.Uint32())
			want[n] = true
		}
		_ = memory[r.IntN(len(memory))] // a read is none
		if err := kernel.written(memory, func(from, to int) {
			for at := from; at < to; at += blockSize {
				got[at/blockSize] = true
			}
		}); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("round %d: %d pages were written, %d are said to be", round, len(want), len(got))
		}
		for n := range want {
			if err := kernel.unwritten(memory[n*blockSize:][:blockSize]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// untrue is a tracker that sees nothing, or cannot be asked.
type untrue struct{ watching, asked error }

func (u untrue) watch([]byte) error                   { return u.watching }
func (u untrue) written([]byte, func(int, int)) error { return u.asked }
func (u untrue) unwritten([]byte) error               { return u.asked }

// TestTrackerThatFails is not needed: all is compared then.
func TestTrackerThatFails(t *testing.T) {
	gone := errors.New("gone")
	for name, u := range map[string]untrue{"watch": {watching: gone}, "written": {asked: gone}} {
		t.Run(name, func(t *testing.T) {
			withTracker(t, u)
			m := openModule(t, engineOf(t, Options{}), keeper().bytes(), Limits{Memory: 1 << 20})
			for n := range 20 {
				if why := secretCall(m, uint32(n+1), 0); why != "" {
					t.Fatal(why)
				}
			}
		})
	}
}

// TestTrackerThatLies is found out: it misses what was written until all is compared, and is asked no more from then on.
func TestTrackerThatLies(t *testing.T) {
	withTracker(t, untrue{})
	m := openModule(t, engineOf(t, Options{Memory: 1 << 20}), keeper().bytes(), Limits{Memory: 1 << 20})
	missed := 0
	for n := range 4 * checkEvery {
		if secretCall(m, uint32(n+1), 0) != "" {
			missed = n + 1
		}
	}
	if missed == 0 || missed > checkEvery+2 || !distrusted.Load() {
		t.Errorf("the last secret was found after %d calls; distrusted: %v", missed, distrusted.Load())
	}
	if tracks(untrue{}) == nil {
		t.Error("it would have passed at the start")
	}
}

// TestHotBlocksAreNotWatched: after some calls a call's first write to a block that all of them write costs nothing.
func TestHotBlocksAreNotWatched(t *testing.T) {
	if theTracker() == nil {
		t.Log("the kernel cannot be asked")
		return
	}
	withTracker(t, theTracker())
	m := openModule(t, engineOf(t, Options{}), keeper().bytes(), Limits{Memory: 1 << 20, Instances: 1})
	for n := range 10 {
		if why := secretCall(m, uint32(n+1), 0); why != "" {
			t.Fatal(why)
		}
	}
	hot := 0
	for n := range m.image().heat {
		if m.image().heat[n].Load() >= hotFrom {
			hot++
		}
	}
	if hot != 2 { // the first page of the guest's, where the secret lies in two places, and the last
		t.Errorf("%d of %d blocks are hot", hot, len(m.image().heat))
	}
}
