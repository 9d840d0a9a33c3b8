package config

import "slices"

// host reads [host]: the attributes, and the path of the state database.
func (s section) host() (attributes []string, state string) {
	host, ok := s.childOrEmpty("host", "[host]")
	if !ok {
		s.r.anySession = true
		s.r.attributes = defaultAttributes()
		return s.r.attributes, ""
	}
	host.known([]string{"attributes", "state"})
	s.r.own.state = host.ownPath("state", "the state database", defaultState)
	return host.attributes(), s.r.own.state.path
}

func defaultAttributes() []string { return []string{"customer", "ticket"} }

// attributes reads host.attributes, and keeps them for the references.
func (s section) attributes() []string {
	if !s.has("attributes") {
		s.r.attributes = defaultAttributes()
		return s.r.attributes
	}
	before := len(s.r.faults)
	names := s.names("attributes", attributeName)
	for _, name := range names {
		if slices.Contains(sessionFields(), name) {
			s.fault("attributes", "%s is a value of every session, not an attribute", quote(name))
		}
	}
	s.r.anySession = len(s.r.faults) > before
	s.r.attributes = names
	return names
}
