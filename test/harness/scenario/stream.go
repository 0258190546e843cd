package scenario

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// The events that scenarios are about.
const (
	Started           = "stream.started"
	Ended             = "stream.ended"
	Blackout          = "alert.blackout"
	BlackoutRecovered = "alert.blackout_recovered"
	Outage            = "alert.segment_error"
)

const (
	// StartTimeout is how long the report of a stream's start may take: many streams may
	// start at once, and each needs a run of yt-dlp.
	StartTimeout = 2 * time.Minute

	// ExactTolerance is how far an instant may be off that comes from the media, where every
	// segment is looked at.
	ExactTolerance = 500 * time.Millisecond

	pollInterval = 250 * time.Millisecond
)

// Env is an installation of the product with the fakes around it.
type Env struct {
	*testenv.Env

	// Patience is how much later than on an idle machine something may happen.
	Patience time.Duration

	// Tolerance is how far the instants of a timeline may be off; default ExactTolerance.
	Tolerance time.Duration

	// Workers names what runs the worker of a monitor: a process, a pod. Nil: nothing of its own.
	Workers func(t *testing.T, monitorID string) []string
}

// Video is a stream that is to be watched.
type Video struct {
	livestream.Config

	Threshold time.Duration  // of blackout and silence; default 6 s
	Detectors map[string]any // config.detectors; nil: none
	OwnServer bool           // the media are served by a server of the stream's own, as Origin says
}

// Stream is a live stream that a monitor watches.
type Stream struct {
	*livestream.Stream
	*Env

	T         *testing.T
	Video, ID string    // of the monitor
	BlackAt   time.Time // when GoBlack has turned the picture black
	threshold time.Duration
}

// Watch starts a stream, registers a monitor that checks it every 2 s, and waits for the first
// check. The monitor is stopped when the test ends. A recording of yt-dlp answers for it, if
// the environment has one and the stream has no server of its own.
func (e *Env) Watch(t *testing.T, v Video) *Stream {
	t.Helper()
	if v.Threshold == 0 {
		v.Threshold = 6 * time.Second
	}
	s := &Stream{Env: e, T: t, Video: youtube.NewVideoID(), threshold: v.Threshold}
	var err error
	if s.Stream, err = e.StartStream(t.Context(), s.Video, v.Config); err != nil {
		t.Fatal(err)
	}
	if v.OwnServer {
		e.YouTube.Add(s.Video, youtube.Video{State: youtube.Live, Origin: Origin(s.Stream, v.Packaging)})
	} else {
		e.YouTube.Replay(s.Video)
	}
	s.ID = e.Register(t, s.Video, map[string]any{
		"check_interval_sec": 2, "blackout_threshold_sec": v.Threshold.Seconds(), "silence_threshold_sec": v.Threshold.Seconds(),
		"detectors": v.Detectors,
	})
	s.WaitEvent(Started, StartTimeout)
	s.WaitChecks(1, time.Minute)
	return s
}

// Origin returns the server of a stream's own media: its entry and all that the entry names. The real yt-dlp reads
// the entry.
func Origin(s *livestream.Stream, p livestream.Packaging) *youtube.Origin {
	if p.DASH != livestream.HLS {
		return &youtube.Origin{Handler: s.Handler(), DASH: s.Entry()}
	}
	return &youtube.Origin{Handler: s.Handler(), HLS: s.Entry()}
}

// Register registers a monitor of a video, which is stopped when the test ends.
func (e *Env) Register(t *testing.T, video string, config map[string]any) (id string) {
	t.Helper()
	id, err := e.Service.Register(t.Context(), e.YouTube.URL(video), e.Receiver.URL(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = e.Service.Call(context.Background(), "DELETE", "/api/v1/monitors/"+id, nil)
	})
	return id
}

