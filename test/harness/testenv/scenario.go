package testenv

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// The main scenario's settings. They are short, so that it takes a minute and a half.
const (
	scenarioIntervalSec  = 2
	scenarioThresholdSec = 6
	scenarioToleranceSec = 4
	scenarioPause        = 6 * time.Second // between a recovery and the next failure
)

// GroundTruth records when each step of the scenario took effect.
type GroundTruth struct {
	MonitorID      string
	ScheduledStart time.Time
	LiveAt         time.Time // the broadcast began
	BlackFrom      time.Time // first black frame
	BlackUntil     time.Time // first frame with a picture
	SilentFrom     time.Time
	SilentUntil    time.Time
	EndedAt        time.Time // end of the last segment
	Stream         *livestream.Stream
}

// Threshold returns how long the picture is black, or the sound silent, before the
// alert.
func (GroundTruth) Threshold() time.Duration { return scenarioThresholdSec * time.Second }

// StartDelayTolerance returns how late the stream may be before stream.delayed.
func (GroundTruth) StartDelayTolerance() time.Duration { return scenarioToleranceSec * time.Second }

// PlayMainScenario plays a stream that starts late, goes black, recovers, goes
// silent, recovers and ends. It registers the monitor, and waits for the webhook of
// each step before the next one. logf gets a line for each step.
func (e *Env) PlayMainScenario(ctx context.Context, video string, logf func(format string, args ...any)) (t GroundTruth, err error) {
	if t.ScheduledStart, t.MonitorID, err = e.registerUpcoming(ctx, video); err != nil {
		return t, err
	}
	logf("monitor %s is registered; the stream is to start at %s and may be %d s late", t.MonitorID, t.ScheduledStart.Format(time.TimeOnly), scenarioToleranceSec)

	wait := func(event string) (d webhookreceiver.Delivery) {
		if err == nil {
			d, err = e.WaitEvent(ctx, t.MonitorID, event)
		}
		return d
	}
	pause := func() {
		select {
		case <-ctx.Done():
		case <-time.After(scenarioPause):
		}
	}
	wait("stream.delayed")
	if err != nil {
		return t, err
	}
	t.Stream, err = e.Library.Start(ctx, livestream.Config{Renditions: e.Renditions})
	if err != nil {
		return t, err
	}
	t.LiveAt = t.Stream.Began()
	e.YouTube.Broadcast(video, t.Stream)
	logf("the stream goes live")
	wait("stream.started")
	pause()
	t.BlackFrom = t.Stream.Black(true)
	logf("the picture goes black at %s; the alert is due after %d s", t.BlackFrom.Format(clock), scenarioThresholdSec)
	blackout := wait("alert.blackout")
	pause()
	t.BlackUntil = t.Stream.Do(livestream.Cue{Do: livestream.Picture, At: nextEnd(t.Stream) - 40*time.Millisecond})
	logf("the picture is back at %s", t.BlackUntil.Format(clock))
	wait("alert.blackout_recovered")
	pause()
	t.SilentFrom = t.Stream.Silence(true)
	logf("the sound stops at %s; the alert is due after %d s", t.SilentFrom.Format(clock), scenarioThresholdSec)
	wait("alert.silence")
	pause()
	t.SilentUntil = t.Stream.Silence(false)
	logf("the sound is back at %s", t.SilentUntil.Format(clock))
	wait("alert.silence_recovered")
	pause()
	if err == nil { // on a busy machine the end of the stream would cut its capture off
		_, err = e.waitEvidence(ctx, blackout.EventID, []string{"clip"})
	}
	t.EndedAt = t.Stream.End()
	e.YouTube.Set(video, youtube.Ended)
	logf("the stream ends at %s", t.EndedAt.Format(clock))
	wait("stream.ended")
	return t, err
}

// registerUpcoming registers a stream that is to start in a moment.
func (e *Env) registerUpcoming(ctx context.Context, video string) (start time.Time, monitorID string, err error) {
	start = time.Now().Add(3 * time.Second).Truncate(time.Second)
	e.YouTube.Add(video, youtube.Video{State: youtube.Upcoming, Scheduled: start})
	monitorID, err = e.Service.Register(ctx, e.YouTube.URL(video), e.Receiver.URL(), map[string]any{
		"check_interval_sec":        scenarioIntervalSec,
		"blackout_threshold_sec":    scenarioThresholdSec,
		"silence_threshold_sec":     scenarioThresholdSec,
		"scheduled_start_time":      start.Format(time.RFC3339),
		"start_delay_tolerance_sec": scenarioToleranceSec,
	})
	return start, monitorID, err
}

// nextEnd returns when the segment after the present one ends, counted from the stream's
// beginning. A recovery in the last frame before it is the one whose picture is hardest to
// take (section 16.2).
func nextEnd(s *livestream.Stream) time.Duration {
	return time.Since(s.Began()).Truncate(s.SegmentDuration()) + 2*s.SegmentDuration()
}

const clock = "15:04:05.0"
