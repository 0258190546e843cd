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
	exact     = 500 * time.Millisecond // of instants that come from the media
	late      = 5 * time.Second        // by which an event may be late when something is done to the release
	threshold = 15 * time.Second       // of the alerts in the dark
)

// play is a stream of which a monitor has seen it go live.
type play struct {
	*testing.T
	site    *site
	id      string
	stream  *livestream.Stream
	black   time.Time     // first black frame
	picture time.Time     // first frame after it
	running time.Duration // from the POST to the pod's running
}

// watched puts a stream on the air and has it watched.
func watched(t *testing.T, s *site) *play {
	t.Helper()
	v := video()
	stream, err := s.StartStream(t.Context(), v, livestream.Config{})
	must(t, err)
	asked := time.Now()
	id, err := s.Service.Register(t.Context(), s.YouTube.URL(v), s.Receiver.URL(), map[string]any{
		"check_interval_sec": 2, "blackout_threshold_sec": threshold.Seconds(), "silence_threshold_sec": threshold.Seconds(),
	})
	must(t, err)
	p := &play{T: t, site: s, id: id, stream: stream}
	must(t, until(t.Context(), 30*time.Second, "a running pod", func() bool { pod, err := s.worker(t.Context(), id); return err == nil && pod.running() }))
	p.running = time.Since(asked)
	p.arrives("stream.started", 60*time.Second)
	p.checked(2)
	return p
}

// dark makes the picture black, and waits until the watcher has seen it.
func (p *play) dark() {
	p.Helper()
	p.black = p.stream.Black(true)
	p.checked(2)
}

// checks is how many segments have been analysed, as far as the API says; -1: it
// says nothing.
func (p *play) checks() float64 {
	m, err := p.site.Service.Monitor(p.Context(), p.id)
	if err != nil {
		return -1
	}
	statistics, _ := m["statistics"].(map[string]any)
	n, _ := statistics["total_segments_analyzed"].(float64)
	return n
}

// checked waits for so many more checks.
func (p *play) checked(more float64) {
	p.Helper()
	before := p.checks()
	must(p.T, until(p.Context(), 60*time.Second, "more checks", func() bool { return p.checks() >= before+more }))
}

// again waits for a check after something was done, and says how long it took.
func (p *play) again(since time.Time, before float64, within time.Duration, what string) {
	p.Helper()
	must(p.T, until(p.Context(), 2*time.Minute, "being watched again", func() bool { return p.checks() > before }))
	took := time.Since(since)
	say("%s: watched again after %.1f s", what, took.Seconds())
	if took > within {
		p.Errorf("%s: watched again after %s, want %s", what, took, within)
	}
}

// arrives waits for an event.
func (p *play) arrives(event string, within time.Duration) webhookreceiver.Delivery {
	p.Helper()
	d, err := p.site.WaitEvent(limited(p.T, within), p.id, event)
	must(p.T, err)
	return d
}

// alerted waits for the alert, which counts from the first black frame, and holds
// it against the last moment that an undisturbed watcher has.
func (p *play) alerted(allowed time.Duration, what string) webhookreceiver.Delivery {
	p.Helper()
	alert := p.arrives("alert.blackout", 90*time.Second)
	p.near("started_at", alert.Data.StartedAt, p.black)
	latest := p.stream.Available(p.black).Add(threshold + p.stream.SegmentDuration() + 2*time.Second)
	behind := alert.Received.Sub(latest)
	say("%s: %.1f s before the last moment promised, started_at off by %s", what, -behind.Seconds(), alert.Data.StartedAt.Sub(p.black).Round(time.Millisecond))
	if behind > allowed {
		p.Errorf("%s: the alert was %s late, want %s at most", what, behind, allowed)
	}
	return alert
}

// ends sees the stream to its end: nothing is told twice, and all of it as it was.
func (p *play) ends() {
	p.Helper()
	p.picture = p.stream.Black(false)
	p.near("recovered_at", p.arrives("alert.blackout_recovered", 60*time.Second).Data.RecoveredAt, p.picture)
	p.stream.End()
	p.arrives("stream.ended", 60*time.Second)
	p.only("stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended")
	p.gone()
}

// gone waits until the pod is away, which is soon after the end (section 8.4).
func (p *play) gone() {
	p.Helper()
	must(p.T, until(p.Context(), 40*time.Second, "no pod of "+p.id, func() bool {
		pod, err := p.site.worker(p.Context(), p.id)
		return err == nil && pod.Metadata.Name == ""
	}))
}

// only fails the test unless the monitor's events are exactly these.
func (p *play) only(want ...string) {
	p.Helper()
	var got []string
	for _, d := range about(p.site, p.id) {
		got = append(got, d.EventType)
	}
	if !slices.Equal(got, want) {
		p.Errorf("events %v, want %v", got, want)
	}
}

// near fails the test unless an instant is the truth's.
func (p *play) near(what string, got, truth time.Time) {
	p.Helper()
	if d := got.Sub(truth).Abs(); d > exact {
		p.Errorf("%s is off by %s", what, d)
	}
}

// pod is the monitor's, which must be there.
func (p *play) pod() object {
	p.Helper()
	pod, err := p.site.worker(p.Context(), p.id)
	must(p.T, err)
	if pod.Metadata.Name == "" {
		p.Fatalf("monitor %s has no pod", p.id)
	}
	return pod
}
