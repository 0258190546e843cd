package subprocess

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// launched is a tool that was started from a thread of its own. The thread stays until the
// tool has ended, because the kernel kills the tool when its thread ends (PR_SET_PDEATHSIG).
type launched struct {
	cmd    *exec.Cmd
	resume chan struct{} // closed to let the tool run
	exited chan struct{} // closed when the leader has ended; it is not reaped
}

// launch starts a confined tool that does not run before run. Without ptrace(2) it runs at
// once.
func launch(cmd *exec.Cmd, c *Confinement) (*launched, error) {
	l := &launched{cmd: cmd, resume: make(chan struct{}), exited: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Ptrace: kernel().trace}
	started := make(chan error)
	onOwnThread(func() { l.own(c, started) })
	return l, <-started
}

// onOwnThread calls f on a thread that ends with f. It takes no main thread: that would not end but
// stay confined, and it decides for the whole process who may trace and signal it.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		elsewhere := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(elsewhere)
			f()
		}()
		<-elsewhere
		runtime.UnlockOSThread()
	}()
}

// own confines its thread, starts the tool, which inherits that, and waits for its end.
func (l *launched) own(c *Confinement, started chan<- error) {
	var err error
	if kernel().privileges {
		err = dropPrivileges()
	}
	if err == nil {
		err = c.apply(l.cmd.Path, l.cmd.Env)
	}
	if err == nil {
		err = l.cmd.Start()
	}
	started <- err
	if err != nil {
		return
	}
	<-l.resume
	pid := l.cmd.Process.Pid
	if l.cmd.SysProcAttr.Ptrace {
		waitFor(pid, unix.WSTOPPED|unix.WEXITED|unix.WALL)
		_ = unix.PtraceDetach(pid) // fails if the tool has been killed
	}
	waitFor(pid, unix.WEXITED)
	close(l.exited)
}

// waitFor waits for a change of a child, and leaves it to be seen again.
func waitFor(pid, changes int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, changes|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// run lets the tool run.
func (l *launched) run() { close(l.resume) }

// wait waits for the leader, kills what is left of its group, and reaps the leader. In this
// order the group id cannot be reused before the kill.
func (l *launched) wait(onExit func()) error {
	<-l.exited
	_ = killGroup(l.cmd.Process, syscall.SIGKILL)
	onExit()
	return l.cmd.Wait()
}
