package server

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// For any bytes there is an error, or there are calls with ids of their own
// whose arguments the message holds: as bytes, or as its strings one after
// another. Nothing is made up, and nothing panics.
func FuzzCalls(f *testing.F) {
	for _, message := range []string{
		openAIWhole(`"{}"`), openAIWhole(`null`), openAIWhole(`"a\u0041"`),
		openAIDelta(`{"index":0,"id":"a","function":{"name":"t","arguments":"{"}}`) + "\n" + openAIDelta(`{"index":0,"function":{"arguments":"}"}}`),
		"data: " + openAIDelta(`{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}`) + "\n\ndata: [DONE]\n",
		anthropicWhole(`{"n": 1.0}`), anthropicStream("{}", `"{\"n\":"`, `"1}"`), anthropicStream(`{"n":1}`),
		geminiWhole(`{"name":"t","args":{"n":1}}`), "[" + geminiWhole(`{"id":"a","name":"t"}`) + "]",
	} {
		f.Add([]byte(message))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, form := range CallForms() {
			calls, err := form.Calls(message)
			if err != nil {
				if calls != nil {
					t.Errorf("%s: %d calls beside %v", form, len(calls), err)
				}
				continue
			}
			ids, strs := map[string]bool{}, stringsOf(message)
			for _, c := range calls {
				if c.ID == "" && form != FormGemini || c.ID != "" && ids[c.ID] || c.Tool == "" {
					t.Errorf("%s: %q of %q", form, c.ID, c.Tool)
				}
				ids[c.ID] = true
				if !bytes.Contains(message, c.Arguments) && !joined(string(c.Arguments), strs) {
					t.Errorf("%s: %q is not in the message", form, c.Arguments)
				}
			}
			if len(calls) == 0 || len(calls) > maxFormCalls {
				t.Errorf("%s: %d calls", form, len(calls))
			}
		}
	})
}

// stringsOf gives the strings of every document, in their order.
func stringsOf(message []byte) []string {
	docs, _ := formDocuments(message)
	var out []string
	var walk func(strictjson.Value)
	walk = func(v strictjson.Value) {
		if s, ok := v.Text(); ok && v.Kind() == strictjson.String {
			out = append(out, s)
		}
		for _, child := range v.Members() {
			walk(child)
		}
		for _, child := range v.Items() {
			walk(child)
		}
	}
	for _, doc := range docs {
		v, _ := strictjson.Read(doc.value, formLimits())
		walk(v)
	}
	return out
}

// joined tells whether some of the strings, in their order, make the text.
func joined(text string, strs []string) bool {
	reached := map[int]bool{0: true}
	for _, s := range strs {
		for n := range maps.Clone(reached) {
			if s != "" && strings.HasPrefix(text[n:], s) {
				reached[n+len(s)] = true
			}
		}
	}
	return reached[len(text)]
}
