package sandbox

import (
	"cmp"
	"context"
	"os"
	"sync"
	"testing"
	"time"
)

// TestSoak makes a day's calls and more in an hour, some of which end badly or grow, and wants memory to stay what it is after the first tenth.
// It runs with TOOLHOST_NIGHTLY=1, for an hour or for what TOOLHOST_SOAK says, like 2m.
func TestSoak(t *testing.T) {
	if os.Getenv("TOOLHOST_NIGHTLY") == "" {
		t.Skip("an hour long: only with TOOLHOST_NIGHTLY=1")
	}
	long, err := time.ParseDuration(cmp.Or(os.Getenv("TOOLHOST_SOAK"), "1h"))
	if err != nil {
		t.Fatal(err)
	}
	e := engineOf(t, Options{Idle: time.Second})
	modules := []*Module{
		openModule(t, e, buildGo(t, "../../plugins/get_order"), Limits{Memory: 32 << 20}),
		openModule(t, e, keeper().bytes(), Limits{Memory: 1 << 20}),
		openModule(t, e, grownKeeper(), Limits{Memory: 1 << 20}),
		openModule(t, e, keeper(opUnreachable).bytes(), Limits{Memory: 1 << 20}),
	}
	// soak calls for so long and says how often, and what the process takes when all is idle, in MiB.
	soak := func(d time.Duration) (calls, mib int) {
		var mu sync.Mutex
		var wait sync.WaitGroup
		for caller := range 8 {
			wait.Go(func() {
				n := 0
				for end := time.Now().Add(d); time.Now().Before(end); n++ {
					f, _, _ := order(`{"order_id":"LK-702219"}`)
					_, _, _ = modules[(caller+n)%len(modules)].Run(context.Background(), bounds(f))
				}
				mu.Lock()
				defer mu.Unlock()
				calls += n
			})
		}
		wait.Wait()
		eventually(t, "all is idle", func() bool { e.pool.mu.Lock(); defer e.pool.mu.Unlock(); return e.pool.counted == 0 })
		return calls, resident(t)
	}
	_, first := soak(long / 10)
	calls, last := soak(long * 9 / 10)
	t.Logf("%d calls; %d MiB after a tenth of them, %d at the end", calls, first, last)
	if calls < 86_400 && long >= time.Hour || last > first+8 {
		t.Errorf("memory grows from %d to %d MiB in %d calls", first, last, calls)
	}
}
