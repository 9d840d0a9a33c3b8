package config

import (
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/nearest"
)

// Approver is a person who may say yes to a write, and how they prove who they
// are: by a token of which only the SHA-256 is known here.
type Approver struct {
	Place
	Subject string
	Hash    string // 64 hex digits; empty: it stands in File
	File    string // holds "sha256:" and the hash, absolute and cleaned; without it nobody has the token
	Shown   string // as the file has it
}

// Approve says who must agree before a tool that writes runs.
type Approve struct {
	Place
	Role      string        // that the directory gives
	Requester bool          // who asked may agree themselves
	Expires   time.Duration // how long a proposal waits
}

const (
	hashPrefix, filePrefix = "sha256:", "file:"

	defaultExpires         = 15 * time.Minute
	minExpires, maxExpires = time.Second, 7 * 24 * time.Hour
)

// ParseHash reads "sha256:" and 64 hex digits, as [approvers] and the files that
// it names have it.
func ParseHash(text string) (string, bool) {
	hash, ok := strings.CutPrefix(text, hashPrefix)
	raw, err := hex.DecodeString(hash)
	return hash, ok && err == nil && len(raw) == 32 && hash == strings.ToLower(hash)
}

// approvers reads [approvers].
func (s section) approvers() []Approver {
	table, ok := s.child("approvers", "[approvers]")
	if !ok {
		return nil
	}
	var list []Approver
	for _, subject := range table.node.keys {
		a := Approver{Place: Place{File: s.r.file, Line: table.node.table[subject].line}, Subject: subject}
		if subject == "" {
			table.fault(subject, "nobody has no name; write the subject of the person, as the directory has it")
		}
		if text, ok := table.text(subject); ok {
			a.Shown = text
			table.token(subject, text, &a)
		}
		same := slices.IndexFunc(list, func(o Approver) bool { return o.Hash != "" && o.Hash == a.Hash })
		if same >= 0 {
			table.fault(subject, "has the token of %s too; each person has their own", quote(list[same].Subject))
		}
		list = append(list, a)
	}
	return list
}

func (s section) token(subject, text string, a *Approver) {
	hash, ok := ParseHash(text)
	file, isFile := strings.CutPrefix(text, filePrefix)
	switch {
	case ok:
		a.Hash = hash
	case isFile && file != "":
		a.File = s.r.path(file)
	default:
		// The text is not shown: it may be the token.
		s.fault(subject, `this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token %s`, clean(subject))
	}
}

// approve reads tools.X.approve: a tool that writes must say who agrees.
func (s section) approve(effect string) *Approve {
	const example = `approve = { role = "owner", requester = false, expires = "15m" }`
	switch {
	case effect == "write":
		s.require("approve", example)
		if !s.has("approve") {
			s.r.badCallers = true // nor can the directory's roles be held against it
		}
	case effect == "read" && s.has("approve"):
		s.fault("approve", "a tool that reads runs at once and asks nobody; remove it")
		return nil
	}
	table, ok := s.child("approve", s.at("approve"))
	if !ok {
		return nil
	}
	table.known([]string{"role", "requester", "expires"})
	a := &Approve{Place: table.place(), Expires: defaultExpires}
	table.require("role", `role = "owner"`)
	if role, ok := table.name("role", roleName); ok {
		a.Role = role
	} else {
		s.r.badCallers = true // nor can the directory's roles be held against it
	}
	if n := table.node.table["requester"]; n != nil {
		value, isBool := n.scalar.(bool)
		if !isBool {
			table.fault("requester", "found %s, expected true or false", found(n))
		}
		a.Requester = value
	}
	if v, ok := table.duration("expires", minExpires, maxExpires); ok {
		a.Expires = v
	}
	return a
}

// approversAreInDirectory reports a role that approves and that the directory
// does not decide: it would be whatever somebody says of themselves.
func (r *reader) approversAreInDirectory(d *Directory, tools []Tool) {
	for _, t := range tools {
		if t.Approve == nil || t.Approve.Role == "" {
			continue
		}
		switch {
		case d == nil:
			r.report(t.Approve.Line, "[tools.%s] approve: role: nothing says who is %s; an approver's role is looked up in a [directory]", showKey(t.Name), quote(t.Approve.Role))
		case !slices.Contains(d.Roles, t.Approve.Role):
			r.report(t.Approve.Line, "[tools.%s] approve: role: %s is none of the roles that [directory] decides%s", showKey(t.Name), quote(t.Approve.Role), nearest.DidYouMean(t.Approve.Role, d.Roles))
		}
	}
}

// tokenFiles are the files of [approvers] that lie where they must not: where
// somebody else writes. That no tool reads them NotToRead says.
func (r *reader) tokenFiles(c *Config) {
	for _, a := range c.Approvers {
		if a.File == "" {
			continue
		}
		for _, t := range c.Tools {
			if t.Plugin != "" && Inside(a.File, t.Plugin) {
				r.report(a.Line, "[approvers] %s: %s lies in the plugin of %s; a plugin's folder is somebody else's to write", showKey(a.Subject), quote(a.Shown), showKey(t.Name))
			}
		}
		if r.own.folder.holds(a.File) || filepath.Clean(a.File) == c.Audit.Key || a.File == c.State {
			r.report(a.Line, "[approvers] %s: %s is toolhost's own; keep the hash in a file of its own", showKey(a.Subject), quote(a.Shown))
		}
	}
}

// Sentence says who must agree, for a reviewer.
func (a Approve) Sentence() string {
	s := "a person of role " + a.Role + " by the directory, of the same tenant"
	if a.Requester {
		s += "; who asked may agree too"
	} else {
		s += ", and not who asked"
	}
	return s + "; within " + showDuration(a.Expires)
}
