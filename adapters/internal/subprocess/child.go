package subprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ErrMissing says that the tool is not there or cannot be executed.
var ErrNotInstalled = errors.New("not installed or not executable")

// Command is a tool to run. Path is required; each limit has a default.
type Command struct {
	Path        string
	Args        []string
	Env         []string      // nil: this process's own
	Stdin       io.Reader     // nil: empty. A Read in progress is waited for, so a reader that may block must give up by itself once ctx is done
	MaxOutput   int           // bytes kept of each of stdout and stderr, default 1 MiB; the rest is read and dropped
	GracePeriod time.Duration // between SIGTERM and SIGKILL once ctx is done, default 2 s
	Limits      Limits        // of what it may use; default none
}

// Result is what a tool left.
type Result struct {
	Stdout, Stderr []byte
	Truncated      bool   // more output than MaxOutput
	ExitCode       int    // -1 when ended by a signal
	Signal         string // which, e.g. "killed"; empty otherwise
	InputErr       error  // what reading Stdin ended with, other than EOF

	CPUTime time.Duration // user and system, of the tool and of those of its children that it waited for
}

// Run starts c and blocks until it has ended. A tool that ran to its end is no
// error, whatever its exit code. Errors: ErrMissing; ctx's, when it had to be
// ended; or what prevented the start, or the setting of its limits.
func Run(ctx context.Context, c Command) (Result, error) {
	if c.MaxOutput == 0 {
		c.MaxOutput = 1 << 20
	}
	if c.GracePeriod == 0 {
		c.GracePeriod = 2 * time.Second
	}
	stdout, stderr := &capped{limit: c.MaxOutput}, &capped{limit: c.MaxOutput}
	var in *input

	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = c.Env
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if c.Stdin != nil {
		in = newInput(c.Stdin)
		cmd.Stdin = in
	}
	cmd.SysProcAttr = groupLeader()
	cmd.Cancel = func() error {
		if err := killGroup(cmd.Process, syscall.SIGTERM); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
	cmd.WaitDelay = c.GracePeriod

	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if cannotExecute(err) {
			return Result{}, fmt.Errorf("%s is %w: %w", c.Path, ErrNotInstalled, reason(err))
		}
		return Result{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	offer(cmd.Process.Pid)
	limitErr := c.Limits.impose(cmd.Process.Pid)
	if limitErr != nil {
		_ = killGroup(cmd.Process, syscall.SIGKILL)
	}
	if in != nil {
		in.release(limitErr == nil)
	}
	err := waitForGroup(cmd)
	if limitErr != nil && !errors.Is(limitErr, syscall.ESRCH) { // it has ended already
		return Result{}, fmt.Errorf("limit what %s may use: %w", c.Path, limitErr)
	}

	res := Result{
		Stdout:    stdout.Bytes(),
		Stderr:    stderr.Bytes(),
		Truncated: stdout.over || stderr.over,
		ExitCode:  cmd.ProcessState.ExitCode(),
		CPUTime:   cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.Signal = ws.Signal().String()
	}
	if in != nil {
		res.InputErr = in.err
	}
	if ctx.Err() != nil && err != nil {
		return res, context.Cause(ctx)
	}
	return res, nil
}

// cannotExecute tells a tool that is not there from a machine that could not
// start it just now.
func cannotExecute(err error) bool {
	for _, e := range []error{exec.ErrNotFound, exec.ErrDot, syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.ENOEXEC, syscall.EISDIR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// reason takes the path off an error, because it has been said.
func reason(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	if lookup, ok := errors.AsType[*exec.Error](err); ok {
		return lookup.Err
	}
	return err
}

func killGroup(leader *os.Process, sig syscall.Signal) error {
	return syscall.Kill(-leader.Pid, sig)
}

// capped keeps the first limit bytes and swallows the rest.
type capped struct {
	buf   bytes.Buffer
	limit int
	over  bool
}

func (c *capped) Bytes() []byte { return c.buf.Bytes() }

func (c *capped) Write(p []byte) (int, error) {
	if room := c.limit - c.buf.Len(); room < len(p) {
		c.over = true
		c.buf.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return c.buf.Write(p)
}
