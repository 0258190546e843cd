package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestTwoPausesInSpeechAreNotOneLongSilence(t *testing.T) { // S1
	w := scenario(t, func(w *world) {
		w.rules.Thresholds[detector.Silence] = 10 * time.Second
		// One pause is at the end of its segment, the other at the start. The playlist
		// cannot be read when the threshold is near.
		w.silent, w.playlistFails = []span{{99.4, 100}, {122, 122.6}}, []span{{101, 120}}
	})
	w.from(100).until(400)
	if n := w.emitted(event.Silence); n != 0 {
		t.Errorf("emitted %d times: %v", n, w.events)
	}
}

func TestAPictureMayBeBlackFromTheFirstCheck(t *testing.T) { // S1: nobody watched before
	scenario(t, func(w *world) { w.black = []span{{0, never}} }).from(100).until(300).expect(
		emits(100, event.StreamStarted),
		emits(128, event.Blackout, since(98), lasting(30)),
	)
}

func TestAShortOutageDoesNotInterruptABlackout(t *testing.T) { // S1
	scenario(t, func(w *world) {
		w.black, w.playlistFails = []span{{100, 200}}, []span{{110, 124}}
	}).from(50).until(300).expect(
		emits(50, event.StreamStarted),
		emits(130, event.Blackout, since(100)),
		emits(202, event.BlackoutRecovered, since(100), lasting(100)),
	)
}

func TestATrackShorterThanItsSegmentIsSilentThroughout(t *testing.T) { // S4
	alerts := 0
	segmentsByHand(t, 20, func(i int) (watch.Segment, watch.Analysis) {
		short := watch.Track{Present: true, From: 300 * time.Millisecond, To: 1700 * time.Millisecond}
		silent := []watch.Interval{{From: short.From, To: short.To}}
		return watch.Segment{ProgramTime: at(float64(2 * i))}, watch.Analysis{
			Video: decoded, Audio: short, Intervals: map[detector.Name][]watch.Interval{detector.Silence: silent},
		}
	}, func(d event.Data) {
		if _, ok := d.(event.Alert); ok {
			alerts++
		} else {
			t.Errorf("got %+v", d)
		}
	})
	if alerts != 1 {
		t.Errorf("emitted %d times", alerts)
	}
}

func TestProgramTimeIsThatOfTheFirstPicture(t *testing.T) { // S1
	for _, c := range []struct {
		name  string
		ahead time.Duration // how much earlier the sound begins
		late  float64
	}{
		{"sound that begins a little before it does not count", 80 * time.Millisecond, 0},
		{"a picture that is broken for a while does", 800 * time.Millisecond, 0.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rules()
			r.Thresholds[detector.Blackout] = time.Second
			w := watch.New(r, at(0))
			w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "m"})
			w.Step(at(0), watch.Playlist{Began: at(0), URL: "m", TargetDuration: 4 * time.Second, Segments: []watch.Segment{
				{URI: "a", Duration: 4 * time.Second, ProgramTime: at(-4)},
			}})
			black := watch.Interval{From: time.Second + c.ahead, To: 4*time.Second + c.ahead}
			for _, e := range w.Step(at(0), watch.Analysis{Began: at(0), Segment: "a",
				Video:     watch.Track{Present: true, From: c.ahead, To: black.To},
				Audio:     watch.Track{Present: true, To: 4 * time.Second},
				Intervals: map[detector.Name][]watch.Interval{detector.Blackout: {black}},
			}) {
				if alert, ok := e.(watch.EventEmitted); ok {
					if got := sec(alert.Event.Data.(event.Alert).StartedAt); abs(got-(-3+c.late)) > tolerance {
						t.Errorf("black since %v", got)
					}
					return
				}
			}
			t.Error("no alert")
		})
	}
}

func TestAnOverlappingSegmentRecoversAfterTheBlack(t *testing.T) {
	segmentsByHand(t, 21, func(i int) (watch.Segment, watch.Analysis) {
		if i < 20 {
			return watch.Segment{ProgramTime: at(float64(2 * i))}, watch.Analysis{Video: decoded, Audio: decoded, Intervals: map[detector.Name][]watch.Interval{detector.Blackout: wholeSegment}}
		}
		return watch.Segment{ProgramTime: at(float64(2*i) - 0.7)}, watch.Analysis{Video: decoded, Audio: decoded}
	}, func(d event.Data) {
		if r, ok := d.(event.Recovered); ok && !r.RecoveredAt.Equal(at(40)) {
			t.Errorf("recovered at %v, was black until 40", sec(r.RecoveredAt))
		}
	})
}

// segmentsByHand gives a watcher n segments of 2 s, one every 2 s. Each playlist
// lists one segment.
func segmentsByHand(t *testing.T, n int, show func(i int) (watch.Segment, watch.Analysis), emitted func(event.Data)) (notes []string) {
	t.Helper()
	r := rules()
	r.CheckInterval = 2 * time.Second
	w := watch.New(r, at(0))
	step := func(now time.Time, o watch.Observation) {
		for _, e := range w.Step(now, o) {
			switch e := e.(type) {
			case watch.EventEmitted:
				if e.Event.Type != event.StreamStarted {
					emitted(e.Event.Data)
				}
			case watch.LogEntry:
				notes = append(notes, e.Message)
			}
		}
	}
	step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "m"})
	for i := range n {
		now := at(float64(2 * i))
		s, a := show(i)
		s.URI, s.Duration, s.Unnumbered = fmt.Sprint(i), decoded.To, true
		step(now, watch.Playlist{Began: now, URL: "m", Segments: []watch.Segment{s}})
		for _, task := range w.Next() {
			if task.Kind == watch.TaskSegment {
				a.Began, a.Segment = now, s.ID()
				step(now, a)
			}
		}
	}
	return notes
}

