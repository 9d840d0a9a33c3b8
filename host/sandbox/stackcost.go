package sandbox

// How much native stack a call of a function may take. wazero gives each value that lives across a call
// a slot of its own in the frame and never shares one; at a call the values that live are those of the
// locals and of the operand stack. So the slots are at most the locals and the operand stack at its
// highest, and once more for each time that a local is set, but no more than all of these for each call; and
// once for each loop and local that is set in it, for immutable globals that were read, and for what is handed over.
//
// It is an estimate: code that is made to defeat it takes more, up to wazero's own bound of 84 MB.
const (
	frameBytes = 128 // return address, frame pointer, saved registers; and what it takes to unwind it
	slotBytes  = 8
)

// frameSize bounds the native stack of one call of the function, in bytes. immutable is the number of such globals.
func (b *bodyCost) frameSize(immutable int) uint32 {
	if b.calls == 0 {
		return 0 // it can start no other frame: at most one of its kind is there
	}
	live := b.variables + b.highest
	slots := live + min(b.sets, (b.calls-1)*live) + b.merged + min(b.fixed, immutable) + b.handed
	if b.vectors {
		slots *= 2
	}
	return uint32(min(frameBytes+slotBytes*slots, stackBytes))
}
