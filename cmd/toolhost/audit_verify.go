package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/regularfile"
	"github.com/toolhost/toolhost/host/state"
)

type verifyFlags struct {
	checkpoints []string
	key, folder string
	asJSON      bool
}

func (c *cli) auditVerifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "verify [--checkpoint FILE] [--key FILE] [--folder DIR]",
		Short:                 "Say whether the log is what was written, and if not, what is wrong and where",
		Long: `Reads the whole log, makes its tree anew, and holds it against every checkpoint:
those in the folder, the one that the state database keeps, and those given here.
With the log's own key it also looks into what is sealed. It writes nothing.

With --folder and --key it needs no config and no secret: a copy of the folder
and the public key (the file beside the key, with .pub) are enough.

exit     0 nothing is wrong, 3 something is, 1 host error, 2 usage or config`,
		Example: `  toolhost audit verify --checkpoint kept.txt`,
		Args:    exactly(0, "audit verify takes no argument; see: toolhost audit verify --help"),
		RunE:    func(*cobra.Command, []string) error { return c.auditVerify(f) },
	}
	cmd.Flags().StringArrayVar(&f.checkpoints, "checkpoint", nil, "`FILE` with one or more checkpoints that were kept")
	cmd.Flags().StringVar(&f.key, "key", "", "`FILE` with the public key (default: that of the config's key)")
	cmd.Flags().StringVar(&f.folder, "folder", "", "`DIR` of the log (default: the config's)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "stdout: the whole report as one JSON object")
	return cmd
}

func (c *cli) auditVerify(f verifyFlags) error {
	folder, o, err := c.verifyOptions(f)
	if err != nil {
		return err
	}
	r := &audit.Report{Findings: []audit.Finding{{Fault: audit.FaultMissing, File: folder, Text: "there is no log here"}}}
	if o.Public != nil || o.KeyFile != "" {
		r, err = audit.Verify(folder, o)
	}
	if err != nil {
		return &status{code: exitHost, err: err}
	}
	if f.asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			return &status{code: exitHost, err: err}
		}
		_, _ = c.stdout.Write(append(line, '\n')) // the sink remembers an error
	} else {
		c.printReport(r, len(o.Kept))
	}
	if len(r.Findings) > 0 {
		return &status{code: exitNo}
	}
	return nil
}

const (
	maxNoteFile = 64 << 10
	maxKeptFile = 64 << 20 // a checkpoint has some 300 bytes
)

func (c *cli) verifyOptions(f verifyFlags) (folder string, o audit.VerifyOptions, err error) {
	if f.key != "" {
		text, err := regularfile.Read(c.path(f.key), maxNoteFile)
		if err == nil {
			o.Public, err = audit.ParsePublicKey(text)
		}
		if err != nil {
			return "", o, usage("--key %s: %v", f.key, err)
		}
	}
	for _, name := range f.checkpoints {
		text, err := regularfile.Read(c.path(name), maxKeptFile)
		if err != nil {
			return "", o, usage("--checkpoint %s: %v", name, err)
		}
		notes, err := audit.SplitCheckpoints(text)
		if err != nil {
			return "", o, usage("--checkpoint %s: %v", name, err)
		}
		for _, note := range notes {
			o.Kept = append(o.Kept, audit.KeptCheckpoint{Name: name, Note: note})
		}
	}
	if f.folder != "" {
		if f.key == "" {
			return "", o, usage("--folder needs --key, the public key of that log")
		}
		return c.path(f.folder), o, nil
	}
	conf, err := c.auditConfig()
	if err != nil {
		return "", o, err
	}
	if !audit.Exists(conf.Audit.Folder) {
		return conf.Audit.Folder, o, nil
	}
	if o.KeyFile, err = c.secretKey(conf.Audit.Key, o.Public != nil); err != nil {
		return "", o, err
	}
	kept, err := keptInState(conf.State)
	switch {
	case err != nil:
		return "", o, &status{code: exitHost, err: err}
	case kept == nil:
		fmt.Fprintf(c.stderr, "note: %s keeps no checkpoint; without one a cut end is not seen\n", clean(conf.State))
	default:
		o.Kept = append(o.Kept, audit.KeptCheckpoint{Name: audit.StateName, Note: kept})
	}
	return conf.Audit.Folder, o, nil
}

// secretKey gives the log's own key, with which what is sealed can be looked
// into. Where it is not there the public key must have been given.
func (c *cli) secretKey(path string, public bool) (string, error) {
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return path, nil
	case public:
		fmt.Fprintf(c.stderr, "note: the key %s cannot be read; what is sealed is not looked into\n", clean(path))
		return "", nil
	}
	return "", usage("the key %s cannot be read; give the public one: --key FILE", path)
}

func keptInState(path string) ([]byte, error) {
	s, err := state.OpenToRead(path)
	if err != nil {
		return nil, err
	}
	note, err := s.Checkpoint()
	return note, errors.Join(err, s.Close())
}

// printReport says first what the log is, then what is wrong with it.
func (c *cli) printReport(r *audit.Report, kept int) {
	const clock = "2006-01-02 15:04:05"
	fmt.Fprintf(c.stdout, "%s\n", clean(r.Origin))
	if r.Entries > 0 {
		fmt.Fprintf(c.stdout, "  entries      %d, from %s to %s UTC\n", r.Entries, r.First.UTC().Format(clock), r.Last.UTC().Format(clock))
		fmt.Fprintf(c.stdout, "  root         %s\n", r.Root)
	}
	signed := "none"
	if r.Checkpoints > 0 {
		signed = fmt.Sprintf("%d, the last one covers %s", r.Checkpoints, count(int(r.Signed), "line"))
		if more := r.Entries - r.Signed; more > 0 {
			signed += fmt.Sprintf("; %d more not signed yet", more)
		}
	}
	fmt.Fprintf(c.stdout, "  checkpoints  %s; kept elsewhere: %d of %d fit\n", signed, r.Kept, kept)
	if r.Values.Looked {
		fmt.Fprintf(c.stdout, "  values       %d whole, %d erased, %d expired\n", r.Values.Whole, r.Values.Erased, r.Values.Expired)
	} else {
		fmt.Fprintln(c.stdout, "  values       not looked into: that needs the log's own key")
	}
	if r.Recoveries > 0 {
		fmt.Fprintf(c.stdout, "  recoveries   %d; see: toolhost audit show\n", r.Recoveries)
	}
	fmt.Fprintln(c.stdout)
	for _, f := range r.Findings {
		where := f.File
		if f.Line > 0 {
			where = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		fmt.Fprintf(c.stdout, "%s: %s: %s\n", clean(where), c.paint(c.stdout, red, string(f.Fault)), clean(f.Text))
	}
	switch len(r.Findings) {
	case 0:
		fmt.Fprintln(c.stdout, "no faults")
	case 1:
		fmt.Fprintln(c.stdout, "1 fault")
	default:
		fmt.Fprintf(c.stdout, "%d faults\n", len(r.Findings))
	}
}
