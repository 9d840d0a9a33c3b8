package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"

	"github.com/toolhost/toolhost/host/regularfile"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Schema is a JSON Schema in a file of its own, held to what a contract's are:
// closed, bounded, cheap. It never changes after LoadSchema.
type Schema struct {
	Digest string           // "sha256:..." of the file's bytes
	JSON   strictjson.Value // the schema

	side side
}

// LoadSchema reads the schema in a file. It gives the schema or every fault.
// shown is how the file is called in faults.
func LoadSchema(path, shown string) (*Schema, []Fault) {
	text, err := regularfile.Read(path, maxFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, []Fault{{File: shown, Text: "is not there; it is to hold a JSON Schema"}}
	case err != nil:
		return nil, []Fault{{File: shown, Text: "cannot be read: " + err.Error()}}
	}
	return ParseSchema(shown, text)
}

// ParseSchema is LoadSchema for a text; name is how faults call it.
func ParseSchema(name string, text []byte) (*Schema, []Fault) {
	root, err := strictjson.Read(text, strictjson.Default(maxFile))
	if err != nil {
		return nil, []Fault{unreadable(name, text, err)}
	}
	l := &loader{file: name}
	s := &Schema{JSON: root, side: l.schema(root, "", false, nil)}
	if len(l.faults) == 0 && s.side.plan.deep.secret {
		l.fault("", "x-secret is for what a tool takes and gives; what a schema of its own describes is to be read")
	}
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	sum := sha256.Sum256(text)
	s.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return s, nil
}

// Check holds a value against the schema. The error is a *Misfit.
func (s *Schema) Check(v strictjson.Value) error {
	m := s.side.misfit("", v)
	if m == nil {
		return nil
	}
	if m.Foreign {
		m.Reason = "is not in the schema"
	}
	m.Words = m.Error() + "."
	if m.Field == "" {
		m.Words = "The text " + m.Words
	}
	return m
}
