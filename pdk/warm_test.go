package pdk

import (
	"errors"
	"testing"
)

// forget takes away what earlier tests and warmUp have made.
func forget(t *testing.T) {
	t.Helper()
	clean := func() {
		tool, ready, spare, responses, longest = nil, nil, nil, nil, leastRoom
		plansLock.Lock()
		defer plansLock.Unlock()
		clear(plans)
		for i := range recent {
			recent[i].Store(nil)
		}
	}
	clean()
	t.Cleanup(clean)
}

type warmArguments struct {
	ID    string         `json:"id"`
	Count int            `json:"count"`
	Rest  map[string]any `json:"rest"`
}

type warmResult struct {
	ID   string  `json:"id"`
	Rows []Row   `json:"rows"`
	Next *string `json:"next,omitempty"`
}

// once is a call as serve makes one, with a host that is a table.
func once(t *testing.T, f func(warmArguments) (any, error)) string {
	t.Helper()
	asked := 0
	raw, err := ask("toolhost.arguments", host(statusOK, `{"id":"x","count":2,"rest":{"n":1.00}}`, &asked), nil)
	if err != nil {
		t.Fatal(err)
	}
	var a warmArguments
	if err := decodeKept(raw, &a); err != nil {
		t.Fatal(err)
	}
	value, err := f(a)
	if err != nil {
		t.Fatal(err)
	}
	var said string
	_, err = tell("toolhost.result", func(request, _ []byte) uint64 { said = string(request); return statusOK }, value)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func TestWarmUpChangesNoCall(t *testing.T) {
	call := func(a warmArguments) (any, error) {
		var rows Rows
		asked := 0
		err := exchange("records.list", host(statusOK, `{"rows":[{"total":216.00},{"note":"<&>"}],"more":true}`, &asked), &listRequest{From: "orders"}, &rows)
		return map[string]any{"a": a, "r": warmResult{ID: a.ID, Rows: rows.Rows}, "more": rows.More}, err
	}
	forget(t)
	cold := once(t, call)
	forget(t)
	called := false
	Tool(func(Call, warmArguments) (warmResult, error) { called = true; return warmResult{}, nil })
	warmUp()
	if called {
		t.Error("warm_up calls the author's function")
	}
	if warm := once(t, call); warm != cold {
		t.Errorf("%s, and without warm_up %s", warm, cold)
	}
	warmUp()
	if again := once(t, call); again != cold {
		t.Errorf("%s, and without warm_up %s", again, cold)
	}
}

// panicky panics whatever is done with it.
type panicky struct{}

func (panicky) MarshalJSON() ([]byte, error) { panic("on purpose") }

func (*panicky) UnmarshalJSON([]byte) error { panic("on purpose") }

func TestWarmUpSwallowsPanics(t *testing.T) {
	forget(t)
	Tool(func(Call, panicky) (panicky, error) { return panicky{}, errors.New("not called") })
	warmUp()
	forget(t)
	warmUp() // and is content without a tool
}

func TestWarmUpPlansTheTypesOfTheTool(t *testing.T) {
	forget(t)
	Tool(func(Call, warmArguments) (*warmResult, error) { return nil, nil })
	warmUp()
	plansLock.Lock()
	before := len(plans)
	plansLock.Unlock()
	once(t, func(warmArguments) (any, error) {
		var rows Rows
		asked := 0
		err := exchange("records.search", host(statusOK, `{"rows":[]}`, &asked), &searchRequest{}, &rows)
		return &warmResult{Rows: rows.Rows}, err
	})
	plansLock.Lock()
	defer plansLock.Unlock()
	if len(plans) != before {
		t.Errorf("%d types were planned in the call", len(plans)-before)
	}
}
