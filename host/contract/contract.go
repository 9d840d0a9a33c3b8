// Package contract loads a tool's contract.json and holds values against it.
//
// A contract that could let more through than its author meant does not load:
//
//   - objects are closed, strings, arrays and numbers are bounded, wherever a
//     schema decides alone what may come (bounded.go);
//   - a keyword that nobody knows is an error, because a misspelt
//     additionalProperties opens an object without a sound;
//   - $ref stays in the file and never leads back to itself;
//   - patterns are RE2, which takes linear time; formats are asserted, and only
//     those of the list in formats.go exist.
//
// Three keywords are ours and are taken out of what models see: x-tidy,
// x-words and x-secret (plan.go).
package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolhost/toolhost/host/regularfile"
	"github.com/toolhost/toolhost/host/strictjson"
)

// FileName is the contract's file in a plugin's folder.
const FileName = "contract.json"

const (
	maxFile        = 256 << 10 // bytes of a contract.json
	maxDescription = 4000      // characters
)

// Contract is a tool's name, description and schemas, as MCP's Tool has them.
// It never changes after Load.
type Contract struct {
	Name        string
	Title       string
	Description string
	Digest      string           // "sha256:..." of the file's bytes
	Input       strictjson.Value // inputSchema without our own keywords
	Output      strictjson.Value // outputSchema without our own keywords

	input, output side
}

// A side is one of the two schemas, compiled, with our own keywords beside it.
type side struct {
	schema *jsonschema.Schema
	plan   *plan
}

// Fault is one thing that is wrong with a contract.
type Fault struct {
	File    string // as it was given to Load
	Pointer string // RFC 6901, where in the file; "" for the whole
	Text    string
}

func (f Fault) Error() string {
	if f.Pointer == "" {
		return f.File + ": " + f.Text
	}
	return f.File + ": " + f.Pointer + ": " + f.Text
}

// Load reads FileName in the folder. It gives the contract or every fault.
// shown is how the folder is called in faults.
func Load(folder, shown string) (*Contract, []Fault) {
	name := filepath.ToSlash(filepath.Join(shown, FileName))
	text, err := regularfile.Read(filepath.Join(folder, FileName), maxFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, []Fault{{File: name, Text: "is not there; a plugin's folder holds contract.json and plugin.wasm"}}
	case err != nil:
		return nil, []Fault{{File: name, Text: "cannot be read: " + err.Error()}}
	}
	return Parse(name, text)
}

// Parse is Load for a text; name is how faults call it.
func Parse(name string, text []byte) (*Contract, []Fault) {
	root, err := strictjson.Read(text, strictjson.Default(maxFile))
	if err != nil {
		return nil, []Fault{unreadable(name, text, err)}
	}
	l := &loader{file: name}
	c := l.contract(root)
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	sum := sha256.Sum256(text)
	c.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return c, nil
}

