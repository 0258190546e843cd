package process

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// outputLimit is how long the output of a worker that is gone may stay open in
// the hands of something that escaped with it.
const outputLimit = 2 * time.Second

// run is one worker, from its start, or its adoption, until it is gone.
type run struct {
	assignment

	pid     int
	started time.Time
	body    body
	output  *os.File // nil: it cannot be read
	useless bool     // it cannot work for this gateway, and is on its way out

	stopping  chan struct{} // closed by askToStop: end it, with grace
	hurrying  chan struct{} // closed by askToYield: with little grace
	forcing   chan struct{} // closed by force: end it now
	exited    chan struct{} // closed by the waiter: the process is gone, with all it had started
	done      chan struct{} // closed by the owner: nothing is left, its exit is queued
	stopOnce  sync.Once
	hurryOnce sync.Once
	forceOnce sync.Once
}

func newRun(a assignment, pid int, b body, output *os.File) *run {
	return &run{
		assignment: a, pid: pid, started: time.Now(), body: b, output: output,
		stopping: make(chan struct{}), hurrying: make(chan struct{}), forcing: make(chan struct{}),
		exited: make(chan struct{}), done: make(chan struct{}),
	}
}

func (r *run) askToStop() { r.stopOnce.Do(func() { close(r.stopping) }) }
func (r *run) force()     { r.forceOnce.Do(func() { close(r.forcing) }) }

func (r *run) askToYield() {
	r.hurryOnce.Do(func() { close(r.hurrying) })
	r.askToStop()
}

func (r *run) isStopping() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

// own sees a worker through. Whoever calls it holds mu.
func (l *Launcher) own(r *run) {
	l.runs[r.id] = append(l.runs[r.id], r)
	var output sync.WaitGroup
	if r.output != nil {
		log := l.cfg.Log.With("component", "worker", "monitor_id", string(r.id))
		output.Go(func() { l.printer.pass(r.output, log) })
	}
	l.owners.Go(func() {
		end := l.attend(r)
		if r.output != nil {
			_ = r.output.SetReadDeadline(time.Now().Add(outputLimit))
			output.Wait()
			_ = r.output.Close()
		}
		l.finish(r, end)
	})
}

// attend sees a worker to its end, with force if it must.
func (l *Launcher) attend(r *run) (end ending) {
	go func() {
		defer close(r.exited)
		end = r.body.wait()
	}()
	select {
	case <-r.exited:
		return end
	case <-r.forcing:
	case <-r.stopping:
		r.body.signal(syscall.SIGTERM)
		r.body.signal(syscall.SIGCONT) // one that is stopped could not obey
		if l.ends(r) {
			return end
		}
	}
	r.body.signal(syscall.SIGKILL)
	<-r.exited
	return end
}

// ends tells whether a worker that was asked to end does so in time.
func (l *Launcher) ends(r *run) bool {
	given := l.cfg.GracePeriod
	timer := time.NewTimer(given)
	defer timer.Stop()
	asked := time.Now()
	hurrying := r.hurrying
	for {
		select {
		case <-r.exited:
			return true
		case <-r.forcing:
			return false
		case <-hurrying:
			hurrying = nil
			given = min(given, time.Since(asked)+handover)
			timer.Reset(given - time.Since(asked))
		case <-timer.C:
			l.log.Warn("worker did not end when asked, ending it by force",
				"monitor_id", string(r.id), "generation", r.generation, "pid", r.pid, "grace_sec", given.Seconds())
			return false
		}
	}
}

// finish takes a worker that is gone off the books and tells.
func (l *Launcher) finish(r *run, end ending) {
	e := supervisor.Exit{ID: r.id, Generation: r.generation, Detail: end.detail, Clean: end.clean}
	l.log.Info("worker ended", "monitor_id", string(r.id), "generation", r.generation, "pid", r.pid,
		"detail", e.Detail, "asked_to", r.isStopping(), "ran_sec", int64(time.Since(r.started).Seconds()))

	l.mu.Lock()
	left := slices.DeleteFunc(l.runs[r.id], func(other *run) bool { return other == r })
	if l.runs[r.id] = left; len(left) == 0 {
		delete(l.runs, r.id)
	}
	if !slices.ContainsFunc(left, func(other *run) bool { return other.assignment == r.assignment }) {
		l.dir.forget(r.assignment)
	}
	l.mu.Unlock()
	l.exits.Add(e)
	close(r.done)
}
