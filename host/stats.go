package host

// Stats counts what happened since Open. Tests read it to show that a refused
// call started no guest and asked no table.
type Stats struct {
	Runs  map[string]uint64 // calls of guests, by tool
	Reads map[string]uint64 // queries made, by database
}

// Stats gives the counts.
func (h *Host) Stats() Stats {
	s := Stats{Runs: map[string]uint64{}, Reads: map[string]uint64{}}
	for name, t := range h.tools {
		if t.module != nil { // a write tool may have none
			s.Runs[name] = t.module.Runs()
		}
	}
	for name, db := range h.databases {
		s.Reads[name] = db.Reads()
	}
	return s
}
