package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/sandbox"
)

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "version",
		Short:                 "The versions of toolhost, Go and wazero, and how guests run",
		Example:               `  toolhost version`,
		Args:                  exactly(0, "version takes no argument"),
		RunE: func(*cobra.Command, []string) error {
			c.printVersion()
			return nil
		},
	}
}

func (c *cli) printVersion() {
	wazero := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/tetratelabs/wazero" {
				wazero = d.Version
			}
		}
	}
	fmt.Fprintf(c.stdout, "toolhost   %s\ngo         %s %s/%s\nwazero     %s\nstate      every call starts from the same; what one leaves is put back, %s\n",
		ownVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, wazero, sandbox.Tracking())
}

func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, "(devel)")
}
