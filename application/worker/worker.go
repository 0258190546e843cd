package worker

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Ports are the adapters of a worker. All but Media, Evidence and Thumbnails are required.
type Ports struct {
	Gateway   Gateway
	Resolver  Resolver
	Prober    Prober
	Playlists PlaylistReader
	Segments  SegmentFetcher
	Analyser  Analyser
	Evidence  collector.Ports // without a Store, no evidence is captured

	// Media returns what reads the media of a stream in place of Playlists and Segments, which the worker closes at its
	// end. nil, or an answer of nil: they read them.
	Media func(monitor.StreamURL) Media

	Thumbnails ThumbnailPorts // without a Store, there are none
}

// Config is the configuration of one worker.
type Config struct {
	ID           monitor.ID
	Generation   int
	Preference   watch.RenditionPreference // default watch.Smallest
	NewEventID   func() string             // returns a UUIDv7; required
	Recording    io.Writer                 // nil: nothing is recorded
	Heartbeat    time.Duration             // a report is sent at least this often; default 10 s
	SpreadChecks bool                      // the second check comes early, see rules
	Delays       *CheckDelays              // counts the checks that begin late; nil: nobody does
	Log          *slog.Logger              // required
	Now          func() time.Time          // the wall clock; the worker adopts its changes; default time.Now
}

// Time limits of a task. The adapters have shorter ones. That of resolving includes the wait
// for a turn, on a host with many streams; a run of a tool has 45 s.
const (
	resolveLimit  = 15 * time.Minute
	playlistLimit = 20 * time.Second
	segmentLimit  = 20 * time.Second
)

// shutdownTimeout limits the steps of section 8.3: 25 s of the 30 s until SIGKILL.
const shutdownTimeout = 25 * time.Second

// finalReportTimeout limits the last report of a worker that ends with an error of its own.
const finalReportTimeout = 2 * time.Second

// ErrForced ends a worker without the steps of section 8.3.
var ErrForced = errors.New("the worker was stopped by force")

// Worker watches one stream.
type Worker struct {
	ports    Ports
	cfg      Config
	clock    *clock
	log      *slog.Logger
	liveness loopLiveness
}

