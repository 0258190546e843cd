//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// monitorUnderTest is a monitor with the stream that it watches.
type monitorUnderTest struct {
	script       streamScript
	video        string
	stream       *livestream.Stream
	id           string
	registeredAt time.Time
	requests     []segmentRequest // set by collect
}

// playlistWindow is how far back a playlist reaches. A worker that was away for
// a while still finds every segment.
const playlistWindow = 64 * time.Second

// register starts the streams and registers a monitor for each. Like a patient
// client, it retries with the same idempotency key.
func (env *environment) register(ctx context.Context) error {
	env.startedAt = time.Now()
	for i, script := range env.schedule.scripts {
		m := &monitorUnderTest{script: script, video: fmt.Sprintf("seed%05d-%c", env.schedule.seed, 'a'+i)}
		config := livestream.Config{Start: env.startedAt, Preroll: playlistWindow, Window: playlistWindow, Renditions: []livestream.Rendition{livestream.Muxed144p}}
		cue := func(spans []span, begin, end livestream.Action) {
			for _, sp := range spans {
				config.Script = append(config.Script,
					livestream.Cue{At: playlistWindow + sp.from, Do: begin}, livestream.Cue{At: playlistWindow + sp.to, Do: end})
			}
		}
		cue(script.black, livestream.Black, livestream.Picture)
		cue(script.silent, livestream.Silence, livestream.Sound)
		var err error
		if m.stream, err = env.library.Start(ctx, config); err != nil {
			return fmt.Errorf("start a stream: %w", err)
		}
		env.youtube.Add(m.video, youtube.Video{State: youtube.Live, Source: m.stream})
		env.monitors = append(env.monitors, m)
	}
	for i, m := range env.monitors {
		key := [2]string{"Idempotency-Key", fmt.Sprintf("seed-%d-monitor-%d", env.schedule.seed, i)}
		if err := env.waitFor(ctx, phaseTimeout, func(ctx context.Context) error {
			created, err := env.call(ctx, http.MethodPost, "/api/v1/monitors", map[string]any{
				"stream_url": env.youtube.URL(m.video), "callback_url": env.callbackURL, "metadata": map[string]any{"monitor": i},
				"config": map[string]any{
					"check_interval_sec": m.script.interval, "blackout_threshold_sec": int(threshold.Seconds()), "silence_threshold_sec": int(threshold.Seconds()),
				},
			}, http.StatusCreated, key)
			if m.id == "" {
				m.registeredAt = time.Now()
			}
			m.id, _ = created["monitor_id"].(string)
			return err
		}); err != nil {
			return fmt.Errorf("register monitor %d: %w", i, err)
		}
		env.logf("monitor %d is %s", i, m.id)
	}
	return nil
}

// episode is a blackout or a silence, of a stream or as events report it.
type episode struct {
	condition string // blackout, silence
	from, to  time.Time
}

func (e episode) overlaps(other episode) bool {
	return e.condition == other.condition && e.from.Before(other.to) && other.from.Before(e.to)
}

// expected lists the episodes of the monitor's stream.
func (m *monitorUnderTest) expected(startedAt time.Time) (all []episode) {
	for condition, spans := range map[string][]span{"blackout": m.script.black, "silence": m.script.silent} {
		for _, sp := range spans {
			all = append(all, episode{condition, startedAt.Add(sp.from), startedAt.Add(sp.to)})
		}
	}
	return all
}

// segmentRequest is a worker's request for a segment.
type segmentRequest struct {
	at, from time.Time // from: of the media
}

var sequenceInPath = regexp.MustCompile(`/sq/([0-9]+)/`)

// segmentRequests lists the segments that a monitor's workers requested.
func (env *environment) segmentRequests(m *monitorUnderTest) (all []segmentRequest) {
	for _, r := range env.youtube.Requests() {
		if r.Class != youtube.Segment || r.Video != m.video {
			continue
		}
		if n := sequenceInPath.FindStringSubmatch(r.Path); n != nil {
			sequence, _ := strconv.Atoi(n[1])
			all = append(all, segmentRequest{r.At, m.stream.Began().Add(time.Duration(sequence) * m.stream.SegmentDuration())})
		}
	}
	return all
}