// Eventually polls until a condition holds. It fails the test when the condition does not hold
// Patience after within.
func (e *Env) Eventually(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	within += e.Patience
	for deadline := time.Now().Add(within); !holds(); Sleep(t.Context(), pollInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// Sleep waits for d, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// Limit returns a context for one wait of d, on an idle machine.
func (e *Env) Limit(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d+e.Patience)
	t.Cleanup(cancel)
	return ctx
}

// WaitEvent waits for an event of a monitor.
func (e *Env) WaitEvent(t *testing.T, id, event string, within time.Duration) webhookreceiver.Delivery {
	t.Helper()
	d, err := e.Env.WaitEvent(e.Limit(t, within), id, event)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// WaitStatus waits until a monitor has a status, and returns the monitor.
func (e *Env) WaitStatus(t *testing.T, id, status string, within time.Duration) map[string]any {
	t.Helper()
	m, err := e.Service.WaitStatus(e.Limit(t, within), id, status)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Events returns the accepted events of a monitor, in order.
func (e *Env) Events(id string) (events []webhookreceiver.Delivery) {
	for _, d := range e.Receiver.Accepted() {
		if d.MonitorID == id {
			events = append(events, d)
		}
	}
	return events
}

// AssertEvents asserts that a monitor's events are exactly these, all with valid signatures.
func (e *Env) AssertEvents(t *testing.T, id string, want ...string) {
	t.Helper()
	var got []string
	for _, d := range e.Events(id) {
		got = append(got, d.EventType)
		if !d.Verified {
			t.Errorf("%s is not verified: %s", d.EventType, d.Problem)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// Analysed returns how many segments of a monitor have been analysed; -1: the API does not
// answer.
func (e *Env) Analysed(t *testing.T, id string) float64 {
	t.Helper()
	m, err := e.Service.Monitor(t.Context(), id)
	statistics, _ := m["statistics"].(map[string]any)
	n, found := statistics["total_segments_analyzed"].(float64)
	if err != nil || !found {
		return -1
	}
	return n
}

// WaitNoWorker waits until nothing runs a worker of the monitor.
func (e *Env) WaitNoWorker(t *testing.T, id string) {
	t.Helper()
	if e.Workers != nil {
		e.Eventually(t, 40*time.Second, "the monitor has no worker", func() bool { return len(e.Workers(t, id)) == 0 })
	}
}

// WaitReplaced waits until the worker of a monitor is another one, and alone.
func (e *Env) WaitReplaced(t *testing.T, id, old string, within time.Duration) {
	t.Helper()
	e.Eventually(t, within, "another worker", func() bool {
		now := e.Workers(t, id)
		return len(now) == 1 && now[0] != old
	})
}

// AssertNear asserts that a time is within a tolerance of the truth.
func AssertNear(t *testing.T, what string, got, truth time.Time, tolerance time.Duration) {
	t.Helper()
	if off := got.Sub(truth); off.Abs() > tolerance {
		t.Errorf("%s is %s, the truth is %s: off by %s, more than %s", what,
			got.UTC().Format(time.StampMilli), truth.UTC().Format(time.StampMilli), off, tolerance)
	}
}

// Subtest runs a subtest whose failures are those of this stream. A test fails several streams
// at once and then asserts on one after another.
func (s *Stream) Subtest(t *testing.T, name string, run func(*testing.T)) {
	t.Helper()
	parent := s.T
	t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
		s.T = t
		run(t)
	})
	s.T = parent
}

// WaitEvent waits for an event of the stream.
func (s *Stream) WaitEvent(event string, within time.Duration) webhookreceiver.Delivery {
	s.T.Helper()
	return s.Env.WaitEvent(s.T, s.ID, event, within)
}

// WaitChecks waits until so many more segments have been analysed.
func (s *Stream) WaitChecks(more float64, within time.Duration) {
	s.T.Helper()
	before := -1.0
	s.Eventually(s.T, within, "more checks", func() bool {
		now := s.Analysed(s.T, s.ID)
		if before < 0 {
			before = now
		}
		return before >= 0 && now >= before+more
	})
}

// Health returns the health of the picture or the sound while the monitor goes on.
func (s *Stream) Health(of string) any {
	s.T.Helper()
	m := s.WaitStatus(s.T, s.ID, "monitoring", 5*time.Second)
	return m["health"].(map[string]any)[of]
}

// Questions returns how often yt-dlp has asked about the stream.
func (s *Stream) Questions() int { return s.YouTube.Count(youtube.Watch, s.Video) }

// SleepUntil waits until d has passed since a time.
func (s *Stream) SleepUntil(since time.Time, d time.Duration) {
	Sleep(s.T.Context(), time.Until(since.Add(d)))
}

// GoBlack turns the picture black.
func (s *Stream) GoBlack() { s.BlackAt = s.Black(true) }

// AssertAlert waits for the alert of the black picture. It may come late, after its threshold, a
// segment and 2 s.
func (s *Stream) AssertAlert(late time.Duration) webhookreceiver.Delivery {
	s.T.Helper()
	alert := s.WaitEvent(Blackout, 90*time.Second)
	s.assertInstant("black: started_at", alert.Data.StartedAt, s.BlackAt)
	s.assertInTime(s.T, "the alert", s.Stream, alert, s.BlackAt, s.threshold+late)
	return alert
}

// AssertBlackoutCycle turns the picture black, unless it is, and back. Both events must have
// the instants of the stream.
func (s *Stream) AssertBlackoutCycle() {
	s.T.Helper()
	if s.BlackAt.IsZero() {
		s.GoBlack()
	}
	alert := s.WaitEvent(Blackout, time.Minute)
	s.assertInstant("black: started_at", alert.Data.StartedAt, s.BlackAt)
	picture := s.Black(false)
	back := s.WaitEvent(BlackoutRecovered, time.Minute)
	s.assertInstant("black: recovered_at", back.Data.RecoveredAt, picture)
	if !back.Data.StartedAt.Equal(alert.Data.StartedAt) {
		s.T.Errorf("the recovery counts from %s, the alert from %s", back.Data.StartedAt, alert.Data.StartedAt)
	}
	s.BlackAt = time.Time{}
}

func (s *Stream) assertInstant(what string, got, truth time.Time) {
	s.T.Helper()
	AssertNear(s.T, what, got, truth, max(s.Tolerance, ExactTolerance))
}

// EndAndAssert ends the stream. The monitor's events must be its start, these, and its end, and
// it has no worker any more.
func (s *Stream) EndAndAssert(events ...string) {
	s.T.Helper()
	end := s.End()
	e := s.WaitEvent(Ended, time.Minute)
	s.assertInstant("ended_at", e.Data.EndedAt, end)
	if e.Data.Reason != "endlist" {
		s.T.Errorf("ended because of %q", e.Data.Reason)
	}
	s.WaitStatus(s.T, s.ID, "completed", 5*time.Second)
	s.AssertEvents(s.T, s.ID, slices.Concat([]string{Started}, events, []string{Ended})...)
	s.WaitNoWorker(s.T, s.ID)
}
