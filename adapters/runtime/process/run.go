package process

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// outputDrainTimeout limits how long the output of an ended worker is read. Another process
// may hold it open.
const outputDrainTimeout = 2 * time.Second

// run is one worker, from its start or adoption until it is gone.
type run struct {
	workerKey

	pid      int
	started  time.Time
	process  workerProcess
	output   *os.File // nil: it cannot be read
	unusable bool     // this gateway refuses its reports and is ending it

	stopping      chan struct{} // closed by requestStop: end it with the grace period
	quickStopping chan struct{} // closed by requestQuickStop: with replacementGracePeriod
	forcing       chan struct{} // closed by force: kill it now
	exited        chan struct{} // closed when the process and all its subprocesses have ended
	done          chan struct{} // closed when its exit is queued
	stopOnce      sync.Once
	quickOnce     sync.Once
	forceOnce     sync.Once
}

func newRun(key workerKey, pid int, p workerProcess, output *os.File) *run {
	return &run{
		workerKey: key, pid: pid, started: time.Now(), process: p, output: output,
		stopping: make(chan struct{}), quickStopping: make(chan struct{}), forcing: make(chan struct{}),
		exited: make(chan struct{}), done: make(chan struct{}),
	}
}

func (r *run) requestStop() { r.stopOnce.Do(func() { close(r.stopping) }) }
func (r *run) force()       { r.forceOnce.Do(func() { close(r.forcing) }) }

// requestQuickStop asks for an end within replacementGracePeriod.
func (r *run) requestQuickStop() {
	r.quickOnce.Do(func() { close(r.quickStopping) })
	r.requestStop()
}

func (r *run) isStopping() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

// supervise starts the goroutines that own a worker. The caller holds mu.
func (l *Launcher) supervise(r *run) {
	l.runs[r.id] = append(l.runs[r.id], r)
	var output sync.WaitGroup
	if r.output != nil {
		log := l.cfg.Log.With("component", "worker", "monitor_id", string(r.id))
		output.Go(func() { l.output.forward(r.output, r.workerKey, log) })
	}
	l.running.Go(func() {
		end := r.awaitExit(l.cfg.GracePeriod, l.log)
		if r.output != nil {
			_ = r.output.SetReadDeadline(time.Now().Add(outputDrainTimeout))
			output.Wait()
			_ = r.output.Close()
		}
		l.reportExit(r, end)
	})
}

// awaitExit executes stop requests and blocks until the worker has ended. It finishes a
// stop even if the caller of Stop does not wait for it.
func (r *run) awaitExit(gracePeriod time.Duration, log *slog.Logger) (end exitStatus) {
	go func() {
		defer close(r.exited)
		end = r.process.wait()
	}()
	select {
	case <-r.exited:
		return end
	case <-r.forcing:
	case <-r.stopping:
		r.process.signal(syscall.SIGTERM)
		r.process.signal(syscall.SIGCONT) // a stopped process could not handle SIGTERM
		if r.exitsWithin(gracePeriod, log) {
			return end
		}
	}
	r.process.signal(syscall.SIGKILL)
	<-r.exited
	return end
}

// exitsWithin reports whether the worker ends within its grace period.
func (r *run) exitsWithin(gracePeriod time.Duration, log *slog.Logger) bool {
	timer := time.NewTimer(gracePeriod)
	defer timer.Stop()
	requested := time.Now()
	quickStopping := r.quickStopping
	for {
		select {
		case <-r.exited:
			return true
		case <-r.forcing:
			return false
		case <-quickStopping:
			quickStopping = nil
			gracePeriod = min(gracePeriod, time.Since(requested)+replacementGracePeriod)
			timer.Reset(gracePeriod - time.Since(requested))
		case <-timer.C:
			log.Warn("worker did not end within its grace period, ending it by force",
				"monitor_id", string(r.id), "generation", r.generation, "pid", r.pid, "grace_sec", gracePeriod.Seconds())
			return false
		}
	}
}

// reportExit removes a worker that has ended, and queues its exit.
func (l *Launcher) reportExit(r *run, end exitStatus) {
	e := supervisor.Exit{ID: r.id, Generation: r.generation, Detail: end.detail, Clean: end.clean}
	l.log.Info("worker ended", "monitor_id", string(r.id), "generation", r.generation, "pid", r.pid,
		"detail", e.Detail, "asked_to", r.isStopping(), "ran_sec", int64(time.Since(r.started).Seconds()))

	l.mu.Lock()
	left := slices.DeleteFunc(l.runs[r.id], func(other *run) bool { return other == r })
	if l.runs[r.id] = left; len(left) == 0 {
		delete(l.runs, r.id)
	}
	if !slices.ContainsFunc(left, func(other *run) bool { return other.workerKey == r.workerKey }) {
		l.dir.remove(r.workerKey)
	}
	l.mu.Unlock()
	l.exits.Add(e)
	close(r.done)
}
