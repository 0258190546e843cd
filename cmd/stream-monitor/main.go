// Command stream-monitor watches live streams and reports by signed webhook when
// one starts, ends, is late, goes black, goes silent, recovers, or cannot be
// watched. This package only wires the parts together.
//
//	serve      runs the gateway: REST API, workers, webhooks
//	worker     watches one stream for a gateway, which starts it
//	watch      watches one stream in the foreground
//	replay     repeats a recording that watch made
//	doctor     checks this machine
//	import     registers the monitors of a file
//	apply      makes destinations, routes and silences as a file has them
//	migrate    brings the database to the schema of this version
//	uninstall  ends the gateway and workers in a cluster
//	version    prints the version
//
// The first SIGINT, SIGTERM or SIGHUP starts an orderly shutdown; the second one
// ends the remaining parts by force. Neither leaves a process behind. Exit statuses: 0
// success, 1 failure, 2 wrong usage or configuration.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// version is set by the build.
var version = "dev"

// Exit statuses. config.UsageStatus is the third.
const (
	statusFine   = 0
	statusFailed = 1
)

// console receives the output of a command: results on out, log and errors on err.
type console struct {
	out, err io.Writer
}

func main() {
	if err := hideFromTools(); err != nil {
		fmt.Fprintf(os.Stderr, "stream-monitor: the tools that this process runs could read its memory: %v\n", err)
	}
	os.Exit(run(os.Args[1:], console{os.Stdout, os.Stderr}))
}

// run parses and executes the command line. It returns the exit status.
func run(args []string, out console) int {
	command, err := config.Parse(args, out.out)
	if err == nil {
		ctx, forced, release := handleSignals()
		defer release()
		err = execute(ctx, forced, command, out)
	}
	var usage *config.UsageError
	switch {
	case err == nil, errors.Is(err, config.ErrHelpShown):
		return statusFine
	case errors.As(err, &usage):
		fmt.Fprintln(out.err, usage)
		return config.UsageStatus
	case !errors.Is(err, errLogged):
		fmt.Fprintf(out.err, "stream-monitor: %v\n", err)
	}
	return statusFailed
}

func execute(ctx context.Context, forced forcedShutdown, command any, out console) error {
	switch c := command.(type) {
	case *config.Serve:
		return serve(ctx, forced, c, out)
	case *config.Worker:
		return runWorker(ctx, c, out)
	case *config.Watch:
		return watchForeground(ctx, c, out)
	case *config.Import:
		return importMonitors(ctx, c, out)
	case *config.Apply:
		return applyFile(ctx, c, out)
	case *config.Export:
		return exportFile(ctx, c, out)
	case *config.Replay:
		return replay(c, out)
	case *config.Doctor:
		return runDoctor(ctx, c, out)
	case *config.Migrate:
		return migrate(ctx, forced, c, out)
	case *config.Uninstall:
		return uninstall(ctx, c, out)
	case *config.Version:
		_, err := fmt.Fprintln(out.out, "stream-monitor", version)
		return err
	}
	return fmt.Errorf("the command %T has no implementation", command)
}

// newLog makes the log of a command with one of the constructors of package logging. It sends
// there, as DEBUG, what libraries print with the standard library's log: net/http and goose do.
func newLog(constructor func(io.Writer, string, *time.Location) (*slog.Logger, error), w io.Writer, level string) (*slog.Logger, error) {
	log, err := constructor(w, level, time.Local)
	if err != nil {
		return nil, err
	}
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(log.With("component", "library"))
	return log, nil
}

// errLogged is the error of a command that failed and has logged the reason.
var errLogged = errors.New("the log says why")

// logged writes the error with which a command ends to its log (section 11) and
// replaces it with errLogged. It returns a usage error as it is.
func logged(log *slog.Logger, err error) error {
	var usage *config.UsageError
	if err == nil || errors.As(err, &usage) {
		return err
	}
	log.Error("this process has failed and exits", "error", err)
	return errLogged
}
