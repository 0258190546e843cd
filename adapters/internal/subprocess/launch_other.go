//go:build unix && !linux

package subprocess

import (
	"io/fs"
	"os/exec"
	"syscall"
	"time"
)

// launched is a tool that was started.
type launched struct{ cmd *exec.Cmd }

// launch starts a tool, without limits and confinement.
func launch(cmd *exec.Cmd, _ Command) (*launched, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &launched{cmd}, cmd.Start()
}

// StartBound starts a process that is no tool, such as a worker. Only Linux binds it to this process. The caller has
// to call WaitBound after it.
func StartBound(cmd *exec.Cmd) error { return cmd.Start() }

// WaitBound is cmd.Wait for a process that StartBound has started.
func WaitBound(cmd *exec.Cmd) error { return cmd.Wait() }

// wait reaps the leader and then kills what is left of its group.
func (l *launched) wait(onExit func()) error {
	err := l.cmd.Wait()
	onExit()
	_ = killGroup(l.cmd.Process, syscall.SIGKILL)
	return err
}

func isOwn(fs.FileInfo) bool { return true }

func cpuTime(int) time.Duration { return time.Duration(time.Now().UnixNano()) }
