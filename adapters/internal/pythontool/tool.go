package pythontool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Tool is one installed program.
type Tool struct {
	Name      string // the Source of its Resolutions
	Site      Site
	Path      string        // of the executable, or its name in PATH
	Install   string        // how to install it, or which variable names it
	Timeout   time.Duration // of one run
	MaxOutput int           // bytes of stdout, and of stderr
	Files     []string      // further files and folders that the tool may read; nil: it is not confined (Linux only)
	MaxMemory int64         // bytes that each of its processes may allocate, Linux only (subprocess.Limits)

	File *os.File // of one run, see subprocess.Command; nil: none

	// Environ returns the environment of one run; nil: subprocess.Environment().
	Environ func(context.Context) []string

	// Exec runs a command by the rules of subprocess.Run, which is the default.
	Exec func(context.Context, subprocess.Command) (subprocess.Result, error)
}

// Limits of every run, Linux only. A question takes 0.6 s of CPU time, and some seconds more when
// a site sets a challenge.
const (
	MaxCPU   = 30 * time.Second // of each process
	MaxFiles = 256              // open at once
	MaxFile  = 64 << 20         // bytes of a file that it writes, such as a cached script
)

// Failure is the reason why a run has no complete output.
type Failure struct {
	State  watch.StreamState // never one that Answers
	Detail string            // one line: the cause, what to do, the tool's last message
}

// errTimeout is the cause when Tool.Timeout has passed, not the caller's own limit.
var errTimeout = errors.New("no answer in time")

// Run runs the tool once and blocks until it has ended. After Timeout it asks the tool to
// end, and kills it 2 s later. A tool that ran to its end gives a Result and no Failure,
// whatever its exit code.
//
// A tool that hangs is Unreachable, not ToolFailed. Both tools hang when the site or the
// network does, because their own time limits apply to each request.
func (t Tool) Run(ctx context.Context, log *slog.Logger, args ...string) (subprocess.Result, *Failure) {
	began := time.Now()
	bounded, cancel := context.WithTimeoutCause(ctx, t.Timeout, errTimeout)
	defer cancel()
	run := t.Exec
	if run == nil {
		run = subprocess.Run
	}
	command := subprocess.Command{
		Path: t.Path, Args: args, MaxOutput: t.MaxOutput, File: t.File,
		Limits:      subprocess.Limits{DataBytes: t.MaxMemory, CPUTime: MaxCPU, OpenFiles: MaxFiles, FileBytes: MaxFile},
		Confinement: subprocess.NewConfinement(t.Files, true),
	}
	if t.Environ != nil {
		command.Env = t.Environ(ctx)
	}
	res, err := run(bounded, command)
	log.Debug("ran "+t.Name,
		"exit_code", res.ExitCode, "duration_ms", time.Since(began).Milliseconds(), "cpu_ms", res.CPUTime.Milliseconds(), "stderr", OneLine(string(res.Stderr[:min(len(res.Stderr), MaxText)])))

	switch {
	case errors.Is(err, subprocess.ErrNotInstalled):
		return res, failure(watch.ToolFailed, "%s cannot be run: %v; %s", t.Name, err, t.Install)
	case errors.Is(err, errTimeout):
		return res, t.timeout(res)
	case ctx.Err() != nil && err != nil:
		return res, failure(watch.Unreachable, "%s was stopped before it had an answer: %v", t.Name, err)
	case err != nil:
		return res, failure(watch.ToolFailed, "%s cannot be run: %v", t.Name, err)
	case res.Signal == syscall.SIGXCPU.String():
		return res, failure(watch.ToolFailed, "%s used more than %v of CPU time", t.Name, MaxCPU)
	case res.Signal != "":
		return res, failure(watch.ToolFailed, "%s was ended by a signal (%s), perhaps for lack of memory", t.Name, res.Signal)
	case res.Truncated:
		return res, failure(watch.ToolFailed, "%s wrote more than %d bytes", t.Name, t.MaxOutput)
	}
	return res, nil
}

// timeout describes a tool that reached its Timeout. The last message often names the
// host that hangs, or the refusal after which the tool tried again.
func (t Tool) timeout(res subprocess.Result) *Failure {
	found := Diagnosis{State: watch.Unreachable, Cause: t.Site.Title + " does not answer in time"}
	last := ""
	for line := range Lines(res.Stderr) {
		last = "; its last message: " + line
		if d := t.Site.Diagnose(line); d.State.Refused() || d.State != "" && !found.State.Refused() {
			found = d
		}
	}
	return failure(found.State, "%s: %s had no answer within %v%s", found.Cause, t.Name, t.Timeout, last)
}

func failure(state watch.StreamState, format string, args ...any) *Failure {
	return &Failure{State: state, Detail: OneLine(fmt.Sprintf(format, args...))}
}
