package watch_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// place lets the stream's URL name a place where broadcasts come and go, each of which may be gone for 90 s. From
// these seconds on, it is another one.
func place(next ...float64) option {
	return func(w *world) {
		w.afterLive = watch.Upcoming
		w.changeAnswer = func(r *watch.Resolution) {
			r.Returns = 90 * time.Second
			if r.State != watch.Live {
				return
			}
			r.Broadcast = "1"
			for _, at := range next {
				if sec(r.Began) >= at {
					r.Broadcast += "+"
				}
			}
		}
	}
}

// onlyFallbackUntil lets yt-dlp have no answer for a time, and streamlink find the media.
func onlyFallbackUntil(to float64) option {
	return func(w *world) {
		change := w.changeAnswer
		w.changeAnswer = func(r *watch.Resolution) {
			if change(r); sec(r.Began) < to {
				r.State, r.ActualStart = watch.ManifestFound, time.Time{}
			}
		}
	}
}

func TestTimelinesOfABroadcastThatMayReturn(t *testing.T) { // S25
	follow(t, []timeline{
		{name: "it ends once it has been gone for 90 s", set: []option{place(), endsAt(200, false)}, from: 50, until: 400,
			events: "50 started since 0, 290 ended until 200 for 200 by not_live"},
		{name: "and if its playlist has ended", set: []option{place(), endsAt(200, true)}, from: 50, until: 400,
			events: "50 started since 0, 290 ended until 200 for 200 by endlist"},
		{name: "and if its site calls it live for another minute", set: []option{place(), endsAt(200, true), says(watch.Live, 200, 262)}, from: 50, until: 400,
			events: "50 started since 0, 290 ended until 200 for 200 by endlist"},
		{name: "and if its site calls it live for good", set: []option{place(), endsAt(200, true), says(watch.Live, 200, 999)}, from: 50, until: 400,
			events: "50 started since 0, 290 ended until 200 for 200 by endlist"},
		{name: "an encoder that is gone for a moment", set: []option{place(), stalls(200, 280), says(watch.Upcoming, 205, 275)}, from: 50, until: 600, events: "50 started since 0"},
		{name: "and whose playlist has ended", set: []option{place(), stalls(200, 280), endlistIn("media.test", 201, 270), says(watch.Upcoming, 205, 260)}, from: 50, until: 600, events: "50 started since 0"},
		{name: "and of which the site knows nothing", set: []option{place(), stalls(200, 280), endlistIn("media.test", 201, 270)}, from: 50, until: 600, events: "50 started since 0"},
		{name: "and whose media have other URLs then", set: []option{place(), stallsIn("/1/", 200, never), says(watch.Upcoming, 205, 281)}, from: 50, until: 600, events: "50 started since 0"},
		{name: "a quality that has ended alone", set: []option{place(), func(w *world) { w.viaMaster = true }, renditions(144, 360), endlistIn("/144p/", 200, never)}, from: 50, until: 600, events: "50 started since 0"},
		{name: "a site that knows no media of it", set: []option{place(), stalls(200, 280), says(watch.Offline, 205, 275)}, from: 50, until: 600, events: "50 started since 0"},
		{name: "an answer alone ends nothing while the media go on", set: []option{place(), says(watch.Upcoming, 300, 900)}, from: 50, until: 900, events: "50 started since 0"},
		{name: "a start that flaps", set: []option{place(), says(watch.Upcoming, 65, 110), liveFrom(40)}, from: 30, until: 600, events: "60 started since 40"},
		{name: "again and again", set: []option{place(), says(watch.Upcoming, 62, 80), says(watch.Offline, 95, 130), says(watch.Upcoming, 145, 230), liveFrom(40)}, from: 30, until: 600, events: "60 started since 40"},
		{name: "before its first media", set: []option{place(), says(watch.Offline, 0, 70), says(watch.Live, 70, 80), says(watch.Upcoming, 80, 100), noPlaylist(0, 100)}, from: 10, until: 600, events: "70 started since 70"},
		{name: "with its media", set: []option{place(), stalls(65, 130), says(watch.Upcoming, 66, 120), liveFrom(40)}, from: 30, until: 600, events: "60 started since 40"},
		{name: "and goes on as another broadcast", set: []option{place(90), stallsIn("/1/", 65, never), says(watch.Upcoming, 66, 88), liveFrom(40)}, from: 30, until: 600,
			events: "60 started since 40, 130 ended until 64 for 24 by not_live"},
		{name: "a repetition that is taken for a broadcast while only streamlink answers", set: []option{place(), onlyFallbackUntil(200), says(watch.Upcoming, 200, never)}, from: 50, until: 4000,
			events: "50 started since 50"},
		{name: "an outage is told", set: []option{place(), stalls(200, 290)}, from: 50, until: 600,
			events: "50 started since 0, 260 segment_error since 200 for 60 by stalled"},
		{name: "another broadcast is another stream", set: []option{place(240), stallsIn("/1/", 200, never), says(watch.Upcoming, 205, 235)}, from: 50, until: 600,
			events: "50 started since 0, 260 ended until 200 for 200 by not_live"},
	})
}

func TestAManifestOfAnotherBroadcastEndsTheWatch(t *testing.T) { // S25
	w := scenario(t, place()).from(50).until(100)
	w.step(watch.Resolution{Began: at(w.now), State: watch.ManifestFound, Manifest: w.manifest(), Broadcast: "1"})
	w.until(110).step(watch.Resolution{Began: at(w.now), State: watch.ManifestFound, Manifest: w.manifest(), Broadcast: "2"})
	w.expect("50 started since 0, 110 ended until 110 for 110 by not_live")
	if got := w.watcher.Report().Broadcast; got != "1" {
		t.Errorf("the report names the broadcast %q", got) // section 20.3
	}
}

func TestASuccessorKnowsTheBroadcast(t *testing.T) { // S25, S11
	for _, cut := range []float64{100, 203, 230} {
		w := scenario(t, place(240), stallsIn("/1/", 200, never), says(watch.Upcoming, 205, 235)).from(50).until(cut).resume(1).until(600)
		if len(w.events) != 2 || w.events[1].Type != event.StreamEnded {
			t.Errorf("cut at %v: emitted %v", cut, w.events)
		}
		scenario(t, place(), stalls(200, 280), endlistIn("media.test", 201, 270)).from(50).until(cut).resume(1).until(600).expect("50 started since 0")
	}
}
