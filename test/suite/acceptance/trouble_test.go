package acceptance_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// outage is after how long without media a live stream's outage is told (6.6).
const outage = 60 * time.Second

// sign is how long before an outage the last sign of life may have come, from
// which it counts: a segment's length, and a part of the next check.
const sign = 3 * time.Second

// show is a stream that is on the air and being watched, to have its trouble.
type show struct {
	*livestream.Stream
	t     *testing.T
	stage *testenv.Env
	video string
	id    string        // of the monitor
	shift time.Duration // by which the stream's clock is wrong
	black time.Time     // since when the picture is black; zero: it is not
}

// onAir puts a stream on the air, has it watched, and waits for the first
// check. wrapped, if not nil, makes of it what is broadcast.
func onAir(t *testing.T, s *testenv.Env, c livestream.Config, wrapped func(*livestream.Stream) youtube.Source) *show {
	t.Helper()
	p := &show{t: t, stage: s, video: video()}
	var err error
	if p.Stream, err = s.StartStream(t.Context(), p.video, c); err != nil {
		t.Fatal(err)
	}
	if wrapped != nil {
		s.YouTube.Broadcast(p.video, wrapped(p.Stream))
	}
	p.id = register(t, s, p.video, quick())
	p.arrives("stream.started", 60*time.Second)
	p.checked(60 * time.Second)
	return p
}

// in has a show be judged in a subtest. Shows that have the same trouble have it
// at once, in one test: they wait far more than they work.
func (p *show) in(t *testing.T, name string, judge func(*testing.T)) {
	t.Helper()
	whole := p.t
	t.Run(name, func(t *testing.T) {
		p.t = t
		judge(t)
	})
	p.t = whole
}

// arrives waits for an event.
func (p *show) arrives(event string, within time.Duration) webhookreceiver.Delivery {
	p.t.Helper()
	return arrives(p.t, p.stage, p.id, event, within)
}

// checked waits for one more check.
func (p *show) checked(within time.Duration) {
	p.t.Helper()
	before := checks(p.t, p.stage, p.id)
	eventually(p.t, within, "a check", func() bool { return checks(p.t, p.stage, p.id) > before })
}

// health is what GET says of the picture, while the monitor goes on.
func (p *show) health() any {
	p.t.Helper()
	m := becomes(p.t, p.stage, p.id, "monitoring", 5*time.Second)
	return m["health"].(map[string]any)["video"]
}

// healthy waits until the picture is said to be good.
func (p *show) healthy(within time.Duration) {
	p.t.Helper()
	eventually(p.t, within, "healthy", func() bool { return p.health() == "ok" })
}

// lasts keeps the trouble up until it has lasted for d.
func (p *show) lasts(since time.Time, d time.Duration) {
	pause(p.t.Context(), time.Until(since.Add(d)))
}

// darken has the picture go black.
func (p *show) darken() { p.black = p.Black(true) }

// blackout has the picture go black, unless it is, and come back, and both be
// told. late is by how much what is told may lie after the truth.
func (p *show) blackout(late time.Duration) {
	p.t.Helper()
	if p.black.IsZero() {
		p.darken()
	}
	alert := p.arrives(blackout, 60*time.Second)
	within(p.t, "black: started_at", alert.Data.StartedAt, p.black, late)
	picture := p.Black(false)
	back := p.arrives(recovered, 60*time.Second)
	within(p.t, "black: recovered_at", back.Data.RecoveredAt, picture, late)
	if !back.Data.StartedAt.Equal(alert.Data.StartedAt) {
		p.t.Errorf("the recovery counts from %s, the alert from %s", back.Data.StartedAt, alert.Data.StartedAt)
	}
	p.black = time.Time{}
}

// within fails the test unless a time is the truth, or after it by at most late.
func within(t *testing.T, what string, got, truth time.Time, late time.Duration) {
	t.Helper()
	if d := got.Sub(truth); d < -exact || d > exact+late {
		t.Errorf("%s is off by %s, more than %s", what, d, exact+late)
	}
}

