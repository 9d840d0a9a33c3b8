// The command bench runs the same work in toolhost's sandbox and in its peers, side by side, and prints one table.
// README.md says what each row is.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	served, err := serveProcess(context.Background())
	if !served {
		err = command(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1) //nolint:forbidigo // main ends the process
	}
}

// command reads the flags, runs and prints.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	short := flags.Bool("quick", false, "end within 45 seconds")
	asJSON := flags.Bool("json", false, "print a list of objects in place of the table")
	only := flags.String("only", "", "a regular expression of the ways to run")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := full()
	if *short {
		o = quick()
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	o.stderr = stderr
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // so that plugin processes are ended
	defer stop()
	all, err := run(ctx, o)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(stdout, all)
	}
	return writeText(stdout, all, o)
}
