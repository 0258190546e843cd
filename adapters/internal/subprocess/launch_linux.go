package subprocess

import (
	"errors"
	"fmt"
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
	confined, err := c.Confinement.prepare(means, cmd.Path, cmd.Env)
	if err != nil {
		return nil, err
	}
	return execute(cmd, means.launcher, c.plan(means, confined), confined.rules, c.OnExit)
}

// plan returns the steps before a tool is executed. Limits come late: those of open files and memory are the tool's.
func (c Command) plan(means kernelMeans, confined preparation) (all []step) {
	all = append(all, oomScore()...)
	if means.privileges {
		all = append(all, step{kind: stepPrivileges, name: "no_new_privs"})
	}
	if confined.rules != nil {
		all = append(all, step{kind: stepRestrict, name: "landlock"})
	}
	all = append(all, c.Limits.steps()...)
	return append(all, confined.filter...)
}

// execute runs tool-launcher, which carries out a plan and executes cmd. The error of the tool is
// that of exec.Cmd.Start.
func execute(cmd *exec.Cmd, launcher string, plan []step, rules *os.File, onExit func()) (*launched, error) {
	text, err := planPipe(plan)
	if err != nil {
		return nil, err
	}
	defer func() { _ = text.Close() }()
	answer, reply, err := pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	tool := cmd.Path
	cmd.Path, cmd.Args = launcher, slices.Concat([]string{launcher, strconv.Itoa(3 + len(cmd.ExtraFiles)), tool}, cmd.Args)
	cmd.ExtraFiles = append(slices.Clip(cmd.ExtraFiles), text, reply)
	if rules != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, rules)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = starting.start(cmd)
	_ = reply.Close()
	if err != nil {
		return nil, err
	}
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

// StartBound starts a process that is no tool, such as a worker, and that the kernel kills when this process ends. The
// caller has to call WaitBound after it.
func StartBound(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return starting.start(cmd)
}

// WaitBound is cmd.Wait for a process that StartBound has started.
func WaitBound(cmd *exec.Cmd) error {
	defer starting.end()
	return cmd.Wait()
}

// starting starts all tools, and the processes of StartBound.
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

// maxPlan limits a plan, in bytes: every pipe takes as many before somebody reads them.
const maxPlan = 4096

// planPipe returns a pipe that holds a plan, so that tool-launcher never waits for it.
func planPipe(plan []step) (*os.File, error) {
	text := encode(plan)
	if len(text) > maxPlan {
		return nil, fmt.Errorf("the plan of a launch has %d bytes", len(text))
	}
	read, write, err := pipe()
	if err != nil {
		return nil, err
	}
	_, err = write.Write(text)
	return read, errors.Join(err, write.Close())
}

// pipe returns a pipe whose ends block. The ends of os.Pipe do not: to make them so, and to make that of a child block
// again, takes eight system calls.
func pipe() (read, write *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return os.NewFile(uintptr(ends[0]), "|0"), os.NewFile(uintptr(ends[1]), "|1"), nil
}