// broken waits for the alert of an outage that began at a time, and holds it
// against 6.6: told once it has lasted long enough and is_live has been asked.
func (p *show) broken(began time.Time, failure string, limit time.Duration) webhookreceiver.Delivery {
	p.t.Helper()
	e := p.arrives("alert.segment_error", limit+30*time.Second)
	took := e.Received.Sub(began)
	p.t.Logf("told after %s: %s since %s, for %.0f s: %s", took.Round(time.Second), e.Data.Failure,
		e.Data.StartedAt.Sub(began).Round(time.Millisecond), e.Data.DurationSec, e.Data.LastError)
	if took < outage-sign || took > limit {
		p.t.Errorf("told %s after the outage began; want %s to %s", took, outage-sign, limit)
	}
	near(p.t, "started_at", e.Data.StartedAt, began, 5*time.Second)
	if since := e.Received.Sub(e.Data.StartedAt); since < outage {
		p.t.Errorf("told %s after started_at, want %s", since, outage)
	}
	if e.Data.Failure != failure || e.Data.ThresholdSec != outage.Seconds() || e.Data.LastError == "" {
		p.t.Errorf("failure %q, threshold %v, last error %q; want failure %q", e.Data.Failure, e.Data.ThresholdSec, e.Data.LastError, failure)
	}
	if told := time.Duration(e.Data.DurationSec) * time.Second; told < outage || told > took+5*time.Second {
		p.t.Errorf("duration_sec %s, told after %s", told, took)
	}
	if v := p.health(); v != "unknown" {
		p.t.Errorf("while nothing can be seen the picture is said to be %v", v)
	}
	return e
}

// ends ends the stream; these events, beside its start and end, must have been
// all.
func (p *show) ends(events ...string) {
	p.t.Helper()
	end := p.End()
	e := p.arrives("stream.ended", 60*time.Second)
	if p.shift == 0 {
		near(p.t, "ended_at", e.Data.EndedAt, end, exact)
	} else { // a clock so wrong is not believed
		near(p.t, "ended_at", e.Data.EndedAt, end.Add(-p.shift), 8*time.Second)
	}
	if e.Data.Reason != "endlist" {
		p.t.Errorf("ended because of %q", e.Data.Reason)
	}
	becomes(p.t, p.stage, p.id, "completed", 5*time.Second)
	only(p.t, p.stage, p.id, slices.Concat([]string{"stream.started"}, events, []string{"stream.ended"})...)
}

// asked is how often yt-dlp has asked about the stream.
func (p *show) asked() int { return p.stage.YouTube.Count(youtube.Watch, p.video) }

// logged is what has been logged about the monitor with a message.
func (p *show) logged(message string) (lines []system.Line) {
	for _, l := range p.stage.Service.Log() {
		if l.MonitorID == p.id && l.Message == message {
			lines = append(lines, l)
		}
	}
	return lines
}

// back is how long the outages were of which the log says that they are over, in
// seconds.
func (p *show) back() (seconds []float64) {
	for _, l := range p.logged("The stream's media are back") {
		d, _ := l.Data["outage_sec"].(float64)
		seconds = append(seconds, d)
	}
	return seconds
}

// gaps measures from now on the longest time between two checks, until it is
// asked for.
func (p *show) gaps() (longest func() time.Duration) {
	ctx, cancel := context.WithCancel(p.t.Context())
	result := make(chan time.Duration, 1)
	go func() {
		var gap time.Duration
		last, at := -1.0, time.Now()
		for ctx.Err() == nil {
			m, err := p.stage.Service.Monitor(ctx, p.id)
			if statistics, ok := m["statistics"].(map[string]any); ok && err == nil {
				gap = max(gap, time.Since(at))
				if n, _ := statistics["total_segments_analyzed"].(float64); n != last {
					last, at = n, time.Now()
				}
			}
			pause(ctx, 200*time.Millisecond)
		}
		result <- gap
	}()
	return func() time.Duration { cancel(); return <-result }
}

const (
	blackout  = "alert.blackout"
	recovered = "alert.blackout_recovered"
	broke     = "alert.segment_error"
)
