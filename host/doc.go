// Package host decides what a model's proposal may do, and does it.
//
// The path of a call, in the order of Host.admit and Host.decide, one gate to a file:
//
//	proposal -> session -> contract -> caller -> rules -> capability -> approval -> plugin -> result -> outcome
//	               0          1          2         3          4            5          6         7
//
// A read passes the approval gate at once. A write leaves there as pending, and waits
// for a person; what follows their yes has an order of its own (approve_run.go).
//
// What a model ends its loop with is no call, and is a proposal too: Host.CheckReply
// (reply.go) holds it against the form of the session's role, the ticket's text
// and the outcomes of this loop's calls.
//
// # Words
//
// A proposal is a tool's name and the raw argument text that a model wrote. A
// session says who asks; it comes from the application, never from a proposal.
// A tool is what the model sees: name, contract, effect. A plugin is the module
// that implements it, its running instance the guest. A capability is what could
// be granted; a grant gives one capability to one tool. A refusal says that a
// gate said no and no guest code ran (a read whose end could not be recorded
// excepted); a failure that the guest ran and did not end well. The outcome is ok, refused, pending or failed. The result goes to
// the model, the record to the audit log.
//
// # Invariants
//
// Tests and comments cite them by number.
//
//	I1   No guest code runs for a call before every gate in front of the plugin has agreed.
//	I2   The zero value of every decision denies; an empty list grants nothing.
//	I3   What cannot be evaluated denies.
//	I4   Each gate takes what the gate before it gave, so that a wrong order does not compile.
//	I5   The model gets the host's words and a result that fits its schema; no text of a guest's
//	     error, of the file system or of a stack reaches it, and no plugin can write the envelope.
//	I6   Whether a row is missing or another's, the model gets the same bytes and the host does the same work.
//	I7   A role that may not use a tool gets the bytes of unknown_tool, whichever gate refused it.
//	I8   The argument text is read once; gates, guest and record see that one value.
//	I9   A guest reaches what config.toml grants to its tool and nothing else.
//	I10  A call is recorded before its guest starts and before its answer leaves; what cannot be recorded is refused.
//	     A record is on disk before an effect or an answer: that of a start is waited for by the time that its call
//	     ends where the guest reaches rows and files alone, and before the guest starts wherever else (bounded.inward).
//	I11  A config loads whole or not at all, and does not change afterwards.
//	I12  Every call starts from a state that no earlier call has touched.
//	I13  A capability has one check with two callers: what the gate admits of an argument and what the
//	     host function gives to a guest is decided by the same code.
//	I14  What a session has used up, and who was refused, is counted before anything leaves, alike by all hosts
//	     of one state database; no lawful call, session id or clock gives it back.
//	I15  A rule that is false, that errs or that costs too much refuses; no text of a config can make it otherwise.
//	I16  A write runs only after a person who may has agreed to exactly what it does; what comes out otherwise
//	     when it runs is not done.
//	I17  A yes is used up by one run, and writes one row at most. What a crash or a process that was held up
//	     leaves is ended, and never run again.
//	I18  A proposal waits, a person's word counts, a guest starts and a row is sent only once that is in the record.
//	I19  A plugin chooses nothing of its row, nor whether, where or how it is delivered.
//	I20  What is delivered is the row that was approved, to where it was shown to go; elsewhere it goes only if an
//	     operator sends it again.
package host
