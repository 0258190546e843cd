package worker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// laneState is the state of one lane, which runs one task at a time (decision S16).
type laneState struct {
	busy   bool
	kind   watch.TaskKind
	cancel context.CancelFunc
}

// outcome is the result of a task.
type outcome struct {
	lane        watch.Lane
	began       time.Time // with its monotonic reading
	observation watch.Observation
	err         error // not nil if the task panicked, which ends the worker
}

// startTask starts a task in its lane.
func (l *loop) startTask(t watch.Task) {
	ctx, cancel := context.WithCancel(l.force)
	at := t.Kind.Lane()
	l.lanes[at] = laneState{busy: true, kind: t.Kind, cancel: cancel}
	go func() {
		defer cancel()
		o := outcome{lane: at, began: time.Now(), err: errNoOutcome}
		defer func() { l.outcomes <- o }()
		o.err = recoverPanic(l.log, "task "+string(t.Kind), func() error {
			o.observation = l.runTask(ctx, t)
			return nil
		})
	}()
}

// drain ends the lanes (section 8.3). It waits for a segment being analysed and uses
// the result. It cancels every other task.
func (l *loop) drain(deadline time.Time) error {
	for i := range l.lanes {
		if l.lanes[i].busy && l.lanes[i].kind != watch.TaskSegment {
			l.lanes[i].cancel()
		}
	}
	force := time.AfterFunc(time.Until(deadline)-5*time.Second, l.cancelLanes())
	defer force.Stop()
	for l.busy() {
		o := <-l.outcomes
		analysed := l.lanes[o.lane].kind == watch.TaskSegment
		l.lanes[o.lane] = laneState{}
		switch {
		case l.force.Err() != nil:
		case o.err != nil:
			return o.err
		case analysed:
			l.observe(o)
		}
	}
	return nil
}

// cancelTasks cancels the running tasks and waits for them.
func (l *loop) cancelTasks() {
	l.cancelLanes()()
	for l.busy() {
		o := <-l.outcomes
		l.lanes[o.lane] = laneState{}
	}
}

func (l *loop) cancelLanes() func() {
	var cancels []context.CancelFunc
	for _, lane := range l.lanes {
		if lane.busy {
			cancels = append(cancels, lane.cancel)
		}
	}
	return func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

func (l *loop) busy() bool { return l.lanes[watch.LaneResolve].busy || l.lanes[watch.LaneMedia].busy }

// runTask runs a task with the ports and returns what was observed. It blocks.
func (l *loop) runTask(ctx context.Context, t watch.Task) watch.Observation {
	switch t.Kind {
	case watch.TaskResolve:
		ctx, cancel := context.WithTimeout(ctx, resolveLimit)
		defer cancel()
		return l.ports.Resolver.Resolve(ctx, l.stream)
	case watch.TaskProbe:
		ctx, cancel := context.WithTimeout(ctx, playlistLimit)
		defer cancel()
		return l.ports.Prober.Probe(ctx, l.stream)
	case watch.TaskPlaylist:
		ctx, cancel := context.WithTimeout(ctx, playlistLimit)
		defer cancel()
		p := l.ports.Playlists.ReadPlaylist(ctx, t.URL)
		p.URL = t.URL
		return p
	case watch.TaskSegment:
		return l.analyse(ctx, t.Segment)
	}
	return watch.Tick{}
}

// withBegan sets the time at which the task of an observation began.
func withBegan(o watch.Observation, began time.Time) watch.Observation {
	switch o := o.(type) {
	case watch.Resolution:
		o.Began = began
		return o
	case watch.ProbeResult:
		o.Began = began
		return o
	case watch.Playlist:
		o.Began = began
		return o
	case watch.Analysis:
		o.Began = began
		return o
	}
	return o
}

// analyse fetches and decodes a segment. The bytes are streamed.
func (l *loop) analyse(ctx context.Context, s watch.Segment) watch.Analysis {
	ctx, cancel := context.WithTimeout(ctx, segmentLimit)
	defer cancel()
	failed := func(err error) watch.Analysis {
		return watch.Analysis{Segment: s.ID(), Failure: failure(ctx, err)}
	}
	body, err := l.ports.Segments.FetchSegment(ctx, s)
	if err != nil {
		return failed(err)
	}
	a, err := l.decode(ctx, s, body)
	if err != nil {
		return failed(err)
	}
	a.Segment, a.Failure = s.ID(), nil
	return a
}

// decode passes a segment's body to the Analyser and closes it.
func (l *loop) decode(ctx context.Context, s watch.Segment, body io.ReadCloser) (a watch.Analysis, err error) {
	defer func() {
		if closeErr := body.Close(); err == nil {
			err = closeErr
		}
	}()
	return l.ports.Analyser.Analyse(ctx, s, body, l.setting)
}

// failure turns an adapter's error into a *watch.Failure.
func failure(ctx context.Context, err error) *watch.Failure {
	var f *watch.Failure
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil:
		return watch.NewFailure(watch.FailureNetwork, "took longer than %s", segmentLimit)
	}
	return watch.NewFailure(watch.FailureNetwork, "%v", err)
}
