package server

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/decimal"
	"github.com/toolhost/toolhost/host/strictjson"
)

// maxDifferences is how many differences of one answer are told.
const maxDifferences = 5

// Compare says in what recorded answers differ from those that the calls have
// got now, one difference a line; nothing: in nothing. White space, the order of
// members and how a number is written make no difference. What was recorded and
// answers none of the calls is a difference too.
func Compare(calls []FormCall, outcomes []host.Outcome, recorded []RecordedAnswer) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range recorded {
		i := slices.IndexFunc(calls, func(c FormCall) bool { return c.ID == r.ID })
		switch {
		case i < 0:
			out = append(out, fmt.Sprintf("%s: the recording answers a call that the model has not made here", r.ID))
		case seen[r.ID]:
			out = append(out, fmt.Sprintf("%s: the recording answers the call twice", r.ID))
		default:
			out = append(out, differences(r, outcomes[i].Result)...)
		}
		seen[r.ID] = true
	}
	for _, c := range calls {
		if !seen[c.ID] {
			out = append(out, fmt.Sprintf("%s: the recording has no answer to the call", c.ID))
		}
	}
	return out
}

func differences(r RecordedAnswer, result []byte) []string {
	now, err := strictjson.Read(result, strictjson.Default(len(result)))
	if err != nil {
		return []string{r.ID + ": the answer is no JSON"} // the host's own envelope always is
	}
	was, err := strictjson.Read([]byte(r.Content), strictjson.Default(len(r.Content)))
	if err != nil {
		return []string{fmt.Sprintf("%s: the recorded answer cannot be read: %v", r.ID, err)}
	}
	var out []string
	more := 0
	compare("", was, now, func(place string, was, now strictjson.Value) {
		if len(out) == maxDifferences {
			more++
			return
		}
		if place != "" {
			place += " "
		}
		out = append(out, fmt.Sprintf("%s: %sis %s in the recording, and %s now", r.ID, place, shownJSON(was), shownJSON(now)))
	})
	if more > 0 {
		out = append(out, fmt.Sprintf("%s: and %d more", r.ID, more))
	}
	return out
}

// compare tells of each place at which two values differ.
func compare(place string, was, now strictjson.Value, tell func(place string, was, now strictjson.Value)) {
	at := func(name string) string {
		if place == "" {
			return name
		}
		return place + "." + name
	}
	switch {
	case was.Kind() != now.Kind() || was.Kind() == strictjson.Array && was.Len() != now.Len():
		tell(place, was, now)
	case was.Kind() == strictjson.Object:
		left, right := maps.Collect(was.Members()), maps.Collect(now.Members()) // a recording can have a million
		for _, name := range slices.Sorted(maps.Keys(left)) {
			compare(at(name), left[name], right[name], tell)
		}
		for _, name := range slices.Sorted(maps.Keys(right)) {
			if _, both := left[name]; !both {
				compare(at(name), left[name], right[name], tell)
			}
		}
	case was.Kind() == strictjson.Array:
		var items []strictjson.Value
		for _, item := range was.Items() {
			items = append(items, item)
		}
		for i, item := range now.Items() {
			compare(at(strconv.Itoa(i)), items[i], item, tell)
		}
	case !sameScalar(was, now):
		tell(place, was, now)
	}
}

func sameScalar(a, b strictjson.Value) bool {
	left, _ := a.Text()
	right, _ := b.Text()
	if a.Kind() != strictjson.Number || left == right {
		return left == right
	}
	m, err := decimal.Parse(left)
	n, err2 := decimal.Parse(right)
	return err == nil && err2 == nil && m.Cmp(n) == 0
}

const maxShownJSON = 200 // bytes of a value in a difference

func shownJSON(v strictjson.Value) string {
	if v.Kind() == strictjson.Nothing {
		return "absent"
	}
	text := v.AppendJSON(nil)
	if len(text) <= maxShownJSON {
		return string(text)
	}
	cut := maxShownJSON
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return string(text[:cut]) + "..."
}
