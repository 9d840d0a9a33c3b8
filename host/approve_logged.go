package host

import (
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/state"
)

// An approval lies in the state database, and whoever can write that could make
// one up, change what one shows along with its digest, or bring back one that has
// ended. So what is approved must stand in the audit log too, in entries with the
// stamp of the log's key: that it was proposed and shows this, and not that it
// has ended.

// loggedApproval is what the log has of an approval.
type loggedApproval struct {
	shown map[string]bool // digests of what it has shown
	first time.Time       // when it was proposed
	ended string          // how it has ended for good; "": it has not
}

// inLog reads what the log has of an approval; nil where a recorder of
// Options.Recorder took the log's place.
func (h *Host) inLog(id string) (*loggedApproval, error) {
	if h.audit == nil {
		return nil, nil //nolint:nilnil // there is no log to ask
	}
	r, err := audit.OpenReader(h.config.Audit.Folder, h.config.Audit.Key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	logged := &loggedApproval{shown: map[string]bool{}}
	err = r.Find(audit.Filter{Approval: id, After: -1}, func(found audit.Record) error {
		if !r.Stamped(found) {
			return nil
		}
		if shows := found.Entry.Call.Approval.Shows; shows != "" {
			logged.shown[shows] = true
			if logged.first.IsZero() {
				logged.first = found.Entry.At
			}
		}
		if end := endOf(found.Entry); end != "" {
			logged.ended = end
		}
		return nil
	})
	return logged, err
}

// logged refuses what the log does not know as it is.
func (d *decision) logged() error {
	l, err := d.host.inLog(d.kept.ID)
	switch {
	case err != nil:
		return refusedApproval(codeUnavailable, "%v", err)
	case l == nil:
		return nil
	case l.ended != "" && d.overtaken():
		return refusedApproval(codeNotWaiting, fasterWords)
	case l.ended != "":
		return refusedApproval(codeNotRecorded, "it waits, and by the audit log it has ended: %s", l.ended)
	case !l.shown[d.kept.Digest]:
		return refusedApproval(codeNotRecorded, "the audit log has no proposal that shows this; see: toolhost audit show --approval %s", d.kept.ID)
	case d.kept.Needs != nil && d.host.clock().After(l.first.Add(d.kept.Needs.Expires)):
		return refusedApproval(codeNotRecorded, "it waits, and by the audit log it has expired")
	}
	return nil
}

// overtaken tells whether it does not wait any more: somebody else has ended it since it was read.
func (d *decision) overtaken() bool {
	now, err := d.writes.Get(d.kept.ID)
	return err == nil && now.State != state.Waiting
}

// endOf says how an entry has ended its approval for good; "": it has not.
func endOf(e *audit.Entry) string {
	a := e.Call.Approval
	switch {
	case e.Kind == audit.Decided && a.State != "":
		return a.State
	case e.Kind == audit.Decided && a.Word == wordDenied:
		return a.Word
	case e.Kind == audit.Ended && e.Call.Ran && a.Shows == "":
		return string(state.Done)
	}
	return ""
}
