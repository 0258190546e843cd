package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// radio is an audio stream that has no picture by its nature, at a URL that outlives its broadcasts.
func radio(w *world) {
	w.rules.AudioOnly, w.rules.Lasting = true, true
	w.changeAnalysis = func(a *watch.Analysis) { a.Video = detector.DecodedTrack{} }
}

// mountGone lets the mount answer 404 for a time: to readings and to questions.
func mountGone(from, to float64) option {
	return func(w *world) {
		noPlaylist(from, to)(w)
		failing(watch.FailureExpired)(w)
		says(watch.Upcoming, from, to)(w)
	}
}

// scheduledEnd is the scheduled end of the stream.
func scheduledEnd(sec float64) option { return func(w *world) { w.rules.ScheduledEnd = at(sec) } }

func TestTimelinesOfAnAudioStream(t *testing.T) { // sections 5.6 and 7.6
	const started = "0 started since 0"
	follow(t, []timeline{
		{"no picture is expected", []option{radio}, 0, 600, started, nil},
		{"silence", []option{radio, silent(100, 160)}, 0, 400, started + ", 131 silence since 100 for 30, 162 silence_recovered since 100 until 160 for 60", nil},
		{"the mount is gone, and comes back", []option{radio, mountGone(95, 300)}, 0, 600, started + ", 155 segment_error since 95 for 60 by manifest", nil},
		{"the mount shows a page for a while", []option{radio, mountGone(95, 300), says(watch.NotALiveStream, 95, 300)}, 0, 600, started + ", 155 segment_error since 95 for 60 by manifest", nil},
		{"the mount is gone before its scheduled end", []option{radio, scheduledEnd(700), mountGone(95, 300)}, 0, 600, started + ", 155 segment_error since 95 for 60 by manifest", nil},
		{"the mount is gone after its scheduled end", []option{radio, scheduledEnd(90), mountGone(95, 300)}, 0, 600, started + ", 105 ended until 84 for 84 by not_live", nil},
		{"the scheduled end comes in an outage", []option{radio, scheduledEnd(200), mountGone(95, 900)}, 0, 900, started + ", 155 segment_error since 95 for 60 by manifest, 215 ended until 84 for 84 by not_live", nil},
		{"the station goes on after its scheduled end", []option{radio, scheduledEnd(90)}, 0, 600, started, nil},
		{"its token expires, and is renewed", []option{radio, deniedAs(watch.FailureDenied, 95, 900)}, 0, 1800, started + ", 155 segment_error since 95 for 60 by denied", nil},
		{"the question alone is refused, by a server with one session for each login", []option{radio, says(watch.Denied, 95, never)}, 0, 9000, started, nil},
		{"its server is lost for 90 s", []option{radio, serverDown(95, 185)}, 0, 600, started + ", 155 segment_error since 95 for 60 by manifest", nil},
	})
}

func TestTheHealthOfAnAudioStreamHasNoPicture(t *testing.T) { // decision S14
	w := scenario(t, radio, silent(100, 160), mountGone(300, 500))
	for _, c := range []struct {
		until float64
		audio monitor.TrackHealth
	}{{0, monitor.Unknown}, {90, monitor.OK}, {140, monitor.Silent}, {290, monitor.OK}, {400, monitor.Unknown}, {590, monitor.OK}} {
		if h := w.until(c.until).watcher.Report().Health; h.Video != monitor.NoTrack || h.Audio != c.audio {
			t.Errorf("at second %v picture %s, sound %s; want none and %s", c.until, h.Video, h.Audio, c.audio)
		}
	}
}
