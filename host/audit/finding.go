package audit

import (
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Fault names a way in which a log is not what it was.
type Fault string

// The faults that Verify tells apart.
const (
	FaultEdited     Fault = "edited"      // a line is not the one that was written
	FaultRewritten  Fault = "rewritten"   // a line and its hashes; a checkpoint tells
	FaultRemoved    Fault = "removed"     // a line is missing
	FaultSwapped    Fault = "swapped"     // two lines changed places
	FaultInserted   Fault = "inserted"    // a line that was not written there
	FaultForged     Fault = "forged"      // a line that the log's key did not make
	FaultCopied     Fault = "copied"      // a line that stands elsewhere too
	FaultCut        Fault = "cut"         // the end is missing
	FaultTorn       Fault = "torn"        // the last line is not whole; opening the log puts it right
	FaultTwoWriters Fault = "two_writers" // two entries have one number
	FaultForked     Fault = "forked"      // a kept checkpoint is of another history
	FaultKey        Fault = "other_key"   // signed by another key
	FaultCheckpoint Fault = "checkpoint"  // a checkpoint is damaged or out of order
	FaultTree       Fault = "tree"        // the tree file does not go with the lines
	FaultValues     Fault = "values"      // sealed values are damaged, or gone without an entry that says so
	FaultMissing    Fault = "missing"     // there is no log, or no regular file in its place
)

// Finding is one thing that is wrong, and where.
type Finding struct {
	Fault Fault  `json:"fault"`
	File  string `json:"file"`
	Line  int64  `json:"line,omitempty"` // of entries.jsonl, or the number of the checkpoint; from 1
	Text  string `json:"text"`
}

// KeptCheckpoint is a signed note from outside the folder.
type KeptCheckpoint struct {
	Name string // for findings: a file, "the state database"
	Note []byte
}

// VerifyOptions say what to hold a log against.
type VerifyOptions struct {
	Public  note.Verifier // who must have signed; nil: the key file's
	KeyFile string        // to look into what is sealed; "": that is not looked at
	Kept    []KeptCheckpoint
}

// Report is what Verify found.
type Report struct {
	Origin      string    `json:"origin"`
	Entries     int64     `json:"entries"`
	Root        string    `json:"root"` // base64
	Checkpoints int       `json:"checkpoints"`
	Signed      int64     `json:"signed"` // entries that a checkpoint covers
	Kept        int       `json:"kept"`   // checkpoints from outside that fit
	First       time.Time `json:"first,omitzero"`
	Last        time.Time `json:"last,omitzero"`
	Recoveries  int       `json:"recoveries"`
	Values      Sealings  `json:"values"`
	Findings    []Finding `json:"findings"`
}

// Sealings counts the sealed values that were looked into.
type Sealings struct {
	Looked  bool  `json:"looked"` // with the key
	Whole   int64 `json:"whole"`
	Erased  int64 `json:"erased"`
	Expired int64 `json:"expired"`
}

func (r *Report) found(fault Fault, file string, line int64, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Fault: fault, File: file, Line: line, Text: fmt.Sprintf(format, args...)})
}
