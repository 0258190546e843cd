package collector

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
)

// Limits of a Collector.
const (
	maxQueue = 16
	jobLimit = 2 * time.Minute // of fetching and making the files of one job
)

// Collector does the jobs of one stream, one at a time. Make it with Start.
type Collector struct {
	ports Ports
	cfg   Config
	log   *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended

	mu        sync.Mutex
	queue     []capture.Job
	dropped   []capture.Job      // that did not fit; without media, so they are small
	interrupt context.CancelFunc // ends the goroutine's wait
	busy      bool
	stopping  bool
	isIdle    bool          // stopping, and nothing is left to do
	idle      chan struct{} // closed when isIdle

	kept kept // what analysis fetched

	// Only the goroutine uses these.
	captures map[string]*record // by capture.Job.Key
	uploads  uploads
}

// Start makes a Collector and starts its goroutine. Stop ends it; so does the end of
// force. A Collector without Ports.Store does nothing.
func Start(force context.Context, ports Ports, cfg Config, log *slog.Logger) *Collector {
	c := &Collector{
		ports: ports, cfg: cfg, log: log,
		done: make(chan struct{}), idle: make(chan struct{}), interrupt: func() {},
		captures: map[string]*record{},
		kept:     kept{memory: ports.Memory},
	}
	c.uploads = uploads{store: ports.Store, cfg: cfg, discard: c.discard}
	c.ctx, c.cancel = context.WithCancel(force)
	leave := func() {}
	if ports.Store != nil {
		leave = ports.Memory.join()
	}
	go func() {
		defer close(c.done)
		defer leave()
		defer c.endAll()
		c.run()
	}()
	return c
}

// Add queues jobs. It never blocks. After Stop it does nothing.
func (c *Collector) Add(jobs ...capture.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping || c.ports.Store == nil || len(jobs) == 0 {
		return
	}
	c.queue = append(c.queue, jobs...)
	for len(c.queue) > maxQueue {
		c.drop()
	}
	c.interrupt()
}

// drop drops the oldest collection or report, because a later job of its capture repeats
// it. Of other jobs it drops the oldest.
func (c *Collector) drop() {
	isStep := func(s capture.Step) func(capture.Job) bool { return func(j capture.Job) bool { return j.Step == s } }
	oldest := 0
	for _, s := range []capture.Step{capture.Collect, capture.Report} {
		if i := slices.IndexFunc(c.queue, isStep(s)); i >= 0 {
			oldest = i
			break
		}
	}
	j := c.queue[oldest]
	c.queue = slices.Delete(c.queue, oldest, oldest+1)
	if j.Step == capture.Complete || j.Step == capture.Discard { // nothing follows it that would end the capture
		j.Tracks, j.Pictures = nil, nil
		c.dropped = append(c.dropped, j)
	}
}

// Stop waits up to limit for queued jobs and uploads, cancels what still runs, and waits
// for it.
func (c *Collector) Stop(limit time.Duration) {
	c.mu.Lock()
	c.stopping = true
	c.interrupt()
	c.mu.Unlock()
	timer := time.NewTimer(max(limit, 0))
	defer timer.Stop()
	select {
	case <-c.idle:
	case <-timer.C:
	case <-c.done:
	}
	c.cancel()
	<-c.done
}

// run does the jobs, and the uploads in the time between them, until the Collector is
// cancelled.
func (c *Collector) run() {
	for c.ctx.Err() == nil {
		dropped, j, ok := c.next()
		for _, d := range dropped {
			c.endDropped(d)
		}
		switch {
		case ok:
			c.protect(j.Key, func() { c.do(j) })
		case len(c.uploads.waiting) > 0:
			c.protect(c.uploads.waiting[0].key, c.uploadNext)
		default:
			ctx, cancel := c.untilInterrupt()
			<-ctx.Done()
			cancel()
		}
	}
}

