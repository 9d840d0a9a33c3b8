package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Value is one personal value of an event: arguments, result, reason, ...
type Value struct {
	Name string
	JSON []byte // one JSON value

	// Strict says that strictjson made JSON: it is valid and has no blanks
	// around it, and is not looked at again.
	Strict bool
}

// TextValue is a value that is a text. What is no UTF-8 in it is replaced.
func TextValue(name, text string) Value {
	return Value{Name: name, JSON: strictjson.AppendString(nil, text), Strict: true}
}

// What is sealed is {"salt":"...","values":{...}}. The salt is random and keys
// the commitments of these values, so that with the sealed text, or with the
// key of it, goes the last thing by which a guess could be tried (A5).

const saltBytes = 32

// padding rounds the length of what is sealed up, so that the length of a file
// and the time that sealing takes do not tell one short reason from another.
const padding = 512 // bytes

// sealed is what a person's key seals of one event, and the commitments to it.
type sealed struct {
	by          *person
	blob        []byte
	commitments []commitment
}

type commitment struct{ name, mac string }

// sealValues seals the values of an event. The event's place in the log is not
// known yet; its kind and the call's id are what binds them to it.
func sealValues(by *person, kind Kind, id string, values []Value) (sealed, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	size := 100
	for _, v := range values {
		size += len(v.Name) + len(v.JSON) + 4
	}
	size = (size + padding - 1) / padding * padding
	text := append(make([]byte, 0, size), `{"salt":"`...)
	text = base64.StdEncoding.AppendEncode(text, salt)
	text = append(text, `","values":{`...)
	out, salted := sealed{by: by}, hmac.New(sha256.New, salt)
	for i, v := range values {
		if !v.Strict {
			v.JSON = bytes.Trim(v.JSON, " \t\r\n") // who opens it gets it so
			if !jsontext.Value(v.JSON).IsValid() {
				return out, fmt.Errorf("the value %q is no JSON", v.Name)
			}
		}
		if slices.ContainsFunc(values[:i], func(o Value) bool { return o.Name == v.Name }) {
			return out, fmt.Errorf("two values have the name %q", v.Name)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = strictjson.AppendString(text, v.Name)
		text = append(text, ':')
		text = append(text, v.JSON...)
		out.commitments = append(out.commitments, commitment{v.Name, commitBy(salted, v.Name, v.JSON)})
	}
	text = append(text, "}}"...)
	text = append(text, blanks[:padTo(len(text))]...)
	out.blob = by.seal.Seal(nil, nil, text, boundTo(by.pseudonym, kind, id))
	return out, nil
}

// padTo is how many blanks a text of this length is padded with.
func padTo(length int) int { return (padding - length%padding) % padding }

var blanks = bytes.Repeat([]byte(" "), padding)

// commit is HMAC-SHA256 of the value, padded with blanks as what is sealed is,
// under a key made of the salt and the value's name, so that one value can be
// shown to somebody without the others.
func commit(salt []byte, name string, value []byte) string {
	return commitBy(hmac.New(sha256.New, salt), name, value)
}

// commitBy is commit with the HMAC under the salt, which many values can share.
func commitBy(salted hash.Hash, name string, value []byte) string {
	salted.Reset()
	salted.Write([]byte(name))
	mac := hmac.New(sha256.New, salted.Sum(nil))
	mac.Write(value)
	mac.Write(blanks[:padTo(len(value))])
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func boundTo(pseudonym string, kind Kind, id string) []byte {
	return []byte("toolhost audit values v1\x00" + pseudonym + "\x00" + string(kind) + "\x00" + id)
}

// errNotWhatWasSealed says that sealed values are damaged or changed.
var errNotWhatWasSealed = errors.New("is not what was sealed")

// openSealed opens what sealValues sealed, and holds it against the entry's
// commitments.
func openSealed(by *person, e *Entry, blob []byte) ([]Value, error) {
	if e.Call == nil {
		return nil, errNotWhatWasSealed
	}
	text, err := by.seal.Open(nil, nil, blob, boundTo(by.pseudonym, e.Kind, e.Call.ID))
	if err != nil {
		return nil, errNotWhatWasSealed
	}
	var opened struct {
		Salt   []byte                    `json:"salt"`
		Values map[string]jsontext.Value `json:"values"`
	}
	if err := json.Unmarshal(text, &opened); err != nil || len(opened.Salt) != saltBytes {
		return nil, errNotWhatWasSealed
	}
	var out []Value
	for name, value := range opened.Values {
		if e.Call.Commitments[name] != commit(opened.Salt, name, value) {
			return nil, fmt.Errorf("%s: does not fit its commitment", name)
		}
		out = append(out, Value{Name: name, JSON: value})
	}
	slices.SortFunc(out, func(a, b Value) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out, nil
}
