//go:build unix && !linux

package subprocess

import (
	"os/exec"
	"syscall"
)

// launched is a tool that was started.
type launched struct{ cmd *exec.Cmd }

// launch starts a tool, which runs at once.
func launch(cmd *exec.Cmd) (*launched, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &launched{cmd}, cmd.Start()
}

func (*launched) run() {}

// wait reaps the leader and then kills what is left of its group.
func (l *launched) wait(onExit func()) error {
	err := l.cmd.Wait()
	onExit()
	_ = killGroup(l.cmd.Process, syscall.SIGKILL)
	return err
}
