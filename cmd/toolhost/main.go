// Command toolhost stands between a language model and its tools: it decides
// each proposed call by one config, runs the tool in a sandbox, and says why.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away is an error of the write, and calls still end in the record
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	status := ofProcess().run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}
