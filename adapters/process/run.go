package process

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/application/supervise"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// outputLimit is how long the output of a worker that is gone may stay open in
// the hands of something that escaped with it.
const outputLimit = 2 * time.Second

// run is one worker, from its start until it is gone.
type run struct {
	id         monitor.ID
	generation int
	pid        int
	started    time.Time

	stopping  chan struct{} // closed by askToStop: end it, with grace
	forcing   chan struct{} // closed by force: end it now
	exited    chan struct{} // closed by the waiter: the process is reaped
	done      chan struct{} // closed by the owner: nothing is left, its exit is queued
	stopOnce  sync.Once
	forceOnce sync.Once

	mu     sync.Mutex
	reaped bool // its pid is no longer its own
}

func (r *run) askToStop() { r.stopOnce.Do(func() { close(r.stopping) }) }
func (r *run) force()     { r.forceOnce.Do(func() { close(r.forcing) }) }

func (r *run) isStopping() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

// signal reaches the worker's process group, or nobody.
func (r *run) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped {
		_ = syscall.Kill(-r.pid, s)
	}
}

// begin starts a worker and the goroutines that own it.
func (l *Launcher) begin(j supervise.Job) (*run, error) {
	env, err := l.cfg.environment(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(l.cfg.Path, l.cfg.Args...) //nolint:noctx // Stop and Close end it, with its whole group
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	var readers []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe for %s: %w", j.ID, err)
	}
	readers = append(readers, stdout)
	stderr, childErr, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{stdout, childOut})
		return nil, fmt.Errorf("pipe for %s: %w", j.ID, err)
	}
	readers = append(readers, stderr)
	cmd.Stdout, cmd.Stderr = childOut, childErr

	err = cmd.Start()
	closeAll([]*os.File{childOut, childErr})
	if err != nil {
		closeAll(readers)
		return nil, fmt.Errorf("start worker of %s: %w", j.ID, err)
	}

	r := &run{
		id: j.ID, generation: j.Generation, pid: cmd.Process.Pid, started: time.Now(),
		stopping: make(chan struct{}), forcing: make(chan struct{}),
		exited: make(chan struct{}), done: make(chan struct{}),
	}
	worker := l.cfg.Log.With("component", "worker", "monitor_id", string(j.ID))
	var output sync.WaitGroup
	output.Go(func() { l.printer.pass(stdout, worker, slog.LevelInfo) })
	output.Go(func() { l.printer.pass(stderr, worker, slog.LevelWarn) })

	l.owners.Go(func() {
		l.attend(r, cmd)
		for _, f := range readers {
			_ = f.SetReadDeadline(time.Now().Add(outputLimit))
		}
		output.Wait()
		closeAll(readers)
		l.finish(r, cmd.ProcessState)
	})
	return r, nil
}

// attend sees a worker to its end, with force if it must.
func (l *Launcher) attend(r *run, cmd *exec.Cmd) {
	go func() {
		defer close(r.exited)
		r.reap(cmd)
	}()

	select {
	case <-r.exited:
		return
	case <-r.forcing:
	case <-r.stopping:
		r.signal(syscall.SIGTERM)
		grace := time.NewTimer(l.cfg.Grace)
		defer grace.Stop()
		select {
		case <-r.exited:
			return
		case <-r.forcing:
		case <-grace.C:
			l.log.Warn("worker did not end when asked, ending it by force",
				"monitor_id", string(r.id), "generation", r.generation, "pid", r.pid, "grace_sec", l.cfg.Grace.Seconds())
		}
	}
	r.signal(syscall.SIGKILL)
	<-r.exited
}

// finish takes a worker that is gone off the books and tells.
func (l *Launcher) finish(r *run, state *os.ProcessState) {
	e := supervise.Exit{ID: r.id, Generation: r.generation, Detail: detail(state), Clean: state.ExitCode() == 0}
	l.log.Info("worker ended", "monitor_id", string(r.id), "generation", r.generation, "pid", r.pid,
		"detail", e.Detail, "asked_to", r.isStopping(), "ran_sec", int64(time.Since(r.started).Seconds()))

	l.mu.Lock()
	delete(l.runs, r.id)
	l.mu.Unlock()
	l.exits.add(e)
	close(r.done)
}

// detail says how a process ended, for people.
func detail(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		if name := unix.SignalName(ws.Signal()); name != "" {
			return "killed by " + name
		}
		return "killed by signal " + ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", state.ExitCode())
}
