package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
)

// A directory is the table that says who holds a role now. It is read at every
// call and is stronger than what a session says of itself.
type directory struct {
	config.Directory
	lookup *capabilities.Statement
	any    *capabilities.Statement // whether somebody holds a role in some tenant
}

func openDirectory(ctx context.Context, db *capabilities.Database, d config.Directory) (*directory, error) {
	columns, err := db.Columns(ctx, d.Table)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("database %q has no table %q", d.Database, d.Table)
	}
	for _, name := range []string{"subject", "tenant", "role"} {
		if !columns[name] {
			return nil, fmt.Errorf("table %q of database %q has no column %q", d.Table, d.Database, name)
		}
	}
	// One row whatever is there. The table's name was held to plain letters by
	// the config; an absent tenant equals only an absent tenant.
	lookup, err := db.Prepare(ctx, fmt.Sprintf(`SELECT count(*), coalesce(max(subject), ''), coalesce(max(tenant), ''), coalesce(max(role), '')
		FROM %q WHERE subject = ?1 COLLATE BINARY AND coalesce(tenant, '') = ?2 COLLATE BINARY AND role = ?3 COLLATE BINARY`, d.Table))
	if err != nil {
		return nil, err
	}
	anywhere, err := db.Prepare(ctx, fmt.Sprintf("SELECT count(*) FROM %q WHERE subject = ?1 COLLATE BINARY AND role = ?2 COLLATE BINARY", d.Table))
	if err != nil {
		return nil, err
	}
	return &directory{Directory: d, lookup: lookup, any: anywhere}, nil
}

// holdsSomewhere tells whether somebody holds a role now, in whichever tenant.
func (d *directory) holdsSomewhere(ctx context.Context, subject, role string) (bool, error) {
	count := 0
	if err := d.any.Row(ctx, []any{subject, role}, []any{&count}); err != nil {
		return false, fmt.Errorf("the directory cannot be read: %w", err)
	}
	return count > 0, nil
}

// decides tells whether the role is one that the directory gives and takes.
func (d *directory) decides(role string) bool { return slices.Contains(d.Roles, role) }

// denies gives the reason for which a session does not hold its role now; ""
// where it does.
func (d *directory) denies(ctx context.Context, s Session) (string, error) {
	if s.Subject == "" {
		return "the session has no subject, and the directory decides role " + strconv.Quote(s.Role), nil
	}
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	holds, err := d.holds(ctx, s)
	if holds || err != nil {
		return "", err
	}
	return "the directory does not say that the subject holds role " + strconv.Quote(s.Role), nil
}

// holds tells whether the session's subject holds its role in its tenant now.
func (d *directory) holds(ctx context.Context, s Session) (bool, error) {
	var count int
	var subject, tenant, role string
	err := d.lookup.Row(ctx, []any{s.Subject, s.Tenant, s.Role}, []any{&count, &subject, &tenant, &role})
	if err != nil {
		return false, fmt.Errorf("the directory cannot be read: %w", err)
	}
	// Compared again: a collation may call two subjects equal that are not.
	return count > 0 && subject == s.Subject && tenant == s.Tenant && role == s.Role, nil
}
