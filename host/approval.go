package host

// Gate 5, approval: a read runs at once, a write waits for a person.
//
// Nobody can approve yet, so that every write that has come this far is
// refused, and no plugin that writes ever starts.

// The effects of tools.
const (
	effectRead  = "read"
	effectWrite = "write"
)

// approved is a call that may run now. Only checkApproval makes one.
type approved struct{ bounded }

func (h *Host) checkApproval(b bounded) (approved, error) {
	if b.tool.Effect != effectRead {
		return approved{}, &Refusal{
			Gate: GateApproval, Code: codeApprovalUnavailable, Place: b.tool.At("effect"),
			Reason: "a write waits for a person, and this version has no approvals",
		}
	}
	b.trail.none(GateApproval, "a read runs at once")
	return approved{bounded: b}, nil
}
