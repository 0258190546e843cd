package subprocess

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupLeader starts the tool in a group of its own. The group shields it from
// a Ctrl-C meant for us and from whoever kills our group, so it is tied to our
// life instead: the kernel ends it when we are gone.
func groupLeader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitForGroup waits for the leader, ends what is left of its group, and reaps
// it. In this order, because only an unreaped leader keeps the group's number
// from being given to somebody else.
func waitForGroup(cmd *exec.Cmd) error {
	gone := error(unix.EINTR)
	for errors.Is(gone, unix.EINTR) {
		gone = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if gone == nil {
		_ = killGroup(cmd.Process, syscall.SIGKILL)
	}
	return cmd.Wait()
}
