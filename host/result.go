package host

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Gate 7, result: what the guest gave is strict JSON, fits the closed result
// schema and the limit, and goes out in an envelope that the host writes (I5).
// It is never cut and never passed on unchecked.

func (h *Host) checkResult(a answered) ([]byte, error) {
	if !a.given {
		return nil, invalidResult(errors.New("the guest gave none"))
	}
	v, err := strictjson.Read(a.result, strictjson.Default(len(a.result)))
	if err != nil {
		return nil, invalidResult(err)
	}
	if v.Kind() != strictjson.Object {
		return nil, invalidResult(fmt.Errorf("it is no object but %s", v.Kind()))
	}
	out, most := envelope(v), a.tool.Limits.ResultChars
	n := utf8.RuneCount(out)
	if n > most { // before the schema, which would only say that a part of it is too long
		return nil, tooLarge(count(n, "character"), most)
	}
	if err := a.tool.contract.Result(v); err != nil {
		return nil, invalidResult(err)
	}
	a.trail.ok(GateResult, fmt.Sprintf("fits the contract, %d of %d characters", n, most))
	return out, nil
}

func invalidResult(err error) error {
	return &Failure{Gate: GateResult, Code: codeInvalidResult, Reason: "the guest's result: " + err.Error()}
}

func tooLarge(size string, most int) error {
	return &Failure{Gate: GateResult, Code: codeResultTooLarge, Reason: fmt.Sprintf("the result has %s, limits.result_chars is %d", size, most)}
}

// envelope puts the host's own member before the plugin's. A contract that
// names one of the envelope's does not load.
func envelope(v strictjson.Value) []byte {
	b := []byte(`{"ok":true`)
	if v.Len() > 0 {
		b = append(b, ',')
	}
	return append(v.AppendMembers(b), '}')
}

// redacted is what the model gets, as it may be stored: without what the
// contract marks, and without secrets wherever the guest has put them.
func (h *Host) redacted(rec *Record, o Outcome, err error) []byte {
	var r *Refusal
	if errors.As(err, &r) && r.withheld {
		return refusalResult(withheld)
	}
	t, ok := h.tools[rec.Tool]
	if !ok || o.State != OK || !t.contract.SecretResult() && !rec.hide.hides() {
		return o.Result
	}
	v, err := strictjson.Read(o.Result, strictjson.Default(len(o.Result)))
	if err != nil {
		return nil
	}
	if secrets := t.contract.ResultSecrets(v); len(secrets) > 0 {
		v = newHider(secrets).value(t.contract.RedactedResult(v))
	}
	return rec.hide.value(v).AppendJSON(nil)
}
