package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/regularfile"
)

// Config is one config.toml that was checked whole. Load gives a fresh value
// each time; by convention nobody changes it afterwards.
type Config struct {
	Name   string // the file as faults and places show it: Options.Name, or the base name
	Dir    string // the file's folder, absolute; relative paths start here
	Path   string // the file itself, absolute
	Digest string // "sha256:" and the hex digest of the file's bytes; environment values are not in it

	Attributes   []string // session attributes that {session.x} may name
	State        string   // the state database, absolute and cleaned
	Audit        Audit
	Limits       Limits
	Instances    Instances
	Session      Bounds
	Databases    []Database // sorted by name
	Directory    *Directory // nil: no directory
	Approvers    []Approver // in file order
	Mails        []Mail     // in file order
	Capabilities []Capability
	Values       []Value // in file order
	Tools        []Tool
	Replies      []Reply // in file order
}

// Limits bound one call. Every field is set: what the file leaves out has the
// value of DefaultLimits.
type Limits struct {
	Time          time.Duration
	Fuel          int64 // units of docs/sandbox.md: about one machine instruction each
	Memory        int64 // bytes, a multiple of 64 KiB
	ArgumentChars int   // Unicode code points
	ResultChars   int   // Unicode code points
	HostCalls     int
	Log           int64 // bytes; 0 keeps nothing of a guest's log
}

// DefaultLimits gives the limits of a config that sets none.
func DefaultLimits() Limits {
	return Limits{
		Time:          2 * time.Second,
		Fuel:          2_000_000_000,
		Memory:        32 << 20,
		ArgumentChars: 16384,
		ResultChars:   4000,
		HostCalls:     64,
		Log:           8 << 10,
	}
}

// Database is one database that capabilities and the directory name.
type Database struct {
	Place
	Name  string
	File  string // a SQLite file, absolute and cleaned; it may hold values of the environment
	Shown string // the url as the file has it, for faults and logs: {env.X} stands in it, never its value
	Hash  string // of the url with the values, for the policy

	lines keyLines
}

// At gives the place of a key of the section, or the section's own place if
// the section has no such key.
func (d Database) At(key string) Place { return d.lines.at(d.Place, key) }

// Directory is the table that says who holds Roles now. Its columns are
// subject, tenant and role.
type Directory struct {
	Place
	Database string
	Table    string
	Roles    []string

	lines keyLines
}

// At is Database.At for the directory.
func (d Directory) At(key string) Place { return d.lines.at(d.Place, key) }

// Capability is a configured instance of a kind: what could be granted.
// The field that is named after the kind is set.
type Capability struct {
	Place
	Name    string
	Kind    string
	Records *Records
	Files   *Files
	Fetch   *Fetch
	Outbox  *Outbox

	lines keyLines
}

// At is Database.At for a capability.
func (c Capability) At(key string) Place { return c.lines.at(c.Place, key) }

// Records is a table that tools may read. Who reads it must deny when Everyone
// is false and Scope is empty; a loaded config never has both.
type Records struct {
	Database string
	Table    string
	Key      string                // the column that a grant's argument is compared with; shown only if in Columns
	Columns  []string              // all that may leave the table
	Types    map[string]ColumnType // only what the file declares
	Everyone bool                  // every session reaches every row
	Scope    []Clause              // all of them must hold; the first that fails gives the code
	MaxRows  int
	MaxBytes int64
}

// Clause narrows a records capability to the rows whose Column is Is.
type Clause struct {
	Place
	Column string
	Is     Template // literal text and session values
	Else   string   // the code of the refusal when it does not hold
}

// Tool is one tool: what implements it, who may call it and what it reaches.
type Tool struct {
	Place
	Name         string
	Plugin       string   // the plugin's folder, absolute and cleaned
	Effect       string   // "read" or "write"
	Callers      []string // roles; empty: nobody
	Approve      *Approve // of a tool that writes; nil: of one that reads
	NotAvailable Template // literal text and arguments; zero when the file has none
	Limits       Limits   // the config's limits, lowered by the tool's own
	Instances    int      // that there may be of it at once
	Grants       []Grant  // in file order
	Facts        []Fact   // in file order
	Rules        []Rule   // in file order: the first that fails refuses

	lines keyLines
}

// At is Database.At for a tool.
func (t Tool) At(key string) Place { return t.lines.at(t.Place, key) }

// Grant gives one capability to one tool. In a config that has faults
// (Faults.Partial), a grant that could not be read has no Capability, so that
// its tool is not taken for one that is granted nothing.
type Grant struct {
	Place
	Capability string
	Only       *Ref // nil: all that the session may reach; else the argument that names the one row
}

// Options are what a config needs from outside its file.
type Options struct {
	Name          string                      // the file as faults and places show it: "mine/config.toml"; empty: its base name
	Env           func(string) (string, bool) // for {env.X}; nil: every variable is unset
	ReservedCodes []string                    // the host's own codes, which no scope clause may take
}

const (
	maxFileBytes = 1 << 20
	maxReadBytes = 16 << 20 // up to here a file that is too long is told as a fault
)

// Load reads the config at path. When the file has faults the error is a
// *Faults with all of them; when it cannot be read, the system's error, wrapped.
func Load(path string, o Options) (*Config, error) {
	data, err := regularfile.Read(path, maxReadBytes)
	if err != nil {
		return nil, fmt.Errorf("read config %s: %w", path, err)
	}
	return Parse(path, data, o)
}

// Parse is Load for bytes that were read already. The path gives the folder
// that relative paths start from; nothing is read there.
func Parse(path string, data []byte, o Options) (*Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("locate config %q: %w", path, err)
	}
	name := o.Name
	if name == "" {
		name = filepath.Base(abs)
	}
	c := &Config{
		Name:   name,
		Dir:    filepath.Dir(abs),
		Path:   abs,
		Digest: hashOf(string(data)),
	}
	r := &reader{file: c.Name, dir: c.Dir, env: o.Env, reserved: o.ReservedCodes}
	root, ok := r.parse(data)
	if ok {
		r.config(root, c)
	}
	if faults := r.err(); faults != nil {
		if ok {
			faults.partial = c
		}
		return nil, faults
	}
	return c, nil
}

// hashOf is "sha256:" and the hex digest of a text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// readFile reads a session, which a shell may give as a pipe. It stops one byte past the limit, so that the size is a fault of the
// file and a device without an end is not read for ever.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

// config reads the whole file into c. What later parts refer to is read first.
func (r *reader) config(root *node, c *Config) {
	top := section{r: r, node: root}
	top.known(
		[]string{"host", "audit", "limits", "instances", "session", "databases", "directory", "approvers", "mail", "capabilities", "values", "tools", "replies"})
	r.badCallers = len(r.faults) > 0 && !top.has("tools") // they may stand under a misspelt name
	c.Attributes, c.State = top.host()
	c.Audit = top.audit()
	c.Limits = top.configLimits()
	c.Instances = top.instances()
	c.Session = top.bounds()
	c.Databases = top.databases()
	c.Directory = top.directory()
	c.Approvers = top.approvers()
	c.Mails = top.mails()
	c.Capabilities = top.capabilities()
	c.Values = top.values()
	c.Tools = top.tools(c.Limits, c.Instances)
	c.Replies = top.replies()
	r.instancesHaveMemory(c.Instances, c.Tools)
	r.repliesHaveCallers(c.Replies, c.Tools)
	r.rolesHaveValues(c.Values, c.Tools)
	r.rolesAreCallers(c.Directory, c.Tools)
	r.approversAreInDirectory(c.Directory, c.Tools)
	r.tokenFiles(c)
	r.apart(c)
}
