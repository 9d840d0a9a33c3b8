package host

import (
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/state"
)

// An approval lies in the state database, and whoever can write that could make
// one up, change what one shows along with its digest, or bring back one that has
// ended. So what is approved must stand in the audit log too, in an entry with the
// stamp of the log's key: that it was proposed and shows this, and not that it
// has ended.

// logged refuses what the log does not know as it is.
func (d *decision) logged() error {
	if d.host.audit == nil {
		return nil // Options.Recorder took the log's place
	}
	r, err := audit.OpenReader(d.host.config.Audit.Folder, d.host.config.Audit.Key)
	if err != nil {
		return refusedApproval(codeUnavailable, "%v", err)
	}
	defer r.Close()
	shows, ended := "", ""
	err = r.Find(audit.Filter{Approval: d.kept.ID, After: -1}, func(found audit.Record) error {
		if !r.Stamped(found) {
			return nil
		}
		call := found.Entry.Call
		if call.Approval.Shows != "" {
			shows = call.Approval.Shows
		}
		if end := endOf(found.Entry.Kind, call); end != "" {
			ended = end
		}
		return nil
	})
	switch {
	case err != nil:
		return refusedApproval(codeUnavailable, "%v", err)
	case ended != "":
		return refusedApproval(codeNotRecorded, "it waits, and by the audit log it has ended: %s", ended)
	case shows != d.kept.Digest:
		return refusedApproval(codeNotRecorded, "the audit log has no proposal that shows this; see: toolhost audit show --approval %s", d.kept.ID)
	}
	return nil
}

// endOf says how an entry has ended its approval for good; "": it has not.
func endOf(kind audit.Kind, call *audit.Call) string {
	switch {
	case kind == audit.Decided && call.Approval.Word == wordDenied, kind == audit.Decided && call.Approval.Word == wordSettled:
		return call.Approval.Word
	case kind == audit.Ended && call.Ran && call.Approval.Shows == "":
		return string(state.Done)
	}
	return ""
}
