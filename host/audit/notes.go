package audit

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/toolhost/toolhost/host/regularfile"
)

// signedNote is a checkpoint that verified, and where it came from.
type signedNote struct {
	Checkpoint
	kept   string // "": from the folder
	number int64  // in the folder, from 1
	known  bool   // the log reached its size
	wrong  bool   // and had another root
}

// readFolderNotes reads the checkpoints where snapshot has found them.
func (v *verifier) readFolderNotes() error {
	switch {
	case errors.Is(v.noNotes, regularfile.ErrNotRegular):
		v.inNotes(FaultCheckpoint, 0, "%v", regularfile.ErrNotRegular)
		v.keptNotes(-1, false)
		return nil
	case errors.Is(v.noNotes, os.ErrNotExist):
		v.keptNotes(-1, true)
		return nil
	}
	return v.readNotes(io.NewSectionReader(v.noteFile, 0, v.noteSize))
}

// readNotes opens every checkpoint, those of the folder and those from outside.
func (v *verifier) readNotes(from io.Reader) error {
	in := &noteReader{in: bufio.NewReader(from)}
	last := int64(-1)
	for number := int64(1); ; number++ {
		text, size, err := in.next()
		var c Checkpoint
		goOn := true
		switch {
		case errors.Is(err, io.EOF):
			v.tornNote(number, size)
			v.keptNotes(last, true)
			return nil
		case errors.Is(err, errLongNote):
			goOn = v.inNotes(FaultCheckpoint, number, "checkpoint %d %v", number, err)
		case err != nil:
			return err
		default:
			if c, err = openCheckpoint(text, v.o.Public); err != nil {
				goOn = v.inNotes(faultOf(err), number, "checkpoint %d %v", number, err)
			}
		}
		v.report.Checkpoints++
		if !goOn {
			v.keptNotes(last, false)
			return nil
		}
		if err != nil {
			continue
		}
		if c.Entries < last {
			v.inNotes(FaultCheckpoint, number, "checkpoint %d, of %d entries, follows one of %d", number, c.Entries, last)
		}
		last = c.Entries
		v.take(&signedNote{Checkpoint: c, number: number})
	}
}

// inNotes tells what is wrong with the checkpoints file; false: enough was told.
func (v *verifier) inNotes(fault Fault, number int64, format string, args ...any) bool {
	v.noteFaults++
	switch {
	case v.noteFaults <= maxFindings:
		v.report.found(fault, checkpointsFile, number, format, args...)
		return true
	case v.noteFaults == maxFindings+1:
		v.report.found(FaultCheckpoint, checkpointsFile, number, "and more from here on")
	}
	return false
}

// tornNote tells of bytes after the last whole checkpoint.
func (v *verifier) tornNote(number, size int64) {
	switch {
	case size > maxNote:
		v.inNotes(FaultCheckpoint, number, "ends with %d bytes that are no checkpoint", size)
	case size > 0:
		v.inNotes(FaultTorn, number, "the last checkpoint is not whole (%d bytes); opening the log cuts it off", size)
	}
}

// keptNotes opens the checkpoints from outside. Where all of the folder's were
// read, the last one of them is of so many entries.
func (v *verifier) keptNotes(last int64, all bool) {
	for _, k := range v.o.Kept {
		c, err := openCheckpoint(k.Note, v.o.Public)
		if err != nil {
			v.report.found(faultOf(err), k.Name, 0, "the checkpoint %v", err)
			continue
		}
		v.take(&signedNote{Checkpoint: c, kept: k.Name})
		if all && c.Entries > last && k.Name == StateName {
			v.report.found(FaultCut, checkpointsFile, 0, "ends with a checkpoint of %d entries, %s knows one of %d", max(last, 0), k.Name, c.Entries)
		}
	}
}

func (v *verifier) take(n *signedNote) {
	v.notes = append(v.notes, n)
	v.bySize[n.Entries] = append(v.bySize[n.Entries], n)
}

// StateName is the name of the checkpoint that the state database keeps.
const StateName = "the state database"

// faultOf tells a foreign signature from a damaged one.
func faultOf(err error) Fault {
	if errors.Is(err, errOtherKey) {
		return FaultKey
	}
	return FaultCheckpoint
}
