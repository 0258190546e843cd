// Command stream-monitor watches YouTube live streams and tells by signed
// webhook when one starts, ends, is late, goes black, goes silent, recovers, or
// cannot be fetched. This package is the wiring: the one place that sees
// everything.
//
//	serve    the gateway: REST API, workers, webhooks       worker   one stream, for a gateway
//	watch    one stream, in the foreground                  replay   a recording of watch, again
//	doctor   what is missing, and what to do                migrate  the database, by hand
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the build.
var version = "dev"

// Exit statuses.
const (
	statusFine   = 0
	statusFailed = 1
)

// console is where a command speaks to people: results to out, the log and
// complaints to err.
type console struct {
	out, err io.Writer
}

func main() { os.Exit(run(os.Args[1:], console{os.Stdout, os.Stderr})) }

// run does what the command line asks for and gives the exit status: 0 fine,
// 1 failed, 2 usage or configuration. The first SIGINT or SIGTERM asks the
// command to end; a second one ends the process.
func run(args []string, io console) int {
	_, chosen, err := parseArgs(args, io.out)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop)
		chosen.BindTo(ctx, (*context.Context)(nil))
		err = chosen.Run(io)
	}
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, errAnswered):
		return statusFine
	case errors.As(err, &usage):
		fmt.Fprintln(io.err, usage)
		return usage.ExitCode()
	}
	fmt.Fprintf(io.err, "stream-monitor: %v\n", err)
	return statusFailed
}

// outliveReaders lets a watchdog go on when whoever read its log has died:
// writing to the broken pipe then fails, instead of ending the process.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Run prints the version.
func (VersionCmd) Run(io console) error {
	_, err := fmt.Fprintln(io.out, "stream-monitor", version)
	return err
}
