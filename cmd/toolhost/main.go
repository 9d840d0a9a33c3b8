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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	status := ofProcess().run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}
