package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
)

// A caseFile is one system of testdata/cases: who asks, the rows that its text
// names, and proposals with the decision that must come back. What else stands
// in a file ("how", "rule", "then", ...) is for readers.
type caseFile struct {
	System   string                                  `json:"system"`
	Tool     string                                  `json:"tool"`
	Sessions map[string]map[string]string            `json:"sessions"`
	Records  map[string][]map[string]json.RawMessage `json:"records"`
	Calls    []caseCall                              `json:"calls"`
	Today    string                                  `json:"today"` // "": the day on which it is decided

	path string
}

type caseCall struct {
	Session      string   `json:"session"` // empty: the file's only one
	Tool         string   `json:"tool"`    // empty: the file's
	Arguments    string   `json:"arguments"`
	Outcome      string   `json:"outcome"`
	Gate         string   `json:"gate"`
	Code         string   `json:"code"`
	Field        string   `json:"field"`
	ModelSees    []string `json:"model_sees"`
	ModelMustNot []string `json:"model_must_not_see"`
	SameWords    string   `json:"same_words"`
	IDs          []string `json:"ids"` // of what is found, in any order; nil: nothing is said of them
	GuestRuns    *bool    `json:"guest_runs"`
}

func readCases(path string) (*caseFile, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f caseFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := f.today(); err != nil {
		return nil, fmt.Errorf("%s: today: %w", path, err)
	}
	only := ""
	if len(f.Sessions) == 1 {
		only = slices.Collect(maps.Keys(f.Sessions))[0]
	}
	for i := range f.Calls {
		c := &f.Calls[i]
		c.Tool, c.Session = cmp.Or(c.Tool, f.Tool), cmp.Or(c.Session, only)
		if f.Sessions[c.Session] == nil {
			return nil, fmt.Errorf("%s: call %d: no session %q in this file", path, i+1, c.Session)
		}
	}
	return &f, nil
}

// demoCases are the files that the demo decides, all on one config.
func demoCases() []string {
	return []string{"testdata/cases/orders.json", "testdata/cases/notices.json", "testdata/cases/desk.json", "testdata/cases/leave.json"}
}

func readDemoCases(root string) ([]*caseFile, error) {
	var files []*caseFile
	for _, path := range demoCases() {
		f, err := readCases(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		f.path = path
		files = append(files, f)
	}
	return files, nil
}

// today is the noon of the file's day, in UTC; the zero time where it names none.
func (f *caseFile) today() (time.Time, error) {
	if f.Today == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, f.Today)
	return day.Add(12 * time.Hour), err
}

// A caseClock is the clock of a host that decides cases: it stands on the day
// of the file, and runs where the file names none.
type caseClock struct{ day atomic.Pointer[time.Time] }

func (k *caseClock) set(f *caseFile) {
	day, _ := f.today() // readCases has read it
	k.day.Store(&day)
}

func (k *caseClock) now() time.Time {
	if day := k.day.Load(); day != nil && !day.IsZero() {
		return *day
	}
	return time.Now()
}

func (f *caseFile) session(name string) host.Session {
	s := host.Session{Attributes: map[string]string{}}
	for key, value := range f.Sessions[name] {
		switch key {
		case "subject":
			s.Subject = value
		case "tenant":
			s.Tenant = value
		case "role":
			s.Role = value
		default:
			s.Attributes[key] = value
		}
	}
	return s
}

// A caseCheck holds outcomes against what a file records. It remembers the
// words of each same_words group.
type caseCheck struct {
	words map[string]string
}

// differences says in what an outcome differs from the record; nothing: in nothing.
func (k *caseCheck) differences(c caseCall, o host.Outcome, guestRan bool) []string {
	var out []string
	want := func(what, got, want string) {
		if want != "" && got != want {
			out = append(out, fmt.Sprintf("%s is %q, recorded is %q", what, got, want))
		}
	}
	want("outcome", o.State.String(), c.Outcome)
	want("gate", o.Gate.String(), c.Gate)
	want("code", o.Code, c.Code)
	want("field", o.Field, c.Field)
	for _, s := range c.ModelSees {
		if !bytes.Contains(o.Result, []byte(s)) {
			out = append(out, fmt.Sprintf("the model does not see %q", s))
		}
	}
	for _, s := range c.ModelMustNot {
		if bytes.Contains(o.Result, []byte(s)) {
			out = append(out, fmt.Sprintf("the model sees %q", s))
		}
	}
	if c.GuestRuns != nil && *c.GuestRuns != guestRan {
		out = append(out, fmt.Sprintf("a guest ran: %t", guestRan))
	}
	if c.IDs != nil {
		want("the list of ids", strings.Join(idsIn(o.Result), " "), cmp.Or(strings.Join(slices.Sorted(slices.Values(c.IDs)), " "), "none"))
	}
	if c.SameWords != "" {
		words := strings.ReplaceAll(string(o.Result), askedID(c), "ID")
		if first, ok := k.words[c.SameWords]; ok {
			want("the group "+c.SameWords, words, first)
		}
		k.words[c.SameWords] = words
	}
	return out
}

// idsIn gives the member id of each object in the arrays of a result, sorted;
// "none" where there is none.
func idsIn(result []byte) []string {
	v, err := strictjson.Read(result, strictjson.Default(len(result)))
	if err != nil {
		return []string{err.Error()}
	}
	var ids []string
	for _, member := range v.Members() {
		for _, item := range member.Items() {
			if id, ok := item.TextAt("id"); ok {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return []string{"none"}
	}
	slices.Sort(ids)
	return ids
}

// askedID is the one argument of a case whose words must be the same as others'.
func askedID(c caseCall) string {
	v, err := strictjson.Read([]byte(c.Arguments), strictjson.Default(1000))
	if err != nil {
		return "\x00"
	}
	for _, member := range v.Members() {
		if s, ok := member.Text(); ok && s != "" {
			return s
		}
	}
	return "\x00"
}
