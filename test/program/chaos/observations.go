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
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// monitorUnderTest is a monitor with the stream that it watches.
type monitorUnderTest struct {
	script       streamScript
	video        string
	stream       *livestream.Stream
	id           string
	registeredAt time.Time
}

// register starts the streams and registers a monitor for each. Like a patient
// client, it retries with the same idempotency key.
func (env *environment) register(ctx context.Context) error {
	env.startedAt = time.Now()
	for i, script := range env.schedule.scripts {
		m := &monitorUnderTest{script: script, video: fmt.Sprintf("seed%05d-%c", env.schedule.seed, 'a'+i)}
		config := livestream.Config{Start: env.startedAt, Preroll: playlistWindow, Window: playlistWindow, Renditions: []livestream.Rendition{livestream.Muxed144p}}
		cue := func(at time.Duration, do livestream.Action) {
			config.Script = append(config.Script, livestream.Cue{At: playlistWindow + at, Do: do})
		}
		for _, sp := range script.black {
			cue(sp.from, livestream.Black)
			cue(sp.to, livestream.Picture)
		}
		for _, sp := range script.silent {
			cue(sp.from, livestream.Silence)
			cue(sp.to, livestream.Sound)
		}
		var err error
		if m.stream, err = env.library.Start(ctx, config); err != nil {
			return fmt.Errorf("start a stream: %w", err)
		}
		env.youtube.Add(m.video, youtube.Video{State: youtube.Live, Source: m.stream})
		env.monitors = append(env.monitors, m)
	}
	callback := "http://" + env.receiverLink.address + "/webhook"
	for i, m := range env.monitors {
		key := [2]string{"Idempotency-Key", fmt.Sprintf("seed-%d-monitor-%d", env.schedule.seed, i)}
		if err := env.waitFor(ctx, startTimeout, func(ctx context.Context) error {
			if m.id != "" {
				return nil
			}
			response, err := env.call(ctx, http.MethodPost, "/api/v1/monitors", map[string]any{
				"stream_url": env.youtube.URL(m.video), "callback_url": callback, "metadata": map[string]any{"monitor": i},
				"config": map[string]any{
					"check_interval_sec": m.script.interval, "blackout_threshold_sec": int(threshold.Seconds()), "silence_threshold_sec": int(threshold.Seconds()),
				},
			}, key)
			if err != nil {
				return err
			}
			m.id, _ = response.Body["monitor_id"].(string)
			if response.Status != http.StatusCreated {
				return fmt.Errorf("answered with %d %v", response.Status, response.Body)
			}
			m.registeredAt = time.Now()
			return nil
		}); err != nil {
			return fmt.Errorf("register monitor %d: %w", i, err)
		}
		env.logf("monitor %d is %s", i, m.id)
	}
	return nil
}

// call sends a request to a gateway.
func (env *environment) call(ctx context.Context, method, path string, body any, headers ...[2]string) (system.Response, error) {
	service := env.service()
	if service == nil {
		return system.Response{}, errNoGateway
	}
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	return service.Call(ctx, method, path, body, headers...)
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
			from := m.stream.Began().Add(time.Duration(sequence) * m.stream.SegmentDuration())
			all = append(all, segmentRequest{r.At, from})
		}
	}
	return all
}

// watchedAfter reports whether media from after a time were requested, at least
// a second ago.
func (env *environment) watchedAfter(m *monitorUnderTest, instant time.Time) bool {
	for _, request := range env.segmentRequests(m) {
		if !request.from.Before(instant) && time.Since(request.at) > time.Second {
			return true
		}
	}
	return false
}
