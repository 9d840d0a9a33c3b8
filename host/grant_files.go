package host

import (
	"context"
	"fmt"
	"path"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
)

// filesGrant is a grant of the kind "files".
type filesGrant struct {
	config *config.Files
	files  *capabilities.Files
	leads  string // where the root leads, if a link is on its path
}

// reach opens what the guest could open, and closes it again.
func (g *filesGrant) reach(ctx context.Context, a *asked, i int) (capabilities.Reach, string, error) {
	folder, err := g.folder(a.session)
	if err != nil {
		return nil, "", err
	}
	grant := a.tool.grants[i]
	reach := g.files.Reach(folder, a.theOne(grant))
	if err := reach.Admit(ctx); err != nil {
		return nil, "", err
	}
	what := "the files of the folder"
	if grant.only != "" {
		what = "the one file " + a.shownArgument(grant.only) + " of"
	}
	return reach, what + " " + path.Join(append([]string{g.config.Shown}, folder...)...), nil
}

// folder gives the names that lead from the root to the session's folder.
func (g *filesGrant) folder(s Session) ([]string, error) {
	if len(g.config.Folder) == 0 && !g.config.Everyone { // I2; a loaded config never has it
		return nil, &capabilities.Denial{Word: "no_folder", Text: "the capability has no folder"}
	}
	var names []string
	for _, t := range g.config.Folder {
		name, ok := t.Render(s.value)
		if !ok {
			return nil, &capabilities.Denial{Word: "bad_folder", Text: "the session has no value for " + t.Refs()[0].String()}
		}
		names = append(names, name)
	}
	return names, nil
}

func (g *filesGrant) sentences(only string) []string {
	where := path.Join(g.config.Shown, g.config.FolderShown())
	if g.leads != "" {
		where += " (" + g.config.Shown + " leads to " + g.leads + ")"
	}
	whom, most := "", config.ShowSize(g.config.MaxBytes)
	if g.config.Everyone {
		whom = ", for everyone"
	}
	if only != "" {
		return []string{fmt.Sprintf("to read the one file named by %s in %s, of at most %s%s", only, where, most, whom)}
	}
	return []string{fmt.Sprintf("to list and read the files in %s and below, of at most %s each%s", where, most, whom)}
}

func (g *filesGrant) resolve(_ *Host, r *resolvedGrant) {
	c := g.config
	r.Files = &resolvedFiles{Everyone: c.Everyone, Folder: c.FolderShown(), MaxBytes: c.MaxBytes, Leads: g.leads, MaxFiles: c.MaxFiles, Root: c.Shown}
}
