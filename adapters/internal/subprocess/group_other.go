//go:build unix && !linux

package subprocess

import (
	"os/exec"
	"syscall"
)

func processGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitForGroup reaps the leader and then kills what is left of its group.
func waitForGroup(cmd *exec.Cmd, onExit func()) error {
	err := cmd.Wait()
	onExit()
	_ = killGroup(cmd.Process, syscall.SIGKILL)
	return err
}
