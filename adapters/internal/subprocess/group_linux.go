package subprocess

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// processGroup starts the tool in its own process group, so that signals for
// this process's group do not reach it. The kernel kills it when this process
// ends.
func processGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitForGroup waits for the leader, kills what is left of its group, and reaps
// the leader. In this order the group id cannot be reused before the kill.
func waitForGroup(cmd *exec.Cmd, onExit func()) error {
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err == nil {
		_ = killGroup(cmd.Process, syscall.SIGKILL)
	}
	onExit()
	return cmd.Wait()
}
