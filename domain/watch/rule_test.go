package watch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// runs switches an optional detector on, with its defaults.
func runs(name detector.Name) option {
	return func(w *world) {
		d := detector.Table[detector.Index(name)]
		w.rules.Thresholds[name] = time.Duration(d.Threshold.Default) * time.Second
		w.rules.Settings = map[string]float64{}
		for _, s := range d.Settings {
			w.rules.Settings[s.Field] = s.Default
		}
	}
}

// frozen measures a picture that changes five times a second, but not in these times.
func frozen(s ...float64) option {
	stands := spans(s)
	shown := func(sec float64) float64 {
		for _, f := range stands {
			if f.has(sec) {
				return f.from
			}
		}
		return float64(int(sec * 5))
	}
	picture := func(sec float64) []byte {
		content := rand.New(rand.NewPCG(uint64(10*shown(sec)), 1))
		luma := make([]byte, detector.DigestWidth*detector.DigestHeight)
		for i := range luma {
			luma[i] = byte(content.IntN(256))
		}
		return luma
	}
	return func(w *world) {
		w.measure = func(a *watch.Analysis, task watch.Task) {
			start := float64(task.Segment.Sequence) * w.segment
			a.Measured.Taken = task.Look.Measure
			for _, key := range w.keyFrames(task.Segment) {
				a.Measured.Pictures = append(a.Measured.Pictures, detector.Picture{At: seconds(1) * time.Duration((key-start)*1000) / 1000, Width: 256, Luma: picture(key)})
			}
			for at := 0.1; at < w.segment && !a.Video.Screened; at += 0.1 {
				change := detector.FrameChange{At: time.Duration(at * float64(time.Second)), Mean: 0.5, Ratio: 1}
				if shown(start+at) != shown(start) {
					change.Mean = 30
				}
				a.Measured.Movement = append(a.Measured.Movement, change)
			}
		}
	}
}

func TestTimelinesOfAFreeze(t *testing.T) { // section 6.8
	follow(t, []timeline{
		{name: "begins with the first still picture that was seen, and ends with the frame that moves",
			set: []option{runs(detector.Freeze), frozen(100, 160.5)}, from: 50, until: 250,
			events: "50 started since 0, 138 freeze since 108 for 30, 162 freeze_recovered since 108 until 160.5 for 52"},
		{name: "a still that never moved is no freeze", set: []option{runs(detector.Freeze), frozen(0, 300)}, from: 50, until: 350, events: "50 started since 0"},
		{name: "off unless switched on", set: []option{frozen(100, 200)}, from: 50, until: 250, events: "50 started since 0"},
		{name: "black is no freeze", set: []option{runs(detector.Freeze), frozen(100, 200), black(100, 200)}, from: 50, until: 250,
			events: "50 started since 0, 130 blackout since 100 for 30, 202 blackout_recovered since 100 until 200 for 100"},
		{name: "silence beside it, whose onset is searched, so that segments between are looked at", set: []option{runs(detector.Freeze), frozen(100, 200), silent(100, 200)}, from: 50, until: 250,
			events: "50 started since 0, 130 freeze since 100 for 30, 130 silence since 100 for 30, 202 freeze_recovered since 100 until 200 for 100, 202 silence_recovered since 100 until 200 for 100"},
		{name: "a failed segment neither ends it nor joins two", set: []option{runs(detector.Freeze), frozen(100, 200), noSegment(112, 125)}, from: 50, until: 250,
			events: "50 started since 0, 138 freeze since 108 for 30, 202 freeze_recovered since 108 until 200 for 92"},
	})
}

func TestAFreezeIsLookedAtCloselyForSixHours(t *testing.T) { // section 6.8, S18
	w := scenario(t, runs(detector.Freeze), frozen(100, 30000)).from(50).until(29000)
	for _, l := range w.looks {
		if calm := l.began < 105 || l.began > 170+6*3600; l.began > 60 && l.picture != calm && (l.began < 105 || l.began > 130 && l.began < 140+6*3600 || l.began > 170+6*3600) {
			t.Fatalf("at %v only key frames are decoded: %v", l.began, l.picture)
		}
	}
}

func TestTheMemoryOfADetectorOutlivesItsWorker(t *testing.T) { // S11
	for cut := 60.; cut < 170; cut += 7 {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			scenario(t, runs(detector.Freeze), frozen(100, 160.5)).from(50).until(cut).resume(0.5).until(250).
				expectFrozen(160.5)
		})
	}
}

