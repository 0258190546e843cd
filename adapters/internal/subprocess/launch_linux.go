package subprocess

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// launcherVariable names tool-launcher; without it, it is looked for in PATH.
const launcherVariable = "LAUNCHER_PATH"

// launcherPath returns the path of tool-launcher.
func launcherPath() (string, error) {
	if path := os.Getenv(launcherVariable); path != "" {
		return path, nil
	}
	return exec.LookPath("tool-launcher")
}

// launched is a tool that was started.
type launched struct{ cmd *exec.Cmd }

// launch starts a tool and returns when it has been executed, with its limits and its confinement.
func launch(cmd *exec.Cmd, c Command) (*launched, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	means, err := kernel()
	if err != nil {
		return nil, errors.New(err.Error()) // a missing launcher is no missing tool
	}
	return execute(cmd, means.launcher, c.plan(means, cmd.Path, cmd.Env), c.OnExit)
}

// plan returns the steps before the program at path is executed. Limits come late: those of open
// files and memory are the tool's.
func (c Command) plan(means kernelMeans, path string, env []string) (all []step) {
	all = append(all, oomScore()...)
	if means.privileges {
		all = append(all, step{kind: stepPrivileges, name: "no_new_privs"})
	}
	confined := c.Confinement.prepare(means, path, env)
	all = append(all, c.Confinement.files(means, confined.files)...)
	all = append(all, c.Limits.steps()...)
	return append(all, confined.filter...)
}

// execute runs tool-launcher, which carries out a plan and executes cmd. The error of the tool is
// that of exec.Cmd.Start.
func execute(cmd *exec.Cmd, launcher string, plan []step, onExit func()) (*launched, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = write.Close() }()
	answer, reply, err := os.Pipe()
	if err != nil {
		_ = read.Close()
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	tool := cmd.Path
	cmd.Path, cmd.Args = launcher, slices.Concat([]string{launcher, strconv.Itoa(3 + len(cmd.ExtraFiles)), tool}, cmd.Args)
	cmd.ExtraFiles = append(slices.Clip(cmd.ExtraFiles), read, reply)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = starting.start(cmd)
	_ = read.Close()
	_ = reply.Close()
	if err != nil {
		return nil, err
	}
	_, _ = write.Write(encode(plan)) // it fails if somebody has ended the process, as its result will say
	_ = write.Close()
	l := &launched{cmd}
	said, _ := io.ReadAll(answer)
	if err := failure(plan, said); err != nil {
		_ = l.wait(onExit)
		if errno, is := err.(syscall.Errno); is { //nolint:errorlint // of failure, which does not wrap it
			return nil, &os.PathError{Op: "exec", Path: tool, Err: errno}
		}
		return nil, err
	}
	return l, nil
}

// wait waits for the leader, kills what is left of its group, and reaps the leader. In this
// order the group id cannot be reused before the kill.
func (l *launched) wait(onExit func()) error {
	defer starting.end()
	for errors.Is(unix.Waitid(unix.P_PID, l.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	_ = killGroup(l.cmd.Process, syscall.SIGKILL)
	onExit()
	return l.cmd.Wait()
}

// starting starts all tools.
var starting starter

// starter starts processes from one thread, which stays while one of them lives. The kernel kills a
// process when the thread that has started it ends (PR_SET_PDEATHSIG). No thread is confined.
type starter struct {
	mu    sync.Mutex
	tools int           // that are being started, or have not ended
	work  chan startJob // to the thread; it is there while there are tools
}

type startJob struct {
	cmd *exec.Cmd
	err chan<- error
}

// start starts a process. Without an error, the caller has to call end when it has ended.
func (s *starter) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	if s.tools++; s.tools == 1 {
		s.work = make(chan startJob)
		go serveStarts(s.work)
	}
	work := s.work
	s.mu.Unlock()
	started := make(chan error)
	work <- startJob{cmd, started}
	err := <-started
	if err != nil {
		s.end()
	}
	return err
}

// end lets the thread go after the last process.
func (s *starter) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools--; s.tools == 0 {
		close(s.work)
	}
}

func serveStarts(work <-chan startJob) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for job := range work {
		job.err <- job.cmd.Start()
	}
}
