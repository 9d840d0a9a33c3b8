// Package sandbox runs one WebAssembly module for one call and lets nothing of it remain.
// It knows nothing of tools, sessions, grants or rules: it is given bytes, bounds and a
// [Functions] that answers what the guest asks, and it says how the guest ended.
//
// What holds here, whatever the module does (tests cite these numbers):
//
//	S1   Nothing is compiled before [Inspect] has read the whole module strictly. Each
//	     number that would size an allocation in the compiler is bounded there first.
//	S2   A guest can import the functions of the [Offer], all of one shape, and a literal
//	     list of WASI functions. Host modules have no name, so nothing else is in reach.
//	S3   A guest has one memory, its own; no start section runs before a call's bounds.
//	S4   Every call gets a new instance. It is closed when the call ends, however it ends.
//	S5   Bounds hold over instantiation, _initialize and run together.
//	S6   One file, memory.go, touches guest memory: sums in uint64, the length checked
//	     before anything is allocated, the request copied before it is looked at, the
//	     memory asked for anew before the response is written.
//	S7   A response that did not fit is kept for the very next call if that is the same
//	     request: nothing is lost, and nothing is done twice.
//	S8   Growth beyond the memory limit is refused and remembered: a guest that then ends
//	     badly is [OutOfMemory], whatever it says itself.
//	S9   A panic in [Functions] ends the call as [HostError]. No stack leaves the wrapper.
//	S10  What a guest says (log, stdout, stderr) is bounded together; the excess is dropped
//	     and that is said once.
//	S11  The zero [Call] runs nothing, and the zero [Reason] is no success.
//	S12  Clocks are real, because wazero's default clock stalls a Go guest's collector;
//	     a sleep ends with the call, because wazero's own does not.
//
// What does not hold yet: native code is stopped by wazero's own deadline option, which
// looks at loop heads only. Recursion without a loop and long bulk instructions are not
// seen until they return, the native stack (up to 84 MB) and table.grow are not in the
// memory limit, and compilation has no limit of time or memory: a module of some kilobytes, made
// for it, compiles for minutes. Load only modules that you built or trust to build. Rewriting the module closes these; the
// interface of this package stays as it is.
//
// Nor is S12 the whole cure: Go's runtime stops helping its collector once a guest has spent about a
// second of real time mostly collecting (its GC CPU limiter), and then runs out of memory. The
// deadline option makes that second come sooner, and so does a busy host, whose waiting counts.
package sandbox