// next takes the oldest job, and all that were dropped. It closes idle when Stop waits for
// the last one.
func (c *Collector) next() (dropped []capture.Job, j capture.Job, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dropped, c.dropped = c.dropped, nil
	if len(c.queue) > 0 {
		c.busy = true
		j, c.queue = c.queue[0], c.queue[1:]
		return dropped, j, true
	}
	if c.busy = len(dropped)+len(c.uploads.waiting) > 0; !c.busy && c.stopping && !c.isIdle {
		c.isIdle = true
		close(c.idle)
	}
	return dropped, j, false
}

// untilInterrupt returns a context that ends when a job is added, Stop is called, or the
// Collector is cancelled.
func (c *Collector) untilInterrupt() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupt = cancel
	if len(c.queue)+len(c.dropped) > 0 || c.stopping && !c.busy && !c.isIdle {
		cancel()
	}
	return ctx, cancel
}

// protect calls do for a capture. A panic costs that capture: evidence must not end the
// watch.
func (c *Collector) protect(key string, do func()) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Warn("Evidence could not be stored", "error", fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			c.discard(c.captures[key])
		}
	}()
	do()
}

// uploadNext makes one attempt to upload something. It returns earlier if a job is added.
func (c *Collector) uploadNext() {
	idle, cancel := c.untilInterrupt()
	defer cancel()
	c.uploads.attempt(c.ctx, idle)
}

// do gathers the media of a job and makes its files. The files of an event are then
// uploaded.
func (c *Collector) do(j capture.Job) {
	r := c.captures[j.Key]
	if j.Step == capture.Discard {
		c.discard(r)
		return
	}
	if r == nil {
		c.discardUnreported(j)
		r = newRecord(c, j)
		c.captures[j.Key] = r
	}
	r.setEvent(j.EventID)
	ctx, cancel := context.WithTimeout(c.ctx, jobLimit)
	defer cancel()
	r.media.gather(ctx, j)
	r.pictures.take(ctx, j)
	if j.Step == capture.Collect {
		return
	}
	if j.Step == capture.Complete {
		making, stop := context.WithTimeout(c.ctx, jobLimit)
		defer stop()
		levels := soundLevels{tools: c.ports.Tools, media: &r.media, files: &r.files, defects: &r.defects, condition: r.condition}
		levels.make(making, j)
		clip := clipMaker{tools: c.ports.Tools, media: &r.media, files: &r.files, defects: &r.defects, instant: r.instant}
		clip.make(making, j)
		r.end()
		if j.Note != "" { // nothing has failed, so the log has no line of it
			r.defects.note("%s", j.Note)
		}
	}
	c.uploads.add(r)
}

// endDropped ends the capture of a dropped job. Its record gets a note instead of the
// files that are missing.
func (c *Collector) endDropped(j capture.Job) {
	r := c.captures[j.Key]
	if j.Step == capture.Discard {
		c.discard(r)
		return
	}
	if r == nil {
		r = newRecord(c, j)
		c.captures[j.Key] = r
	}
	r.setEvent(j.EventID)
	r.defects.note("too many captures waited")
	r.end()
	c.uploads.add(r)
}

// discard forgets a capture and closes its files. A nil one is forgotten already.
func (c *Collector) discard(r *record) {
	if r == nil {
		return
	}
	r.close()
	delete(c.captures, r.key)
	c.uploads.remove(r)
}

// discardUnreported forgets an earlier onset of the same condition.
func (c *Collector) discardUnreported(j capture.Job) {
	for _, r := range c.captures {
		if r.condition == j.Condition && r.phase == j.Phase && r.eventID == "" {
			c.discard(r)
		}
	}
}

// endAll closes all files, and logs what the gateway has not taken. A capture
// that was cut off without an error is no warning.
func (c *Collector) endAll() {
	for _, r := range c.captures {
		switch {
		case r.eventID == "":
		case r.lastErr != nil:
			r.logLost("the worker ends")
		case !r.logged:
			c.log.Info("A capture is cut off: its worker ends", "evidence_id", string(r.id), "event_id", r.eventID, "condition", r.condition)
		}
		c.discard(r)
	}
}
