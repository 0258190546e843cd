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

// ErrNotInstalled means that the tool does not exist or cannot be executed.
var ErrNotInstalled = errors.New("not installed or not executable")

// Command is a tool to run. Path is required.
type Command struct {
	Path        string
	Args        []string
	Env         []string      // nil: Environment()
	Stdin       io.Reader     // nil: empty. Run waits for a Read in progress, so a reader that may block must return once ctx is done
	Inputs      []io.Reader   // read by the tool as file descriptors 3, 4 and so on; the rule of Stdin applies
	File        *os.File      // opened by the tool as FilePath, see NewPrivateFile; not together with Inputs. nil: there is none
	Stdout      io.Writer     // nil: Result has the output. An error of Write ends the tool's output and is returned
	MaxOutput   int           // bytes kept of each of stdout and stderr, default 1 MiB; the rest is read and dropped
	GracePeriod time.Duration // between SIGTERM and SIGKILL once ctx is done, default 2 s
	Limits      Limits        // default: no limits
	Confinement *Confinement  // nil: it may reach what this user may, but has no capabilities
	OnExit      func()        // called when the tool has ended; on Linux, before Run waits for a Read of Stdin
}

// FilePath is the path by which a tool opens Command.File, as often as it wants.
const FilePath = "/proc/self/fd/3"

// Result holds the output and the exit code of a tool.
type Result struct {
	Stdout, Stderr []byte
	Truncated      bool   // more output than MaxOutput
	ExitCode       int    // -1 when ended by a signal
	Signal         string // its name, e.g. "killed"; empty otherwise
	InputErr       error  // of reading Stdin, other than EOF

	CPUTime time.Duration // user and system time of the tool and of the children that it has waited for
}

// Run starts c and blocks until it has ended. A non-zero exit code is no error.
// Errors: ErrNotInstalled; ctx's cause, when the tool had to be ended; the tool
// could not be started, or its limits or its confinement not be set.
func Run(ctx context.Context, c Command) (Result, error) {
	c = c.complete()
	stdout, stderr := &limitedBuffer{limit: c.MaxOutput}, &limitedBuffer{limit: c.MaxOutput}
	cmd := c.prepare(ctx)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	var in *input
	if c.Stdin != nil {
		in = &input{r: c.Stdin}
		cmd.Stdin = in
	}
	more, err := newPipes(c.Inputs)
	if err != nil {
		return Result{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	defer more.close()
	cmd.ExtraFiles = more.readers()
	if c.File != nil {
		cmd.ExtraFiles = []*os.File{c.File}
	}
	tool, err := launch(cmd, c)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return Result{}, startError(c.Path, err)
	}
	more.feed()
	err = tool.wait(c.OnExit)

	res := newResult(cmd, stdout, stderr)
	if in != nil {
		res.InputErr = in.err
	}
	if ctx.Err() != nil && err != nil {
		return res, context.Cause(ctx)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); c.Stdout != nil && err != nil && !exited {
		return res, fmt.Errorf("take the output of %s: %w", c.Path, err)
	}
	return res, nil
}

// complete returns the command with its defaults.
func (c Command) complete() Command {
	if c.MaxOutput == 0 {
		c.MaxOutput = 1 << 20
	}
	if c.OnExit == nil {
		c.OnExit = func() {}
	}
	if c.GracePeriod == 0 {
		c.GracePeriod = 2 * time.Second
	}
	return c
}

func (c Command) environment() []string {
	env := c.Env
	if env == nil {
		env = Environment()
	}
	return c.Confinement.Environ(env)
}

// prepare returns the tool as a process group of its own, to be started. The end of ctx
// sends SIGTERM to the group.
func (c Command) prepare(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = c.environment()
	cmd.Cancel = func() error {
		if err := killGroup(cmd.Process, syscall.SIGTERM); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
	cmd.WaitDelay = c.GracePeriod
	return cmd
}

// newResult collects what a reaped process has left.
func newResult(cmd *exec.Cmd, stdout, stderr *limitedBuffer) Result {
	res := Result{
		Stdout:    stdout.Bytes(),
		Stderr:    stderr.Bytes(),
		Truncated: stdout.truncated || stderr.truncated,
		ExitCode:  cmd.ProcessState.ExitCode(),
		CPUTime:   cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.Signal = ws.Signal().String()
	}
	return res
}

// cannotExecute tells a missing tool from a machine that could not start it
// just now.
func cannotExecute(err error) bool {
	for _, e := range []error{exec.ErrNotFound, exec.ErrDot, syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.ENOEXEC, syscall.EISDIR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// startError says why the tool at path could not be started.
func startError(path string, err error) error {
	if cannotExecute(err) {
		return fmt.Errorf("%s is %w: %w", path, ErrNotInstalled, withoutPath(err))
	}
	return fmt.Errorf("start %s: %w", path, err)
}

// withoutPath removes the path from an error whose message names it already.
func withoutPath(err error) error {
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

// limitedBuffer keeps the first limit bytes and drops the rest.
type limitedBuffer struct {
	buf       bytes.Buffer
	limit     int
	truncated bool
}

func (c *limitedBuffer) Bytes() []byte { return c.buf.Bytes() }

func (c *limitedBuffer) Write(p []byte) (int, error) {
	if room := c.limit - c.buf.Len(); room < len(p) {
		c.truncated = true
		c.buf.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return c.buf.Write(p)
}
