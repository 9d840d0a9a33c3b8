package config

import "slices"

// attributes reads host.attributes, and keeps them for the references.
func (s section) attributes() []string {
	s.r.attributes = []string{"customer", "ticket"}
	host, ok := s.child("host", "[host]")
	if !ok {
		s.r.anySession = s.has("host")
		return s.r.attributes
	}
	host.known([]string{"attributes"}, "state")
	if !host.has("attributes") {
		return s.r.attributes
	}
	before := len(s.r.faults)
	names := host.names("attributes", attributeName)
	for _, name := range names {
		if slices.Contains(sessionFields(), name) {
			host.fault("attributes", "%s is a value of every session, not an attribute", quote(name))
		}
	}
	s.r.anySession = len(s.r.faults) > before
	s.r.attributes = names
	return names
}
