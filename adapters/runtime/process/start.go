package process

import (
	"fmt"
	"os/exec"
	"syscall"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// begin starts a worker and the goroutines that own it. Whoever calls it holds mu.
func (l *Launcher) begin(j supervisor.WorkerSpec) (*run, error) {
	env, err := l.cfg.environment(j, l.dir.mark())
	if err != nil {
		return nil, err
	}
	intent := record{MonitorID: j.ID, Generation: j.Generation, GatewayURL: l.cfg.GatewayURL, Mark: l.dir.mark()}
	l.note(intent)
	in, out, problem, err := l.dir.openOutput(intent.assignment())
	if err != nil {
		l.dir.forget(intent.assignment())
		return nil, fmt.Errorf("output of %s: %w", j.ID, err)
	}
	if problem != nil {
		l.log.Warn("what this worker prints will be read by this gateway only, not by the next",
			"monitor_id", string(j.ID), "generation", j.Generation, "error", problem.Error())
	}

	cmd := exec.Command(l.cfg.Path, l.cfg.Args...) //nolint:noctx // Stop and Close end it, with its whole group
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Start()
	_ = out.Close()
	if err != nil {
		_ = in.Close()
		l.dir.forget(intent.assignment())
		return nil, fmt.Errorf("start worker of %s: %w", j.ID, err)
	}
	l.complete(intent, cmd.Process.Pid)
	r := newRun(intent.assignment(), cmd.Process.Pid, &child{cmd: cmd}, in)
	l.own(r)
	return r, nil
}

// note puts a worker on record. A directory that cannot be written keeps no
// stream from being watched: should this gateway die, the next one finds its
// workers by their environments.
func (l *Launcher) note(r record) {
	if !adopts {
		return
	}
	if err := l.dir.put(r); err != nil {
		l.log.Warn("a worker could not be put on record",
			"monitor_id", string(r.MonitorID), "generation", r.Generation, "error", err.Error())
	}
}

// complete puts on record who a worker is.
func (l *Launcher) complete(r record, pid int) {
	if !adopts {
		return
	}
	who, err := identify(pid)
	if err != nil { // it has ended already
		return
	}
	r.Process = &who
	l.note(r)
}
