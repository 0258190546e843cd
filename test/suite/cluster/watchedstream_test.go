//go:build cluster

package cluster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

const (
	mediaTolerance  = 500 * time.Millisecond // of instants that come from the media
	disruptionDelay = 5 * time.Second        // by which an event may be late when the release is disrupted
	alertThreshold  = 15 * time.Second       // of blackout and silence
)

// watchedStream is a live stream and the monitor that watches it.
type watchedStream struct {
	*testing.T
	env     *clusterEnv
	id      string
	stream  *livestream.Stream
	black   time.Time     // first black frame
	picture time.Time     // first frame after it
	running time.Duration // from the POST to the pod's running
}

// watchNewStream starts a stream and registers a monitor. It returns when the
// monitor has analysed two segments.
func watchNewStream(t *testing.T, s *clusterEnv) *watchedStream {
	t.Helper()
	v := newVideo()
	stream, err := s.StartStream(t.Context(), v, livestream.Config{})
	must(t, err)
	registered := time.Now()
	id, err := s.Service.Register(t.Context(), s.YouTube.URL(v), s.Receiver.URL(), map[string]any{
		"check_interval_sec": 2, "blackout_threshold_sec": alertThreshold.Seconds(), "silence_threshold_sec": alertThreshold.Seconds(),
	})
	must(t, err)
	p := &watchedStream{T: t, env: s, id: id, stream: stream}
	must(t, waitFor(t.Context(), 30*time.Second, "a running pod", func() bool { pod, err := s.workerPod(t.Context(), id); return err == nil && pod.running() }))
	p.running = time.Since(registered)
	p.waitForEvent("stream.started", 60*time.Second)
	p.waitForChecks(2)
	return p
}

// goBlack makes the picture black, and waits for two more checks.
func (p *watchedStream) goBlack() {
	p.Helper()
	p.black = p.stream.Black(true)
	p.waitForChecks(2)
}

// analysedSegments reads how many segments have been analysed; -1: the API does not
// answer.
func (p *watchedStream) analysedSegments() float64 {
	m, err := p.env.Service.Monitor(p.Context(), p.id)
	if err != nil {
		return -1
	}
	statistics, _ := m["statistics"].(map[string]any)
	n, _ := statistics["total_segments_analyzed"].(float64)
	return n
}

// waitForChecks waits until so many more segments have been analysed.
func (p *watchedStream) waitForChecks(more float64) {
	p.Helper()
	before := p.analysedSegments()
	must(p.T, waitFor(p.Context(), 60*time.Second, "more checks", func() bool { return p.analysedSegments() >= before+more }))
}

// expectWatchedAgain waits until more than before segments have been analysed, and
// fails the test if that takes longer than within, counted from since.
func (p *watchedStream) expectWatchedAgain(since time.Time, before float64, within time.Duration, disruption string) {
	p.Helper()
	must(p.T, waitFor(p.Context(), 2*time.Minute, "being watched again", func() bool { return p.analysedSegments() > before }))
	took := time.Since(since)
	logProgress("%s: watched again after %.1f s", disruption, took.Seconds())
	if took > within {
		p.Errorf("%s: watched again after %s, want %s", disruption, took, within)
	}
}

// waitForEvent waits for an event of the monitor.
func (p *watchedStream) waitForEvent(event string, within time.Duration) webhookreceiver.Delivery {
	p.Helper()
	d, err := p.env.WaitEvent(timeLimit(p.T, within), p.id, event)
	must(p.T, err)
	return d
}

// expectAlert waits for the blackout alert. It fails the test if started_at is not
// the first black frame, or if the alert is more than allowed later than an
// undisturbed system promises.
func (p *watchedStream) expectAlert(allowed time.Duration, disruption string) webhookreceiver.Delivery {
	p.Helper()
	alert := p.waitForEvent("alert.blackout", 90*time.Second)
	p.expectInstant("started_at", alert.Data.StartedAt, p.black)
	latest := p.stream.Available(p.black).Add(alertThreshold + p.stream.SegmentDuration() + 2*time.Second)
	behind := alert.Received.Sub(latest)
	logProgress("%s: the alert came %.1f s before its deadline, started_at off by %s", disruption, -behind.Seconds(), alert.Data.StartedAt.Sub(p.black).Round(time.Millisecond))
	if behind > allowed {
		p.Errorf("%s: the alert was %s late, want %s at most", disruption, behind, allowed)
	}
	return alert
}

// endStream ends the blackout and the stream, and expects each event once.
func (p *watchedStream) endStream() {
	p.Helper()
	p.picture = p.stream.Black(false)
	p.expectInstant("recovered_at", p.waitForEvent("alert.blackout_recovered", 60*time.Second).Data.RecoveredAt, p.picture)
	p.stream.End()
	p.waitForEvent("stream.ended", 60*time.Second)
	p.expectEvents("stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended")
	p.waitUntilPodGone()
}

// waitUntilPodGone waits until the pod is deleted (section 8.4).
func (p *watchedStream) waitUntilPodGone() {
	p.Helper()
	must(p.T, waitFor(p.Context(), 40*time.Second, "no pod of "+p.id, func() bool {
		pod, err := p.env.workerPod(p.Context(), p.id)
		return err == nil && pod.Metadata.Name == ""
	}))
}

// expectEvents fails the test unless the monitor's events are exactly these.
func (p *watchedStream) expectEvents(want ...string) {
	p.Helper()
	var got []string
	for _, d := range eventsOf(p.env, p.id) {
		got = append(got, d.EventType)
	}
	if !slices.Equal(got, want) {
		p.Errorf("events %v, want %v", got, want)
	}
}

// expectInstant fails the test unless got is within mediaTolerance of truth.
func (p *watchedStream) expectInstant(what string, got, truth time.Time) {
	p.Helper()
	if d := got.Sub(truth).Abs(); d > mediaTolerance {
		p.Errorf("%s is off by %s", what, d)
	}
}

// pod returns the monitor's pod, which must exist.
func (p *watchedStream) pod() object {
	p.Helper()
	pod, err := p.env.workerPod(p.Context(), p.id)
	must(p.T, err)
	if pod.Metadata.Name == "" {
		p.Fatalf("monitor %s has no pod", p.id)
	}
	return pod
}
