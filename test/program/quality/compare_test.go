package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

func TestWatchesAreComparedWithThoseByFFmpeg(t *testing.T) {
	byFFmpeg := []receivedEvent{{0, event.Event{Type: event.StreamStarted, Data: event.Started{}}}, alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26)}
	for name, c := range map[string]struct {
		events      []receivedEvent
		differences []string
		largest     time.Duration
	}{
		"the same":      {byFFmpeg, nil, 0},
		"40 ms earlier": {[]receivedEvent{byFFmpeg[0], alert(event.Blackout, 11.96), byFFmpeg[2]}, nil, 40 * time.Millisecond},
		"60 ms later": {[]receivedEvent{byFFmpeg[0], byFFmpeg[1], recovery(event.BlackoutRecovered, 12, 26.06)},
			[]string{"here: alert.blackout_recovered of 26.060 s, by ffmpeg of 26.000 s"}, 60 * time.Millisecond},
		"an event less": {byFFmpeg[:2],
			[]string{"here: events stream.started alert.blackout, by ffmpeg stream.started alert.blackout alert.blackout_recovered"}, 0},
		"another event": {[]receivedEvent{byFFmpeg[0], alert(event.Silence, 12), byFFmpeg[2]},
			[]string{"here: events stream.started alert.silence alert.blackout_recovered, by ffmpeg stream.started alert.blackout alert.blackout_recovered"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var got comparison
			got.add("here", c.events, byFFmpeg)
			if !slices.Equal(got.differences, c.differences) || got.largest != c.largest {
				t.Errorf("%q, at most %v; want %q, %v", got.differences, got.largest, c.differences, c.largest)
			}
		})
	}
}