// New makes a worker; Run starts it.
func New(ports Ports, cfg Config) *Worker {
	if cfg.Preference == "" {
		cfg.Preference = watch.Smallest
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 10 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Worker{
		ports:    ports,
		cfg:      cfg,
		clock:    newClock(cfg.Now),
		liveness: newLoopLiveness(),
		log:      cfg.Log.With("component", "worker", "monitor_id", string(cfg.ID)),
	}
}

// Run watches the stream until it ends, the gateway orders a stop, or ctx is done. Then
// it returns nil. Errors:
//
//   - monitor.ErrSuperseded: another worker has taken over.
//   - *monitor.Error NotFound: the monitor has ended or does not exist.
//   - ErrKeyRejected: the gateway rejects the worker's key.
//   - Any other: the worker could not start, or a goroutine panicked.
func (w *Worker) Run(ctx context.Context) error { return w.RunUntil(ctx, context.Background()) }

// RunUntil runs the worker like Run. When force is done, it cancels every task and
// returns ErrForced. A gateway needs it for workers in its own process.
func (w *Worker) RunUntil(ctx, force context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(force, cancel)()
	return recoverPanic(w.log, "worker", func() error { return w.run(ctx, force) })
}

func (w *Worker) run(ctx, force context.Context) error {
	l, err := w.start(ctx, force)
	switch {
	case err == nil:
		defer l.closeMedia()
		defer l.reporter.thumbnails.stop()
		return l.run(ctx)
	case force.Err() != nil:
		return ErrForced
	case ctx.Err() != nil:
		return nil // ctx is done before monitoring started
	}
	return err
}

// start requests the assignment and makes the loop. It is a function of its own, so that its
// part of the stack is free while the loop runs. Otherwise a thousand workers hold 16 MB
// more.
//
//go:noinline
func (w *Worker) start(ctx, force context.Context) (*loop, error) {
	assignment, err := w.assignment(ctx)
	if err != nil {
		return nil, err
	}
	header := watch.RecordingHeader{
		Rules:    w.rules(assignment),
		At:       w.clock.now(),
		Snapshot: assignment.Snapshot,
	}
	watcher, err := header.Watcher()
	if err != nil {
		w.log.Warn("The previous worker's snapshot cannot be read; monitoring starts without it", "error", err)
		header.Snapshot = nil
		if watcher, err = header.Watcher(); err != nil {
			return nil, fmt.Errorf("start watching: %w", err)
		}
	}
	rec := &recorder{w: w.cfg.Recording, log: w.log}
	if err := rec.writeHeader(header); err != nil {
		return nil, err
	}
	w.log.Info("Monitoring started", "stream_url", string(assignment.StreamURL), "generation", w.cfg.Generation, "resumed", len(header.Snapshot) > 0)

	ports, closeMedia := w.ports.of(assignment.StreamURL)
	thumbnails := newThumbnailer(force, w)
	revisions := newRevisionFollower(w, assignment.Revision)
	reporter := newReporter(force, w, revisions, thumbnails)
	evidence := collector.Start(force, ports.Evidence, collector.Config{
		MonitorID:  w.cfg.ID,
		Generation: w.cfg.Generation,
		NewID:      w.cfg.NewEventID,
		Reported:   reporter.flush,
	}, w.log)
	runner := taskRunner{ports: ports, stream: assignment.StreamURL, setting: assignment.Config.Value, cookies: w.newCookies(assignment), secret: assignment.Secret, keep: evidence.Keep, thumbnails: thumbnails}
	return &loop{
		Worker:    w,
		watcher:   watcher,
		recorder:  rec,
		reporter:  reporter,
		revision:  assignment.Revision,
		revisions: revisions,
		lanes:     newLanes(force, w.log, runner),
		collector: evidence,
		force:     force,

		closeMedia: closeMedia,
	}, nil
}

// of returns the ports of a stream, and what closes its media.
func (p Ports) of(stream monitor.StreamURL) (of Ports, closeMedia func()) {
	var own Media
	if p.Media != nil {
		own = p.Media(stream)
	}
	if own == nil {
		return p, func() {}
	}
	p.Playlists, p.Segments = own, own
	p.Evidence.Playlists, p.Evidence.Segments = own, own
	return p, own.Close
}

// assignment requests the assignment from the gateway until it gets one.
func (w *Worker) assignment(ctx context.Context) (monitor.Assignment, error) {
	var lastWarned time.Time
	var rejected authFailure
	for attempts := 1; ; attempts++ {
		began := time.Now()
		a, err := w.requestAssignment(ctx, attemptLimit(attempts-1, false))
		keyRejected := rejected.record(err)
		switch {
		case err == nil:
			return a, nil
		case isReplaced(err):
			return a, fmt.Errorf("assignment: %w", err)
		case keyRejected:
			return a, fmt.Errorf("assignment: %w: %w", ErrKeyRejected, err)
		}
		if time.Since(lastWarned) >= warnInterval {
			lastWarned = time.Now()
			w.log.Warn("The gateway gives no assignment; trying again", "error", err, "failures", attempts)
		}
		if !wait.For(ctx, gatewayBackoff.Delay(attempts)-time.Since(began)) {
			return a, context.Cause(ctx)
		}
	}
}

// rules returns the rules of an assignment. With Config.SpreadChecks, the first check
// interval is shorter by a part that the monitor's ID decides. So a thousand workers that
// start at once check at different times.
func (w *Worker) rules(a monitor.Assignment) watch.Rules {
	rules := watch.RulesOf(a.Config, w.cfg.Preference)
	rules.References, rules.PausedUntil = a.References, a.PausedUntil
	source := monitor.SourceOf(a.StreamURL)
	rules.AudioOnly, rules.Lasting, rules.OfficialCheck = source.AudioOnly, source.Lasting, source.OfficialCheck
	if w.cfg.SpreadChecks {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(w.cfg.ID)) // it never fails
		rules.Phase = rules.CheckInterval * time.Duration(hash.Sum32()&0xffff) >> 16
	}
	return rules
}

// requestAssignment makes one attempt.
func (w *Worker) requestAssignment(ctx context.Context, limit time.Duration) (monitor.Assignment, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return w.ports.Gateway.Assignment(ctx, w.cfg.ID, w.cfg.Generation)
}

// errNoOutcome is the error of a task whose goroutine ended without a result
// (runtime.Goexit).
var errNoOutcome = errors.New("the task's goroutine ended without returning")

// recoverPanic calls do and turns a panic into an error. It logs the stack. A panic must
// not end the process, which may also run other workers and the gateway.
func recoverPanic(log *slog.Logger, what string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("A goroutine panicked; the worker ends", "in", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", what, p)
		}
	}()
	return do()
}
