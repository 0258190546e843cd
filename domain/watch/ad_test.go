package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// ads shows advertisements in these times, in place of the broadcaster's media. Whoever judges one fails.
func ads(s ...float64) option {
	return func(w *world) {
		breaks := spans(s)
		w.changePlaylist = func(p *watch.Playlist) {
			for i := range p.Segments {
				p.Segments[i].Ad = within(breaks, float64(p.Segments[i].Sequence)*w.segment)
			}
		}
		w.changeAnalysis = func(a *watch.Analysis) {
			for _, task := range w.watcher.Next() {
				if task.Kind == watch.TaskSegment && task.Segment.Ad {
					w.t.Errorf("second %v: an advertisement is analysed", w.now)
				}
			}
		}
	}
}

// Twitch's segments have 2 s, and so have those of these timelines. A break of 90 s is longer than the playlist.
func TestTimelinesOfAdvertisements(t *testing.T) { // S26
	follow(t, []timeline{
		{name: "in good media", set: []option{ads(100, 190)}, from: 50, until: 400, events: "50 started since 0"},
		{name: "black and silent themselves", set: []option{ads(100, 190), black(100, 190), silent(100, 190)}, from: 50, until: 400, events: "50 started since 0"},
		{name: "in a blackout before its alert, which counts the black alone", set: []option{ads(110, 200), black(100, 230)}, from: 50, until: 400,
			events: "50 started since 0, 220 blackout since 100 for 30, 232 blackout_recovered since 100 until 230 for 40"},
		{name: "in a blackout after its alert, which they do not end", set: []option{ads(140, 230), black(100, 140, 230, 250)}, from: 50, until: 400,
			events: "50 started since 0, 130 blackout since 100 for 30, 252 blackout_recovered since 100 until 250 for 60"},
		{name: "after which the picture is back", set: []option{ads(140, 230), black(100, 140)}, from: 50, until: 400,
			events: "50 started since 0, 130 blackout since 100 for 30, 232 blackout_recovered since 100 until 230 for 40"},
		{name: "just after the picture has gone", set: []option{ads(104, 194), black(100, 300)}, from: 50, until: 400,
			events: "50 started since 0, 220 blackout since 100 for 30, 302 blackout_recovered since 100 until 300 for 110"},
		{name: "with black before and after that is too short", set: []option{ads(114, 204), black(100, 114, 204, 215)}, from: 50, until: 400, events: "50 started since 0"},
		{name: "in silence", set: []option{ads(110, 200), silent(100, 230)}, from: 50, until: 400,
			events: "50 started since 0, 220 silence since 100 for 30, 232 silence_recovered since 100 until 230 for 40"},
		{name: "without an end, which count as the broadcaster's media after ten minutes", set: []option{ads(100, never), black(100, never)}, from: 50, until: 800,
			events: "50 started since 0, 730 blackout since 700 for 30"},
		{name: "before the first segment", set: []option{ads(0, 90)}, from: 50, until: 400, events: "50 started since 0"},
		{name: "in an outage before its alert", set: []option{ads(110, 200), noSegment(100, 300)}, from: 50, until: 400,
			events: "50 started since 0, 250 segment_error since 100 for 150 by segment"},
		{name: "in an outage of which no segment fails after them", set: []option{ads(110, 200), noSegment(100, 200)}, from: 50, until: 400, events: "50 started since 0"},
		{name: "in an outage that the playlist caused", set: []option{ads(140, 230), stalls(100, 140)}, from: 50, until: 400, events: "50 started since 0"},
		{name: "in a picture that stands still", set: []option{runs(detector.Freeze), frozen(100, 235), ads(104, 194)}, from: 50, until: 400,
			events: "50 started since 0, 222 freeze since 192 for 30, 236 freeze_recovered since 192 until 235 for 42"},
	})
}

func TestEvidenceHasNoAdvertisements(t *testing.T) { // S26
	w := scenario(t, ads(100, 110)).from(50).until(120)
	for _, m := range w.watcher.Media() {
		for _, s := range m.Segments {
			if s.Ad {
				t.Errorf("segment %d is an advertisement", s.Sequence)
			}
		}
		if len(m.Segments) != 10 {
			t.Errorf("%d segments, want 10", len(m.Segments))
		}
	}
}
