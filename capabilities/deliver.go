package capabilities

import (
	"strconv"
	"time"
)

// Two senders take an approved write out of the host: as an HTTP request
// (deliver_http.go), or as an e-mail (deliver_smtp.go). Each makes one attempt
// and says what came of it; to count attempts and to wait between them is for
// the caller, who keeps the row. The rules of both:
//
//   - Delivered is what the other side has said, and nothing else.
//   - Refused ends a delivery: our own check says it, or the other side does. Where
//     TLS is asked for, a no that comes before it could be anybody's, and is Later.
//   - What may have been taken is tried again only where the other side can tell
//     that it is the same: by a key. An e-mail has none, and is Unknown.
//   - No text of the other side's is in a Reason, as it may repeat secrets.

// AttemptEnd is how one attempt ended.
type AttemptEnd uint8

// The ends of an attempt. The zero end is that nothing was tried.
const (
	NotTried  AttemptEnd = iota // nothing has left the host, and the delivery is not to blame: it is as due as before
	Delivered                   // the other side has taken it
	Refused                     // no for good: trying the same again cannot help
	Later                       // not taken, or the key lets the other side see that it has it: try again
	Unknown                     // it may have been taken, and again could be twice: never retried by itself
	Stopped                     // nothing has left, nor will before a person has looked
)

// String is the end as records and logs show it.
func (e AttemptEnd) String() string {
	switch e {
	case NotTried:
		return "not_tried"
	case Delivered:
		return "delivered"
	case Refused:
		return "refused"
	case Later:
		return "later"
	case Unknown:
		return "unknown"
	case Stopped:
		return "stopped"
	default:
		return "AttemptEnd(" + strconv.Itoa(int(e)) + ")"
	}
}

// Attempt says what came of one try to deliver.
type Attempt struct {
	End    AttemptEnd
	Status string        // "201", "403", "550": what the other side said; "": it said nothing, and the words are ours
	Reason string        // for operators, "word: text"; "" where it was delivered
	After  time.Duration // how long the other side asks to wait, at most MaxAfter; 0: it does not say
}

// MaxAfter bounds how long the other side can put off a delivery.
const MaxAfter = 24 * time.Hour

// because is an attempt that ended before the other side said anything.
func because(end AttemptEnd, d *Denial) Attempt {
	return Attempt{End: end, Reason: d.reason()}
}
