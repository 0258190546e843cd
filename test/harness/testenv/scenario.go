package testenv

import (
	"context"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// The story's settings, in seconds: short, so that all of it fits into a
// minute and a half.
const (
	storyInterval  = 2
	storyThreshold = 6
	storyTolerance = 4
	storyPause     = 6 * time.Second // between one trouble and the next
)

// Truth is what really happened in a story, and when.
type GroundTruth struct {
	MonitorID      string
	ScheduledStart time.Time
	LiveAt         time.Time // the broadcast began
	BlackFrom      time.Time // first black frame
	BlackUntil     time.Time // first frame after it
	SilentFrom     time.Time
	SilentUntil    time.Time
	EndedAt        time.Time // end of the last segment
	Stream         *livestream.Stream
}

// Threshold is that of the story's alerts.
func (GroundTruth) Threshold() time.Duration { return storyThreshold * time.Second }

// Tolerance is by how much the story's stream may be late.
func (GroundTruth) StartDelayTolerance() time.Duration { return storyTolerance * time.Second }

// Story plays the main job: a stream starts late, plays, goes black, recovers,
// goes silent, recovers and ends. It registers the monitor, does each thing
// when the webhook about the last one has arrived, and says what it does. It
// blocks until the last webhook has come.
func (s *Env) PlayMainScenario(ctx context.Context, video string, say func(format string, args ...any)) (t GroundTruth, err error) {
	t.ScheduledStart = time.Now().Add(3 * time.Second).Truncate(time.Second)
	s.YouTube.Add(video, youtube.Video{State: youtube.Upcoming, Scheduled: t.ScheduledStart})
	t.MonitorID, err = s.Service.Register(ctx, s.YouTube.URL(video), s.Receiver.URL(), map[string]any{
		"check_interval_sec":        storyInterval,
		"blackout_threshold_sec":    storyThreshold,
		"silence_threshold_sec":     storyThreshold,
		"scheduled_start_time":      t.ScheduledStart.Format(time.RFC3339),
		"start_delay_tolerance_sec": storyTolerance,
	})
	if err != nil {
		return t, err
	}
	say("monitor %s is registered; the stream is to start at %s and may be %d s late", t.MonitorID, t.ScheduledStart.Format(time.TimeOnly), storyTolerance)

	arrives := func(event string) {
		if err == nil {
			_, err = s.WaitEvent(ctx, t.MonitorID, event)
		}
	}
	pause := func() {
		select {
		case <-ctx.Done():
		case <-time.After(storyPause):
		}
	}
	arrives("stream.delayed")
	if err != nil {
		return t, err
	}
	t.Stream, err = s.Library.Start(ctx, livestream.Config{})
	if err != nil {
		return t, err
	}
	t.LiveAt = t.Stream.Began()
	s.YouTube.Broadcast(video, t.Stream)
	say("the stream goes live")
	arrives("stream.started")
	pause()
	t.BlackFrom = t.Stream.Black(true)
	say("the picture goes black at %s; the alert is due after %d s", t.BlackFrom.Format(clock), storyThreshold)
	arrives("alert.blackout")
	pause()
	t.BlackUntil = t.Stream.Black(false)
	say("the picture is back at %s", t.BlackUntil.Format(clock))
	arrives("alert.blackout_recovered")
	pause()
	t.SilentFrom = t.Stream.Silence(true)
	say("the sound stops at %s; the alert is due after %d s", t.SilentFrom.Format(clock), storyThreshold)
	arrives("alert.silence")
	pause()
	t.SilentUntil = t.Stream.Silence(false)
	say("the sound is back at %s", t.SilentUntil.Format(clock))
	arrives("alert.silence_recovered")
	pause()
	t.EndedAt = t.Stream.End()
	s.YouTube.Set(video, youtube.Ended)
	say("the stream ends at %s", t.EndedAt.Format(clock))
	arrives("stream.ended")
	return t, err
}

const clock = "15:04:05.0"

// Arrives waits for an accepted webhook of a type about a monitor.
func (s *Env) WaitEvent(ctx context.Context, monitorID, event string) (webhookreceiver.Delivery, error) {
	d, err := s.Receiver.Wait(ctx, func(d webhookreceiver.Delivery) bool {
		return d.Accepted && d.MonitorID == monitorID && d.EventType == event
	})
	if err != nil {
		return d, fmt.Errorf("no %s came: %w; the service's log ends:\n%s", event, err, s.Service.Tail(30))
	}
	return d, nil
}
