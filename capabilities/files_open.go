package capabilities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// The one check of the kind "files", with its two callers: the capability gate
// (Admit) and the host functions (files_functions.go).

var (
	errNotThere   = &Denial{"not_there", "there is no such file"}
	errNoFolder   = &Denial{"no_folder", "the session has no folder"}
	errLink       = &Denial{"link", "a name on the path is a symbolic link"}
	errNotFolder  = &Denial{"not_a_folder", "a name on the path is no folder"}
	errNotRegular = &Denial{"not_regular", "it is no regular file"}
	errHardLink   = &Denial{"hard_link", "the file has more than one name (a hard link), so that it may lie elsewhere too"}
	errUnreadable = &Denial{"unreadable", "the host may not read it"}
	errChanged    = &Denial{"changed", "it was exchanged while it was opened"}
	errOtherFile  = &Denial{"not_the_granted_file", "the grant names another file"}
)

// Admit is the gate's check: what the guest of this call could open, it opens
// and closes again. No handle outlives the check. A session that has no folder
// is admitted where no file is named: there is nothing for its guest to reach.
func (f *FilesReach) Admit(context.Context) error {
	if f.only != nil {
		file, err := f.open(*f.only)
		if err != nil {
			return err
		}
		return withoutPath(file.Close())
	}
	folder, err := f.openFolder(nil)
	if errors.Is(err, errNoFolder) {
		return nil
	}
	if err != nil {
		return err
	}
	return folder.Close()
}

// open opens one file of the session's folder for reading.
func (f *FilesReach) open(path string) (*os.File, error) {
	names, err := checkPath(path)
	if err != nil {
		return nil, err
	}
	last := len(names) - 1
	folder, err := f.openFolder(names[:last])
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return f.openFile(folder, names[last])
}

// openFolder opens the session's folder and then, within it, the folder that
// the names lead to. What lies beside the session's folder is out of reach of
// the second walk.
func (f *FilesReach) openFolder(names []string) (*os.Root, error) {
	for _, name := range f.folder {
		if err := checkName(name); err != nil {
			return nil, &Denial{"bad_folder", "the session's folder: " + err.Error()}
		}
	}
	own, err := walk(f.root, f.folder)
	switch {
	case errors.Is(err, errNotThere):
		return nil, errNoFolder
	case errors.Is(err, errLink) || errors.Is(err, errNotFolder):
		return nil, &Denial{"bad_folder", "the session's folder: " + err.Error()}
	case err != nil:
		return nil, err
	case len(names) == 0:
		return own, nil
	}
	defer own.Close()
	return walk(own, names)
}

// walk opens folder within folder. What it gives is another handle than from.
func walk(from *os.Root, names []string) (*os.Root, error) {
	if len(names) == 0 {
		same, err := from.OpenRoot(".")
		if err != nil {
			return nil, denial(err)
		}
		return same, nil
	}
	at := from
	for _, name := range names {
		next, err := step(at, name)
		if at != from {
			_ = at.Close() // nothing was written
		}
		if err != nil {
			return nil, denial(err)
		}
		at = next
	}
	return at, nil
}

// step opens the folder of this name. os.Root would follow a link that stays
// within it; here the name itself must be the folder that was opened. It opens
// a last name as whatever it is, and the open of a FIFO that takes the folder's
// place waits: before "/." there can only be a folder.
func step(from *os.Root, name string) (*os.Root, error) {
	named, err := from.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case named.Mode()&fs.ModeSymlink != 0:
		return nil, errLink
	case !named.IsDir():
		return nil, errNotFolder
	}
	to, err := from.OpenRoot(name + "/.")
	if err != nil {
		return nil, err
	}
	opened, err := to.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = errChanged
	}
	if err != nil {
		_ = to.Close() // the first error is the one to tell
		return nil, err
	}
	return to, nil
}

// openFile opens a file of a folder. It looks first, as the open of a device
// can do something and that of a FIFO can wait, and then holds the handle
// against what it saw.
func (f *FilesReach) openFile(folder *os.Root, name string) (*os.File, error) {
	named, err := folder.Lstat(name)
	if err == nil {
		err = f.admissible(named)
	}
	if err != nil {
		return nil, denial(err)
	}
	file, err := folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, denial(err)
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = errChanged
	}
	if err == nil {
		err = f.admissible(opened)
	}
	if err != nil {
		_ = file.Close() // the first error is the one to tell
		return nil, denial(err)
	}
	return file, nil
}

// admissible holds what is known of a file against what may be read. Its size
// is a first look: who reads counts.
func (f *FilesReach) admissible(info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return errLink
	case !info.Mode().IsRegular():
		return errNotRegular
	case links(info) != 1:
		return errHardLink
	case info.Size() > f.c.MaxBytes:
		return f.tooLong()
	}
	return nil
}

func (f *FilesReach) tooLong() error {
	return &Denial{"file_too_long", fmt.Sprintf("the file is longer than max_bytes (%d)", f.c.MaxBytes)}
}

// content reads a file whole. Its size is what was read: a file can grow, and
// some say that they are empty.
func (f *FilesReach) content(file io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(file, f.c.MaxBytes+1))
	switch {
	case err != nil:
		return nil, denial(err)
	case int64(len(data)) > f.c.MaxBytes:
		return nil, f.tooLong()
	}
	return data, nil
}

// denial tells what lies with the file from what lies with the host: too many
// open files, an error of the disk. What os.Root itself says, that a path leads
// out of it, and what a path is not any more, were exchanged between two looks.
func denial(err error) error {
	var d *Denial
	var system syscall.Errno
	switch {
	case errors.As(err, &d):
		return d
	case errors.Is(err, fs.ErrNotExist):
		return errNotThere
	case errors.Is(err, fs.ErrPermission):
		return errUnreadable
	case errors.Is(err, fs.ErrClosed):
		return withoutPath(err)
	case !errors.As(err, &system):
		return errChanged
	}
	switch system {
	case syscall.ENOTDIR, syscall.ELOOP, syscall.EISDIR, syscall.ENXIO:
		return errChanged
	case syscall.ENAMETOOLONG, syscall.EINVAL, syscall.EILSEQ: // a name that this file system does not have
		return errNotThere
	default:
		return system
	}
}

// withoutPath takes the path out of an error of the file system: who reads it
// knows it in the form of the config.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
