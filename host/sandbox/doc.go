// Package sandbox runs WebAssembly modules, a call at a time, and lets nothing of a call remain.
// It knows nothing of tools, sessions, grants or rules: it is given bytes, bounds and a
// [Functions] that answers what the guest asks, and it says how the guest ended.
//
// What holds here, whatever the module does (tests cite these numbers):
//
//	S1   Nothing is compiled before [Inspect] has read the whole module strictly, to its last
//	     instruction. Each number that would size an allocation is bounded there first, and so is
//	     what compiling would cost (complexity.go). Compile returns in bounded time.
//	S2   A guest can import the functions of the [Offer], all of one shape, and a literal
//	     list of WASI functions. Host modules have no name, so nothing else is in reach.
//	S3   A guest has one memory, its own; no start section runs before a call's bounds.
//	S4   Every call starts from the module's image: the state after _initialize and warm_up, which ran with no session
//	     and nothing granted. An instance is put back to it before another call gets it. One that ended badly or
//	     grew is closed; a module whose state cannot be put back gets a new instance for each call (state.go).
//	S5   The time of a call holds over waiting for an instance, making one, and run together; its fuel over run, and as much
//	     again over _initialize and warm_up where an instance must be initialised.
//	S6   One file, memory.go, touches guest memory: sums in uint64, the length checked
//	     before anything is allocated, the request copied before it is looked at, the
//	     memory asked for anew before the response is written.
//	S7   A response that did not fit is kept for the very next call if that is the same
//	     request: nothing is lost, and nothing is done twice.
//	S8   Growth beyond the memory limit is refused and remembered: a guest that then ends
//	     badly is [OutOfMemory], whatever it says itself. Tables have a maximum.
//	S9   A panic in [Functions] ends the call as [HostError]. No stack leaves the wrapper.
//	S10  What a guest says (log, stdout, stderr), in a call and where that call initialises an instance, is bounded
//	     together; the excess is dropped and that is said once.
//	S11  The zero [Call] runs nothing, and the zero [Reason] is no success.
//	S12  WASI is what wasi.go lists and no more. Clocks are real unless the call has its own,
//	     because wazero's default clock stalls a Go guest's collector; a sleep ends with the call.
//	S13  What runs was paid for in fuel before. The same call uses the same fuel everywhere.
//	S14  A guest leaves to Go after each slice of fuel, and looks at the clock there: a busy
//	     guest keeps neither the collector nor other calls waiting. wazero's own deadline option,
//	     which costs many times as much and misses recursion, is not used.
//	S15  A rewritten module does what the original does. The original is validated before,
//	     and can name nothing that the rewriting adds.
//	S16  The native stack of a call is bounded: frames are counted as long as they are open.
//	S17  The instances of all modules have one bound of memory, those of each a number. Who waits for one is served in turn.
//
// docs/sandbox.md describes the rewriting for reviewers, and docs/threat-model.md has what holds against
// whom, by which test, and what does not.
//
// Nor is S12 the whole cure for Go guests that mostly collect: Go's runtime stops helping its collector once
// a guest has spent about a second of real time so (its GC CPU limiter), and then runs out of memory. A
// busy host makes that second come sooner, because waiting counts.
package sandbox
