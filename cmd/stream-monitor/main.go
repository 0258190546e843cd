// Command stream-monitor watches YouTube live streams and tells by signed
// webhook when one starts, ends, is late, goes black, goes silent, recovers, or
// cannot be fetched. This package is the wiring: the one place that sees
// everything.
//
//	serve    the gateway: REST API, workers, webhooks       worker   one stream, for a gateway
//	watch    one stream, in the foreground                  replay   a recording of watch, again
//	doctor   what is missing, and what to do                migrate  the database, by hand
//	version                                                 uninstall  what runs in a cluster
//
// SIGINT, SIGTERM and SIGHUP ask it to end, and it leaves nothing behind. The
// second of them makes it hurry: what has not ended is then ended by force.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// version is set by the build.
var version = "dev"

// Exit statuses; usageStatus is the third.
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
// 1 failed, 2 usage or configuration.
func run(args []string, io console) int {
	_, chosen, err := parseArgs(args, io.out)
	if err == nil {
		forgetSecrets(chosen)
		ctx, hurry, release := obey()
		defer release()
		chosen.BindTo(ctx, (*context.Context)(nil))
		chosen.Bind(hurry)
		err = chosen.Run(io)
	}
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, errAnswered):
		return statusFine
	case errors.As(err, &usage):
		fmt.Fprintln(io.err, usage)
		return usage.ExitCode()
	case !errors.Is(err, errLogged):
		fmt.Fprintf(io.err, "stream-monitor: %v\n", err)
	}
	return statusFailed
}

// errLogged is what a command returns that has failed and has said why in its
// log: there is nothing left to say.
var errLogged = errors.New("the log says why")

// logged puts the error that a command ends with where everything else it says
// is read, in its log (section 11). What is wrong with the usage is for whoever
// typed it and is returned as it is.
func logged(log *slog.Logger, err error) error {
	var usage *usageError
	if err == nil || errors.As(err, &usage) {
		return err
	}
	log.Error("this process has failed", "error", err)
	return errLogged
}

// Run prints the version.
func (VersionCmd) Run(io console) error {
	_, err := fmt.Fprintln(io.out, "stream-monitor", version)
	return err
}
