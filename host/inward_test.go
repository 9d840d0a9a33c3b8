package host

import (
	"testing"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
)

// The start of a call is waited for wherever something could leave before its
// end: a write, a fetch, an outbox, progress, a kind of grant that is not known here.
func TestInward(t *testing.T) {
	records := &grant{records: &recordsGrant{}}
	of := func(kind string) *grant { return &grant{kind: capabilities.Kind{Name: kind}} }
	for name, tt := range map[string]struct {
		effect   string
		grants   []*grant
		progress func(done, total float64)
		want     bool
	}{
		"nothing-granted":   {effect: effectRead, want: true},
		"records-and-files": {effect: effectRead, grants: []*grant{records, of("files")}, want: true},
		"fetch":             {effect: effectRead, grants: []*grant{records, of("fetch")}},
		"outbox":            {effect: effectRead, grants: []*grant{of("outbox"), records}},
		"a-new-kind":        {effect: effectRead, grants: []*grant{of("clock")}},
		"an-empty-grant":    {effect: effectRead, grants: []*grant{nil}},
		"write":             {effect: effectWrite, grants: []*grant{records}},
		"no-effect":         {effect: "", grants: []*grant{records}},
		"progress":          {effect: effectRead, grants: []*grant{records}, progress: func(float64, float64) {}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bounded
			b.tool = &tool{Tool: config.Tool{Effect: tt.effect}, grants: tt.grants}
			b.proposal.Progress = tt.progress
			if got := b.inward(); got != tt.want {
				t.Errorf("inward is %v, want %v", got, tt.want)
			}
		})
	}
}

// The recorder is told so of a read of rows; of another it waits.
func TestStartOfAReadIsNotWaitedFor(t *testing.T) {
	d := newDesk(t, "", "get_order")
	h := d.open(t)
	var got []bool
	h.recorder = startedRecorder{d.recorder, func(r *Record) { got = append(got, r.inward) }}
	p := ask("get_order", `{"order_id":"LK-500000"}`)
	for range 2 {
		if o := h.Call(t.Context(), tom(), p); o.State != OK {
			t.Fatal(o.Line(), o.Reason)
		}
		p.Progress = func(float64, float64) {}
	}
	if len(got) != 2 || !got[0] || got[1] {
		t.Errorf("inward was %v, want true, and false with somebody who hears of progress", got)
	}
}

type startedRecorder struct {
	*MemoryRecorder
	told func(*Record)
}

func (s startedRecorder) Started(r *Record) error {
	s.told(r)
	return s.MemoryRecorder.Started(r)
}
