package host

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What a loop's calls returned, from the host's own record. An application that
// hands results over could be given them by a model, and those of another
// session look like these; the log was written by this host and by nobody else.

// errNoLoop says that a session without an id has no loop to look up.
var errNoLoop = errors.New("the session has no id, so that nobody knows which calls were of its loop")

// forgotten is how long after session.time the session gate forgets an id that
// was not used any more (docs/config.md).
const forgotten = 24 * time.Hour

// Returned gives the outcomes of the calls that the session's loop has made so
// far and that returned something, in their order. The loop is the one of its
// id, asked for by the same subject, tenant, role and attributes. What was
// returned and cannot be read any more is an error: a rule must not take it for
// nothing. An id that was not used for so long that the session gate has forgotten
// it begins another loop.
func (h *Host) Returned(s Session) ([]Outcome, error) {
	if s.ID == "" {
		return nil, errNoLoop
	}
	r, err := audit.OpenReader(h.config.Audit.Folder, h.config.Audit.Key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	begun := map[string]bool{} // whether a call that has started was this loop's
	var out []Outcome
	loop := audit.Filter{Session: s.ID, Kinds: []audit.Kind{audit.Started, audit.Ended}, After: -1, Since: h.clock().Add(-h.config.Session.Time - forgotten)}
	err = r.Find(loop, func(rec audit.Record) error {
		call := rec.Entry.Call
		values := map[string]strictjson.Value{}
		for _, v := range rec.Values {
			values[v.Name], _ = strictjson.Read(v.JSON, strictjson.Default(len(v.JSON))) // what cannot be read has no value
		}
		returned := rec.Entry.Kind == audit.Ended && call.Ran && call.Outcome == OK.String()
		switch {
		case rec.Gone != "":
			return fmt.Errorf("call %s of session %q: what is sealed of it is %s", call.ID, s.ID, rec.Gone)
		case rec.Entry.Kind == audit.Started:
			begun[call.ID] = s.sealedAs(values)
		case returned && begun[call.ID]:
			out = append(out, Outcome{State: OK, Tool: call.Tool, CallID: call.ID, Result: values[valueResult].AppendJSON(nil)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// sealedAs tells whether a call was this session's: an id alone is no identity.
func (s Session) sealedAs(values map[string]strictjson.Value) bool {
	text := func(v strictjson.Value, name string) string {
		found, _ := v.TextAt(name)
		return found
	}
	sealed := values[valueSession]
	attributes := map[string]string{}
	of, _ := sealed.Get("attributes")
	for name := range of.Members() {
		attributes[name] = text(of, name)
	}
	subject, _ := values["subject"].Text()
	return sealed.Kind() == strictjson.Object && maps.Equal(attributes, s.Attributes) &&
		s.ID == text(sealed, "id") && s.Role == text(sealed, "role") && s.Tenant == text(sealed, "tenant") && s.Subject == subject
}
