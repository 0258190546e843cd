package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a tool that stays up. One goroutine at a time uses it.
type Process struct {
	cmd    *exec.Cmd
	tool   *launched
	stdin  *os.File
	stdout *os.File
	stderr *limitedBuffer
}

// Start starts a tool that answers requests. It uses Path, Args, Env, MaxOutput (of
// stderr), GracePeriod, Limits and Confinement of c. The caller has to call Stop. Errors: those of Run.
func Start(c Command) (*Process, error) {
	p := &Process{stderr: &limitedBuffer{limit: c.MaxOutput}}
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	defer func() { _ = in.Close() }()
	stdout, out, err := os.Pipe()
	if err != nil {
		_ = stdin.Close()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	defer func() { _ = out.Close() }() // so that reading ends when the tool has ended
	p.stdin, p.stdout = stdin, stdout

	p.cmd = exec.CommandContext(context.Background(), c.Path, c.Args...) // Stop ends it
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = c.environment(), in, out, p.stderr
	p.cmd.WaitDelay = c.GracePeriod
	c.OnExit = func() {}
	if p.tool, err = launch(p.cmd, c); err != nil {
		p.closePipes()
		return nil, startError(c.Path, err)
	}
	return p, nil
}

// WithDeadline calls exchange, in which Read and Write fail from when ctx is done.
func (p *Process) WithDeadline(ctx context.Context, exchange func() error) error {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = p.stdin.SetDeadline(time.Unix(1, 0))
		_ = p.stdout.SetDeadline(time.Unix(1, 0))
	})
	err := exchange()
	if !stop() {
		<-done // the process is of no use after it
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// Write writes to the tool's standard input.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Read reads from the tool's standard output. It returns io.EOF when the tool has ended.
func (p *Process) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// CPUTime returns the CPU time of the tool until now, without that of its children. Systems
// other than Linux do not tell it; the clock's time stands for it there. An ended tool has none.
func (p *Process) CPUTime() time.Duration { return cpuTime(p.cmd.Process.Pid) }

// Stop ends the tool and its process group at once, reaps it, and returns how it ended.
func (p *Process) Stop() Result {
	p.closePipes()
	_ = killGroup(p.cmd.Process, syscall.SIGKILL)
	_ = p.tool.wait(func() {}) // the result says how
	return newResult(p.cmd, &limitedBuffer{}, p.stderr)
}

func (p *Process) closePipes() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
}