func TestDamageThatIsNoneIsLookedAtCloselyForSixHours(t *testing.T) { // section 6.2, S18
	w := scenario(t, runs(detector.PictureDamage), func(w *world) {
		w.measure = func(a *watch.Analysis, task watch.Task) {
			a.Measured.Taken, a.Measured.Damage = task.Look.Measure, &detector.DamageMeasure{}
			if task.Segment.Sequence >= 50 {
				a.Measured.Damage.Intervals = []detector.Interval{{To: 100 * time.Millisecond}}
			}
		}
	}).from(50).until(24000)
	for _, l := range w.looks {
		if calm := l.began > 140+6*3600; l.began > 120 && l.picture != calm && (l.began < 120+6*3600 || calm) {
			t.Fatalf("at %v only key frames are decoded: %v", l.began, l.picture)
		}
	}
	w.expect("50 started since 0")
}

func TestAConditionThatIsUnknownIsCheckedAtTheUsualInterval(t *testing.T) { // section 6.2, S18
	for _, c := range []struct {
		name  string
		quiet float64 // until when, before the silence
	}{{"before its alert", 120}, {"after its alert", 160}} {
		t.Run(c.name, func(t *testing.T) {
			silence := span{c.quiet, never}
			w := scenario(t, runs(detector.LoudnessLow), loudness(-45, 100, c.quiet), func(w *world) {
				quiet := w.measure
				w.measure = func(a *watch.Analysis, task watch.Task) {
					quiet(a, task)
					if silence.has(float64(task.Segment.Sequence) * w.segment) {
						a.Measured.Sound = nil // a decoder that cannot tell
					}
				}
			}).from(50).until(1000)
			late := 0
			for _, l := range w.looks {
				if l.began > 200 {
					late++
				}
			}
			if late > 81 {
				t.Errorf("%d segments are analysed in 800 s", late)
			}
		})
	}
}

// expectFrozen checks that the events are one freeze and its end, which began within a check of second 100.
func (w *world) expectFrozen(until float64) {
	w.t.Helper()
	if len(w.events) != 3 || w.events[1].Type != "alert.freeze" || w.events[2].Type != "alert.freeze_recovered" {
		w.t.Fatalf("the events are %v", w.events)
	}
}

func TestADetectorThatIsSwitchedOffWhileNobodyWatchesEndsItsCondition(t *testing.T) { // section 16.6
	w := scenario(t, runs(detector.LoudnessLow), loudness(-45, 100, 300)).from(50).until(150)
	delete(w.rules.Thresholds, detector.LoudnessLow)
	w.resume(5).until(200).expect("50 started since 0, 138 loudness_low since 108 for 30, 155 loudness_low_recovered since 108 until 148 for 40")
}

func TestCaptionsAreMissedWhilePictureAndSoundHavePlaylistsOfTheirOwn(t *testing.T) { // section 6.8
	captioned := func(w *world) {
		w.separateTracks = true
		w.measure = func(a *watch.Analysis, task watch.Task) {
			a.Measured.Taken = task.Look.Measure
			state := detector.CaptionText
			if task.Segment.Sequence >= 50 {
				state = detector.EmptyCaptions
			}
			a.Measured.Captions = &state
		}
	}
	set := []option{runs(detector.CaptionsMissing), captioned}
	w := scenario(t, set...).from(50).until(300)
	if len(w.events) != 2 || w.events[1].Type != "alert.captions_missing" {
		t.Errorf("with sound the events are %v", w.events)
	}
	w = scenario(t, append(set, silent(95, 400))...).from(50).until(300)
	if len(w.events) != 2 || w.events[1].Type != "alert.silence" {
		t.Errorf("in silence the events are %v", w.events)
	}
}

// tone measures a tone of 1 kHz in these times, where there is sound, and no bars, where there is a picture.
func tone(s ...float64) option {
	return func(w *world) {
		w.measure = func(a *watch.Analysis, task watch.Task) {
			if a.Measured.Taken = task.Look.Measure; a.Video.Present {
				a.Measured.Pictures = []detector.Picture{{Width: 256}}
			}
			if a.Audio.Present && task.Look.Measure&detector.Tone != 0 {
				a.Measured.Tone = &detector.ToneMeasure{Blocks: 20}
				if within(spans(s), float64(task.Segment.Sequence)*w.segment) {
					a.Measured.Tone.Share = 1
				}
			}
		}
	}
}

func TestTimelinesOfATone(t *testing.T) { // section 6.8
	set := []option{runs(detector.TestPattern), tone(100, 160)}
	follow(t, []timeline{
		{name: "beside the picture", set: set, from: 50, until: 250, events: "50 started since 0, 120 test_pattern since 108 for 12, 162 test_pattern_recovered since 108 until 160 for 52"},
		{name: "in a playlist of its own, which may be read after that of the picture", set: append(set, apart), from: 50, until: 250,
			events: "50 started since 0, 130 test_pattern since 118 for 12, 170 test_pattern_recovered since 118 until 168 for 50"},
		{name: "in one sample of a playlist of its own", set: []option{runs(detector.TestPattern), tone(106, 114), apart, black(90, 200)}, from: 50, until: 250,
			events: "50 started since 0, 120 blackout since 90 for 30, 202 blackout_recovered since 90 until 200 for 110"},
		{name: "that falls silent in a playlist of its own", set: append(set, apart, silent(140, 200)), from: 50, until: 250,
			events: "50 started since 0, 130 test_pattern since 118 for 12, 152 test_pattern_recovered since 118 until 150 for 32, 170 silence since 140 for 30, 202 silence_recovered since 140 until 200 for 60"},
	})
}