// unreadable is the fault of a file that is not strict JSON, with line and column.
func unreadable(name string, text []byte, err error) Fault {
	var e *strictjson.Error
	if !errors.As(err, &e) || e.Offset > int64(len(text)) {
		return Fault{File: name, Text: err.Error()}
	}
	before := text[:e.Offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return Fault{File: fmt.Sprintf("%s:%d:%d", name, line, column), Text: e.Reason}
}

// A loader gathers every fault of one file.
type loader struct {
	file   string
	faults []Fault
}

func (l *loader) fault(pointer, format string, args ...any) {
	l.faults = append(l.faults, Fault{File: l.file, Pointer: pointer, Text: fmt.Sprintf(format, args...)})
}

func (l *loader) contract(root strictjson.Value) *Contract {
	if root.Kind() != strictjson.Object {
		l.fault("", "must be one JSON object with name, description, inputSchema and outputSchema")
		return nil
	}
	known := []string{"name", "title", "description", "inputSchema", "outputSchema"}
	for name := range root.Members() {
		if !slices.Contains(known, name) {
			l.fault("/"+escape(name), "unknown key; known are %s", strings.Join(known, ", "))
		}
	}
	c := &Contract{
		Name:        l.text(root, "name", 64, true),
		Title:       l.text(root, "title", 100, false),
		Description: l.text(root, "description", maxDescription, true),
	}
	c.input = l.side(root, "inputSchema", nil)
	c.output = l.side(root, "outputSchema", []string{"ok", "error", "pending", "note"})
	if in, ok := root.Get("inputSchema"); ok {
		c.Input = stripped(in)
	}
	if out, ok := root.Get("outputSchema"); ok {
		c.Output = stripped(out)
	}
	return c
}

func (l *loader) text(root strictjson.Value, key string, most int, needed bool) string {
	v, ok := root.Get(key)
	if !ok {
		if needed {
			l.fault("", "%s is missing", key)
		}
		return ""
	}
	s, _ := v.Text()
	if v.Kind() != strictjson.String || s == "" || len([]rune(s)) > most {
		l.fault("/"+key, "must be a string of 1 to %d characters", most)
	}
	return s
}

// side checks and compiles one of the two schemas. envelope are names that it
// may not use, because the host writes them around a result.
func (l *loader) side(root strictjson.Value, key string, envelope []string) side {
	schema, ok := root.Get(key)
	if !ok {
		l.fault("", "%s is missing", key)
		return side{}
	}
	return l.schema(schema, "/"+key, key == "inputSchema", envelope)
}

// schema checks and compiles the schema at a pointer of the file.
func (l *loader) schema(schema strictjson.Value, pointer string, input bool, envelope []string) side {
	before := len(l.faults)
	if kind, _ := schema.Get("type"); !isText(kind, "object") {
		l.fault(pointer, `must be a schema with "type": "object"`)
	}
	w := &walker{
		loader: l, root: schema, base: pointer, input: input,
		planned: map[string]*plan{}, costs: map[string]int{},
	}
	p := w.top(schema)
	if properties, ok := schema.Get("properties"); ok {
		for name := range properties.Members() {
			if slices.ContainsFunc(envelope, func(own string) bool { return strings.EqualFold(own, name) }) {
				l.fault(pointer+"/properties/"+escape(name), "is a name of the host's envelope; choose another")
			}
		}
	}
	if len(l.faults) > before {
		return side{}
	}
	compiled, err := compile(schema)
	if err != nil {
		where, what := schemaFault(err)
		l.fault(pointer+where, "is no JSON Schema 2020-12: %s", what)
		return side{}
	}
	return side{schema: compiled, plan: p}
}

// schemaFault finds in the validator's error the place and the keyword that
// the schema of schemas refused.
func schemaFault(err error) (where, what string) {
	var invalid *jsonschema.SchemaValidationError
	var failed *jsonschema.ValidationError
	if !errors.As(err, &invalid) || !errors.As(invalid.Err, &failed) {
		return "", firstLine(err)
	}
	leaf := first(leaves(failed, nil))
	for _, name := range leaf.InstanceLocation {
		where += "/" + escape(name)
	}
	return where, reason(leaf.ErrorKind)
}

// compile hands the schema to the validator, with a loader that refuses: no
// schema may make the host open a file or a socket.
func compile(schema strictjson.Value) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.AssertFormat()
	for _, f := range ownFormats() {
		c.RegisterFormat(f)
	}
	const name = "contract:///schema"
	if err := c.AddResource(name, schema.Any()); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may not reach out of its file")
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

func ownKeywords() []string { return []string{"x-tidy", "x-words", "x-secret"} }

func isText(v strictjson.Value, want string) bool {
	s, _ := v.Text()
	return v.Kind() == strictjson.String && s == want
}

// escape writes one reference token of a JSON pointer (RFC 6901, section 3),
// on one line and without what a terminal obeys.
func escape(name string) string {
	quoted := strconv.QuoteToGraphic(name)
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(quoted[1 : len(quoted)-1])
}
