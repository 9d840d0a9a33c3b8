package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
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
	l, done, err := c.openLog()
	if err != nil {
		return err
	}
	defer done()
	pseudonym, err := l.Erase(who)
	switch {
	case errors.Is(err, audit.ErrNoSuchPerson):
		return &status{code: exitNo, err: err}
	case errors.Is(err, audit.ErrSeveralTenants):
		return usage("%v: --tenant TENANT, or --tenant '' for none", err)
	case err != nil:
		return &status{code: exitHost, err: err}
	}
	fmt.Fprintf(c.stdout, "erased %s: what is sealed of them cannot be read any more\n", pseudonym)
	other, flag := audit.Person{Subject: who.Customer}, "--subject "+who.Customer
	if who.Subject != "" {
		other, flag = audit.Person{Customer: who.Subject}, "--customer "+who.Subject
	}
	if known, err := l.Knows(other); !who.Nobody && err == nil && known {
		fmt.Fprintf(c.stderr, "note: the log also knows somebody by %s; if that is the same human, erase them too\n", clean(flag))
	}
	return nil
}
