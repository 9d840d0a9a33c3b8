package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/state"
)

func (c *cli) auditEraseCommand() *cobra.Command {
	var who audit.Person
	var tenant string
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "erase (--customer ID | --subject ID | --nobody) [--tenant TENANT]",
		Short:                 "Delete a person's key, so that nobody can read what is sealed of them",
		Long: `Deletes the key under which everything about a person is sealed, and the link
between them and their pseudonyms. It cannot be undone. The log stays as it is
and verifies; that somebody was erased is an entry.

exit     0 erased, 3 the log knows nobody of that name, 1 host error, 2 usage`,
		Example: `  toolhost audit erase --customer C-20417`,
		Args:    exactly(0, "audit erase takes no argument; see: toolhost audit erase --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("tenant") {
				who.Tenant = &tenant
			}
			given := 0
			for _, name := range []string{"customer", "subject", "nobody"} {
				if cmd.Flags().Changed(name) {
					given++
				}
			}
			if given != 1 || who == (audit.Person{Tenant: who.Tenant}) {
				return usage("audit erase: say whom, once: --customer, --subject or --nobody")
			}
			return c.auditErase(who)
		},
	}
	cmd.Flags().StringVar(&who.Customer, "customer", "", "whom sessions about this `CUSTOMER` are about")
	cmd.Flags().StringVar(&who.Subject, "subject", "", "who asked as this `SUBJECT`")
	cmd.Flags().BoolVar(&who.Nobody, "nobody", false, "all who asked with neither customer nor subject")
	cmd.Flags().StringVar(&tenant, "tenant", "", "of this `TENANT`, where several have somebody of that name")
	return cmd
}

func (c *cli) auditErase(who audit.Person) error {
	l, s, done, err := c.openLog()
	if err != nil {
		return err
	}
	defer done()
	pseudonym, err := l.Erase(who)
	switch {
	case errors.Is(err, audit.ErrNoSuchPerson):
		forgotten, late := c.forgetApprovals(s, who) // that were decided since the log forgot them
		if late != nil {
			return &status{code: exitHost, err: late}
		}
		if forgotten == 0 {
			return &status{code: exitNo, err: err}
		}
		return nil
	case errors.Is(err, audit.ErrSeveralTenants):
		return usage("%v: --tenant TENANT, or --tenant '' for none", err)
	case err != nil:
		return &status{code: exitHost, err: err}
	}
	fmt.Fprintf(c.stdout, "erased %s: what is sealed of them cannot be read any more\n", pseudonym)
	if _, err := c.forgetApprovals(s, who); err != nil {
		return &status{code: exitHost, err: err}
	}
	other, flag := audit.Person{Subject: who.Customer}, "--subject "+who.Customer
	if who.Subject != "" {
		other, flag = audit.Person{Customer: who.Subject}, "--customer "+who.Subject
	}
	if known, err := l.Knows(other); !who.Nobody && err == nil && known {
		fmt.Fprintf(c.stderr, "note: the log also knows somebody by %s; if that is the same human, erase them too\n", clean(flag))
	}
	return nil
}

// forgetApprovals takes the person out of approvals that have ended.
func (c *cli) forgetApprovals(s *state.State, who audit.Person) (int, error) {
	approvals, err := s.Approvals(time.Now)
	if err != nil || who.Nobody {
		return 0, err
	}
	forgotten, left, err := host.ForgetPerson(approvals, who.Customer, who.Subject, who.Tenant)
	if err != nil {
		return 0, err
	}
	if forgotten > 0 {
		fmt.Fprintf(c.stdout, "%s says nothing of them any more\n", count(forgotten, "approval"))
	}
	if left > 0 {
		fmt.Fprintf(c.stderr, "note: %s still needs to know them; decide it, or let it be delivered, and erase again\n", count(left, "approval"))
	}
	return forgotten, nil
}
