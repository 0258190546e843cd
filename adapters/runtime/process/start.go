package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// start starts a worker and the goroutines that own it. The caller holds mu.
func (l *Launcher) start(spec supervisor.WorkerSpec) (*run, error) {
	env, err := l.cfg.environment(spec, l.dir.mark())
	if err != nil {
		return nil, err
	}
	rec := record{
		MonitorID: spec.ID, Generation: spec.Generation, GatewayURL: l.cfg.GatewayURL, Mark: l.dir.mark(),
		TokenHash: tokenHash(l.cfg.Tokens.Token(spec.ID, spec.Generation)),
	}
	l.writeRecord(rec)
	in, out, problem, err := l.dir.openOutput(rec.key())
	if err != nil {
		l.dir.remove(rec.key())
		return nil, fmt.Errorf("output of %s: %w", spec.ID, err)
	}
	if problem != nil {
		l.log.Warn("the run directory cannot be written; this worker's log lines are lost when this gateway stops",
			"monitor_id", string(spec.ID), "generation", spec.Generation, "error", problem.Error())
	}

	cmd := exec.Command(l.cfg.Path, l.cfg.arguments(env)...) //nolint:noctx // Stop and Close end it, with its whole group
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Start()
	_ = out.Close()
	if err != nil {
		_ = in.Close()
		l.dir.remove(rec.key())
		return nil, fmt.Errorf("start worker of %s: %w", spec.ID, err)
	}
	l.recordProcess(rec, cmd.Process.Pid)
	r := newRun(rec.key(), cmd.Process.Pid, &childProcess{cmd: cmd}, in)
	l.supervise(r)
	return r, nil
}

// writeRecord stores a worker's record. A failure does not stop the launch: without a
// record, the next gateway finds the worker by its arguments.
func (l *Launcher) writeRecord(r record) {
	if !adoptionSupported {
		return
	}
	if err := l.dir.writeRecord(r); err != nil {
		l.log.Warn("a worker's record could not be written; the next gateway finds the worker by its arguments",
			"monitor_id", string(r.MonitorID), "generation", r.Generation, "error", err.Error())
	}
}

// recordProcess adds the process to a worker's record.
func (l *Launcher) recordProcess(r record, pid int) {
	if !adoptionSupported {
		return
	}
	p, err := identifyProcess(pid)
	if err != nil { // it has ended already
		return
	}
	r.Process = &p
	l.writeRecord(r)
}

// workerProcess is the process of a worker, which this gateway has started or adopted.
type workerProcess interface {
	// signal sends s to the process. After the process has ended it does nothing.
	signal(s syscall.Signal)

	// wait blocks until the process and all its subprocesses have ended.
	wait() exitStatus
}

// exitStatus is how a process ended.
type exitStatus struct {
	detail string // for people
	clean  bool
}

// childProcess is a worker that this gateway has started.
type childProcess struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	reaped bool // another process may have its ID now
}

// signal signals the whole process group.
func (c *childProcess) signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.cmd.Process.Pid, s)
	}
}

func (c *childProcess) wait() exitStatus {
	c.reap()
	state := c.cmd.ProcessState
	return exitStatus{exitDetail(state), state.ExitCode() == 0}
}

// exitDetail says how a process ended: "exit status 1", "killed by SIGKILL".
func exitDetail(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		if name := unix.SignalName(ws.Signal()); name != "" {
			return "killed by " + name
		}
		return "killed by signal " + ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", state.ExitCode())
}
