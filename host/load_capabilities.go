package host

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/regularfile"
)

func (l *loader) openCapabilities(ctx context.Context) {
	for i := range l.host.config.Capabilities {
		switch c := &l.host.config.Capabilities[i]; {
		case c.Records != nil:
			l.openRecords(ctx, c)
		case c.Files != nil:
			l.openFiles(c)
		case c.Fetch != nil:
			l.openFetch(c)
		case c.Outbox != nil:
			l.openOutbox(ctx, c)
		}
	}
	for i := range l.host.config.Capabilities { // what delivers may stand after what it delivers
		if c := &l.host.config.Capabilities[i]; c.Outbox != nil {
			l.holdDelivery(c)
		}
	}
}

func (l *loader) openRecords(ctx context.Context, c *config.Capability) {
	r := c.Records
	if l.host.databases[r.Database] == nil {
		return // the database's fault is told already
	}
	if len(r.Scope) == 0 && !r.Everyone { // I2; a loaded config never has it
		l.fault(c.Place, "[capabilities.%s] has no scope", c.Name)
	}
	rc := capabilities.RecordsConfig{
		Name: c.Name, Table: r.Table, Key: r.Key, Columns: r.Columns,
		Types: map[string]capabilities.ColumnType{}, MaxRows: r.MaxRows, MaxBytes: r.MaxBytes,
	}
	for name, t := range r.Types {
		rc.Types[name] = capabilities.ColumnType{Name: t.Name, Places: t.Places}
	}
	for _, clause := range r.Scope {
		rc.Scope = append(rc.Scope, clause.Column)
	}
	opened, faults := capabilities.OpenRecords(ctx, l.host.databases[r.Database], rc)
	for _, f := range faults {
		l.fault(c.At(f.Key), "[capabilities.%s] %s: %s", c.Name, f.Key, f.Text)
	}
	if opened != nil {
		l.records[c.Name] = opened
	}
}

func (l *loader) openFiles(c *config.Capability) {
	opened, err := capabilities.OpenFiles(capabilities.FilesConfig{
		Name: c.Name, Root: c.Files.Root, MaxBytes: c.Files.MaxBytes, MaxFiles: c.Files.MaxFiles,
	})
	switch {
	case errors.Is(err, os.ErrNotExist):
		l.fault(c.At("root"), "[capabilities.%s] root: the folder %q is not there; make it, or correct the path", c.Name, c.Files.Shown)
		return
	case err != nil:
		l.fault(c.At("root"), "[capabilities.%s] root: the folder %q cannot be opened: %v", c.Name, c.Files.Shown, err)
		return
	}
	l.files[c.Name] = opened
	if real := where(c.Files.Root); real != l.unlinked(c.Files.Shown) {
		l.leads[c.Name] = real
	}
	l.host.closers = append(l.host.closers, opened)
	l.rootApart(c)
}

// rootApart holds a root of files against what is toolhost's own where links
// lead. The config has compared the paths as they are written.
func (l *loader) rootApart(c *config.Capability) {
	root := where(c.Files.Root)
	for _, own := range l.host.config.NotToRead() {
		if at := where(own.Path); at == root || config.Inside(at, root) {
			l.fault(c.At("root"), "[capabilities.%s] root: the folder %q leads to one that holds %s, which no tool may read as a file", c.Name, c.Files.Shown, own.What)
		}
	}
	if config.Inside(root, where(l.host.config.Audit.Folder)) {
		l.fault(c.At("root"), "[capabilities.%s] root: the folder %q leads into the audit folder", c.Name, c.Files.Shown)
	}
}

// unlinked is where a path of the config would be if nothing on it were a link;
// the config's own folder may lie behind one.
func (l *loader) unlinked(shown string) string {
	if path := filepath.FromSlash(shown); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(where(l.host.config.Dir), filepath.FromSlash(shown))
}

// where follows the links of a path as far as there is something.
func where(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); err != nil && parent != path {
		return filepath.Join(where(parent), filepath.Base(path))
	}
	if err != nil {
		return path
	}
	return real
}

const maxRootsFile = 4 << 20 // bytes; a system's whole store has some hundred KiB

func (l *loader) openFetch(c *config.Capability) {
	f := c.Fetch
	fc := capabilities.FetchConfig{Name: c.Name, MaxBytes: f.MaxBytes, Time: f.Time, Resolver: l.resolver}
	for i := range f.Allow {
		a := &f.Allow[i]
		allow := capabilities.FetchAllow{URL: a.URL, Methods: a.Methods, Addresses: a.Addresses, Connections: a.Connections}
		if a.Roots != "" {
			allow.Roots = l.readRoots(c, a)
		}
		fc.Allow = append(fc.Allow, allow)
	}
	opened := capabilities.OpenFetch(fc)
	l.fetch[c.Name] = opened
	l.host.closers = append(l.host.closers, opened)
}

func (l *loader) readRoots(c *config.Capability, a *config.Allow) *x509.CertPool {
	pem, err := regularfile.Read(a.Roots, maxRootsFile)
	pool := x509.NewCertPool() // an empty one trusts nobody
	switch {
	case err != nil:
		l.fault(a.At("roots"), "[capabilities.%s] allow.roots: %q cannot be read: %v", c.Name, a.RootsShown, err)
	case !pool.AppendCertsFromPEM(pem):
		l.fault(a.At("roots"), "[capabilities.%s] allow.roots: %q holds no certificate in PEM", c.Name, a.RootsShown)
	}
	sum := sha256.Sum256(pem)
	l.roots[a.Roots] = "sha256:" + hex.EncodeToString(sum[:])
	return pool
}
