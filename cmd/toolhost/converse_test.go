package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/server"
)

// FuzzConverse: whatever the bytes of a file, it is read or is an error, and then
// nothing was decided; what is read is decided call by call, once each and in
// order, and a final answer is held against outcomes of these calls alone.
func FuzzConverse(f *testing.F) {
	files, err := filepath.Glob("../../testdata/conversations/*.json")
	if err != nil || len(files) < 7 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		conversation, err := server.ReadConversation(text)
		var want []server.FormCall
		for _, turn := range conversation.Turns {
			want = append(want, turn.Calls...)
		}
		if err != nil && len(want) > 0 {
			t.Fatalf("%d calls of a conversation that was not read: %v", len(want), err)
		}
		decided := 0
		k := &converser{form: conversation.Form, ticket: conversation.Ticket, shown: func(p host.Proposal) string { return string(p.Arguments) }}
		k.trace = func(p host.Proposal) (host.Outcome, []host.Answer) {
			if decided == len(want) || p.Tool != want[decided].Tool || !bytes.Equal(p.Arguments, want[decided].Arguments) {
				t.Fatalf("decides %s %s", p.Tool, p.Arguments)
			}
			decided++
			return host.Outcome{State: host.OK, Tool: p.Tool, CallID: fmt.Sprint(decided), Result: []byte(`{"ok":true}`)}, nil
		}
		k.check = func(r host.Reply) host.ReplyOutcome {
			if len(r.Results) != decided || r.Ticket != conversation.Ticket {
				t.Fatalf("%d results after %d calls", len(r.Results), decided)
			}
			return host.ReplyOutcome{Valid: true}
		}
		var steps []byte
		k.tell = func(s conversationStep) { steps = s.appendJSON(steps) }
		k.run(conversation.Turns)
		if decided != len(want) {
			t.Errorf("%d of %d calls were decided", decided, len(want))
		}
		if whole := cleanJSON(k.appendJSON(steps)); !json.Valid(whole) {
			t.Errorf("the steps are no JSON: %s", whole)
		}
	})
}

// The recordings of testdata are in both forms, and each says what it is about.
func TestRecordedConversations(t *testing.T) {
	files, err := filepath.Glob("../../testdata/conversations/*.json")
	if err != nil {
		t.Fatal(err)
	}
	forms := map[server.Form]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := server.ReadConversation(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if s, err := flatSession(c.Session); err != nil || s.ID != "" || s.Attributes["ticket"] == "" {
			t.Errorf("%s: of the session %+v: %v; an id would go on with the loop of the last run", file, s, err)
		}
		forms[c.Form]++
	}
	if forms[server.FormOpenAI] < 4 || forms[server.FormAnthropic] < 1 {
		t.Errorf("recorded are %v", forms)
	}
}
