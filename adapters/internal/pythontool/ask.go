package pythontool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Tool is one installed program.
type Tool struct {
	Name      string        // as a Resolution's Source has it
	Path      string        // of the executable, or its name in PATH
	Install   string        // what to do when it is missing
	Timeout   time.Duration // of one question
	MaxOutput int           // bytes of stdout, and of stderr
}

// Trouble is why a question was not even answered with an error: the state it
// leaves the caller with, always one that does not Answer, and why.
type Trouble struct {
	State  watch.StreamState
	Detail string
}

// errTooSlow tells the tool's own time limit from the caller's.
var errTooSlow = errors.New("no answer in time")

// Ask runs the tool once and blocks until it has ended, at most Timeout and
// the two seconds after which it is killed. A tool that ran to its end gives a
// Result whatever its exit code, and no Trouble.
//
// A tool that hangs is Unreachable and not ToolFailed: both tools hang when
// YouTube or the way to it does, their own time limits being per request.
func (t Tool) Ask(ctx context.Context, log *slog.Logger, args ...string) (subprocess.Result, *Trouble) {
	began := time.Now()
	bounded, cancel := context.WithTimeoutCause(ctx, t.Timeout, errTooSlow)
	defer cancel()
	res, err := subprocess.Run(bounded, subprocess.Command{Path: t.Path, Args: args, MaxOutput: t.MaxOutput})
	log.Debug("asked "+t.Name,
		"exit_code", res.ExitCode, "duration_ms", time.Since(began).Milliseconds(), "stderr", Line(string(res.Stderr[:min(len(res.Stderr), MaxSpoken)])))

	switch {
	case errors.Is(err, subprocess.ErrNotInstalled):
		return res, trouble(watch.ToolFailed, "%v; %s", err, t.Install)
	case errors.Is(err, errTooSlow):
		return res, t.tooSlow(res)
	case ctx.Err() != nil && err != nil:
		return res, trouble(watch.Unreachable, "%s was called off: %v", t.Name, err)
	case err != nil:
		return res, trouble(watch.ToolFailed, "%s: %v", t.Name, err)
	case res.Signal != "":
		return res, trouble(watch.ToolFailed, "%s was ended from outside by a signal (%s), perhaps for want of memory", t.Name, res.Signal)
	case res.Truncated:
		return res, trouble(watch.ToolFailed, "%s wrote more than %d bytes", t.Name, t.MaxOutput)
	}
	return res, nil
}

// tooSlow keeps the last words of a tool that had to be ended: they often name
// the host that hangs, or the refusal it was retrying.
func (t Tool) tooSlow(res subprocess.Result) *Trouble {
	state, said := watch.Unreachable, ""
	for line := range Lines(res.Stderr) {
		said = "; its last words: " + line
		if Fault(line) == watch.Blocked {
			state = watch.Blocked
		}
	}
	return trouble(state, "%s had no answer within %v%s", t.Name, t.Timeout, said)
}

func trouble(state watch.StreamState, format string, args ...any) *Trouble {
	return &Trouble{State: state, Detail: Line(fmt.Sprintf(format, args...))}
}