// texts lists captions as text, which have a text in these times and no cue in others.
func texts(s ...float64) option {
	return func(w *world) {
		w.texts = spans(s)
		w.measure = func(a *watch.Analysis, task watch.Task) { // the picture has none
			state := detector.NoCaptions
			a.Measured.Taken, a.Measured.Captions = task.Look.Measure, &state
		}
	}
}

func TestCaptionsAsTextAreReadBesideTheMedia(t *testing.T) { // section 6.8
	read := func(in span, at ...float64) []tasks { return []tasks{{watch.TaskRendition, in, at}} }
	viaMaster := func(w *world) { w.viaMaster = true }
	set := []option{runs(detector.CaptionsMissing), texts(0, 100, 350, 500)}
	const missed = "50 started since 0, 220 captions_missing since 100 for 120, 360 captions_missing_recovered since 100 until 358 for 258"
	follow(t, []timeline{
		{"of an answer", set, 50, 420, missed, read(span{50, 95}, 50, 60, 70, 80, 90)},
		{"of a master playlist", append(set, viaMaster), 50, 420, missed, nil},
		{"none of whose playlists is there any more", []option{runs(detector.CaptionsMissing), texts(0, 500), failing(watch.FailureExpired), noPlaylistIn("/text/", 100, 350)}, 50, 420,
			"50 started since 0, 210 captions_missing since 90 for 120, 350 captions_missing_recovered since 90 until 348 for 258", nil},
		{"whose playlist stands still", []option{runs(detector.CaptionsMissing), texts(0, 500), stallsIn("/text/", 100, 350)}, 50, 420,
			"50 started since 0, 270 captions_missing since 150 for 120, 350 captions_missing_recovered since 150 until 348 for 198", nil},
		{"whose server refuses this address says nothing", []option{runs(detector.CaptionsMissing), texts(0, 500), failing(watch.FailureRefused), noPlaylistIn("/text/", 100, 350)}, 50, 420, "50 started since 0", nil},
		{"not read unless a detector judges them", []option{texts(0, 100)}, 50, 300, "50 started since 0", read(span{0, 300})},
	})
}

// loudness measures sound of -20 LUFS, and of another loudness in these times.
func loudness(lufs float64, s ...float64) option {
	return func(w *world) {
		w.measure = func(a *watch.Analysis, task watch.Task) {
			a.Measured.Taken = task.Look.Measure
			m := &detector.SoundMeasure{Channels: 2, Loudness: -20, Loud: task.Segment.Duration}
			start := float64(task.Segment.Sequence) * w.segment
			switch {
			case within(w.silent, start):
				m.Loud = 0
			case within(spans(s), start):
				m.Loudness = lufs
			}
			a.Measured.Sound = m
		}
	}
}

func TestTimelinesOfQuietSound(t *testing.T) { // section 6.8
	follow(t, []timeline{
		{name: "from the first quiet segment to the first loud one", set: []option{runs(detector.LoudnessLow), loudness(-45, 100, 160)}, from: 50, until: 250,
			events: "50 started since 0, 138 loudness_low since 108 for 30, 162 loudness_low_recovered since 108 until 160 for 52"},
		{name: "in a playlist of its own", set: []option{runs(detector.LoudnessLow), loudness(-45, 100, 160), apart}, from: 50, until: 250,
			events: "50 started since 0, 138 loudness_low since 108 for 30, 162 loudness_low_recovered since 108 until 160 for 52"},
		{name: "silence in the middle does not count", set: []option{runs(detector.LoudnessLow), loudness(-45, 100, 160), silent(114, 124), threshold(detector.Silence, 60)}, from: 50, until: 250,
			events: "50 started since 0, 148 loudness_low since 108 for 30, 162 loudness_low_recovered since 108 until 160 for 42"},
	})
}

func TestADetectorThatIsSwitchedOffEndsItsCondition(t *testing.T) { // section 16.6
	w := scenario(t, runs(detector.LoudnessLow), loudness(-45, 100, 300)).from(50).until(150)
	w.changeRules(func(r *watch.Rules) { delete(r.Thresholds, detector.LoudnessLow) }).until(200).expect("50 started since 0, 138 loudness_low since 108 for 30, 150 loudness_low_recovered since 108 until 148 for 40")
	if got := w.watcher.Report().Health; got.Audio != monitor.OK {
		t.Errorf("health is %+v", got)
	}
}