func TestBlackAndSilenceAreIndependent(t *testing.T) {
	scenario(t, func(w *world) {
		w.black = []span{{100, 160}}
		w.silent = []span{{120, 200}}
	}).from(50).until(300).expect(
		emits(50, event.StreamStarted),
		emits(130, event.Blackout, since(100)),
		emits(150, event.Silence, since(120)),
		emits(162, event.BlackoutRecovered, since(100), lasting(60)),
		emits(202, event.SilenceRecovered, since(120), lasting(80)),
	)
}

func TestAShortPictureEndsABlackout(t *testing.T) { // S3: first good media
	scenario(t, func(w *world) {
		w.rules.CheckInterval = 2 * time.Second
		w.black = []span{{100, 140}, {140.2, 180}}
	}).from(50).until(300).expect(
		emits(50, event.StreamStarted),
		emits(130, event.Blackout, since(100), lasting(30)),
		emits(142, event.BlackoutRecovered, since(100), lasting(40)),
		emits(172.2, event.Blackout, since(140.2), lasting(31)),
		emits(182, event.BlackoutRecovered, since(140.2), lasting(39)),
	)
}

func TestASegmentOfStrangeLengthIsLoggedAndCounted(t *testing.T) { // S10
	for length, strange := range map[time.Duration]bool{
		399 * time.Millisecond: true, 400 * time.Millisecond: false, 6 * time.Second: false, 6001 * time.Millisecond: true,
	} {
		w := watch.New(rules(), at(0))
		w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "m"})
		noted := false
		for _, e := range w.Step(at(1), watch.Playlist{Began: at(1), URL: "m", TargetDuration: 2 * time.Second,
			Segments: []watch.Segment{{URI: "a", Duration: length}}}) {
			if n, ok := e.(watch.LogEntry); ok && n.Warn && n.Data["count"] == 1 {
				noted = true
			}
		}
		if noted != strange {
			t.Errorf("%s with a target of 2 s: noted is %v", length, noted)
		}
	}
}

func TestAManifestFoundByTheFallbackNeedsAPlaylist(t *testing.T) { // 5.2: it never proves is_live
	t.Run("starts the watch when its playlist is live", func(t *testing.T) {
		scenario(t, func(w *world) { w.answers = map[span]watch.StreamState{{0, never}: watch.ManifestFound} }).
			from(100).findManifest().until(150).
			expect(emits(100, event.StreamStarted, since(100)))
	})
	t.Run("is the end when it is an archive's", func(t *testing.T) {
		scenario(t, func(w *world) { w.live.to, w.endlist = 50, true }).
			from(100).findManifest().until(150).
			expect(emits(100, event.StreamEnded, because("endlist")))
	})
}

func TestAVideoThatOEmbedMissesTwiceIsRemoved(t *testing.T) { // 7.4
	w := watch.New(rules(), at(0))
	fail := func(sec float64) {
		w.Step(at(sec), watch.Resolution{Began: at(sec), State: watch.Blocked, Detail: "not a bot"})
	}
	probe := func(sec float64) (over bool) {
		for _, task := range w.Next() {
			if task.Kind == watch.TaskOEmbed {
				for _, e := range w.Step(at(sec), watch.OEmbedResult{Began: at(sec), Known: true, Detail: "404"}) {
					if e, ok := e.(watch.EventEmitted); ok && e.Event.Data.(event.MonitorFailure).Reason == event.ReasonVideoUnavailable {
						return true
					}
				}
			}
		}
		return false
	}
	fail(0)
	if probe(1) {
		t.Fatal("believed at once")
	}
	fail(10)
	if probe(11) {
		t.Fatal("asked again within a minute")
	}
	fail(70)
	if !probe(71) {
		t.Fatal("not believed the second time")
	}
}

func TestHealthFollowsTheNewestMedia(t *testing.T) { // S14
	w := scenario(t, func(w *world) { w.black, w.playlistFails = []span{{100, 130}, {349.94, 350}}, []span{{200, 300}} })
	for _, c := range []struct {
		at           float64
		video, audio monitor.TrackHealth
		stream       monitor.StreamStatus
	}{
		{60, monitor.OK, monitor.OK, monitor.StreamLive},
		{115, monitor.Black, monitor.OK, monitor.StreamLive},
		{150, monitor.OK, monitor.OK, monitor.StreamLive},
		{220, monitor.OK, monitor.OK, monitor.StreamLive},
		{280, monitor.Unknown, monitor.Unknown, monitor.StreamLive},
		{350, monitor.OK, monitor.OK, monitor.StreamLive}, // 0.06 s of black is too short for health
	} {
		if w.watcher == nil {
			w.from(50)
		}
		w.until(c.at)
		r := w.watcher.Report()
		if r.Health.Video != c.video || r.Health.Audio != c.audio || r.StreamStatus != c.stream {
			t.Errorf("at %v: %s, %s, %s; want %s, %s, %s", c.at, r.Health.Video, r.Health.Audio, r.StreamStatus, c.video, c.audio, c.stream)
		}
	}
}
