package detector_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// pattern is a segment with key frames of so many strips of bars, one each 2 s, and a share of tone; -1: no sound.
func pattern(tone float64, strips ...int) detector.Measured {
	m := detector.Measured{}
	for i, n := range strips {
		m.Pictures = append(m.Pictures, detector.Picture{At: time.Duration(2*i) * time.Second, Bars: n})
	}
	if tone >= 0 {
		m.Tone = &detector.ToneMeasure{Share: tone, Blocks: 58}
	}
	return m
}

func TestBarsBeginAndEndWithAPicture(t *testing.T) { // section 6.8
	j := judge(t, detector.TestPattern)
	j.sample(pattern(0, 0, 2, 2), "good")
	j.sample(pattern(0, 2, 3, 2), "12-15")
	j.sample(pattern(0, 12, 12, 1), "20-24")
	j.sample(pattern(0, 2, 2), "good")
	j.sample(pattern(-1, 12, 0, 12), "40-42 44-45")
	j.sample(pattern(-1), "unknown")
}

func TestAToneAloneNeedsTwoSamples(t *testing.T) { // section 6.8
	j := judge(t, detector.TestPattern)
	j.sample(pattern(0.8, 0), "good since 0")
	j.sample(pattern(0.9), "0-15 since 0")
	j.sample(pattern(0.79, 0), "good")
	j.setting["detectors.test_pattern.tone_alone"] = 0
	j.sample(pattern(1, 0), "good")
	j.sample(pattern(1, 0), "good")
	j.sample(pattern(1, 12), "50-55")
}

func TestTheToneOfAnotherFeedLastsUntilItIsHeardAgain(t *testing.T) { // section 6.8
	elsewhere := func(s *detector.Sample) { s.OtherSound = true }
	j := judge(t, detector.TestPattern)
	j.sample(pattern(1, 0), "good since 0", elsewhere)
	j.sample(pattern(-1, 0), "good since 0", elsewhere) // not a second one
	j.sample(pattern(1, 0), "0-25 since 0", elsewhere)
	j.sample(pattern(-1, 0), "0-35 since 0", elsewhere)
	if share, ok := j.values["tone_share"]; !ok || share != 1 {
		t.Errorf("the values are %v", j.values)
	}
	j.sample(pattern(0, 0), "good", elsewhere)
	j.sample(pattern(1, 0), "good since 50", elsewhere)
	j.sample(pattern(1, 0), "50-65 since 50", elsewhere)
	j.sample(pattern(-1, 0), "good") // silence, or an outage of the sound
}

func captions(state detector.CaptionState) detector.Measured {
	return detector.Measured{Captions: &state}
}

func TestCaptionsAreMissedFromTheirLastTextOn(t *testing.T) { // section 6.8
	silent := func(s *detector.Sample) {
		s.Intervals = map[detector.Name][]detector.Interval{detector.Silence: {{To: 5 * time.Second}}}
	}
	j := judge(t, detector.CaptionsMissing)
	j.sample(captions(detector.NoCaptions), "unknown") // there were none to be missed
	j.sample(captions(detector.EmptyCaptions), "unknown")
	j.sample(captions(detector.CaptionText), "good since 25")
	j.sample(captions(detector.EmptyCaptions), "unknown since 35", silent) // this time does not count
	j.sample(captions(detector.EmptyCaptions), "35-45 since 35")
	j.sample(captions(detector.EmptyCaptions), "unknown since 35", silent) // they are missing since then
	j.sample(captions(detector.NoCaptions), "35-65 since 35")
	j.sample(captions(detector.CaptionText), "good since 75")

	declared := func(s *detector.Sample) { s.CaptionsDeclared = true }
	j = judge(t, detector.CaptionsMissing)
	j.sample(captions(detector.EmptyCaptions), "unknown", declared, silent)
	j.sample(captions(detector.EmptyCaptions), "10-15 since 10", declared)
}

func damage(seconds float64) detector.Measured {
	m := detector.Measured{Damage: &detector.DamageMeasure{}}
	if seconds > 0 {
		m.Damage.Intervals = []detector.Interval{{From: time.Second, To: time.Second + time.Duration(seconds*float64(time.Second))}}
	}
	return m
}

func TestAPictureIsDamagedByItsShareUntilAFewDamagedFramesAreLeft(t *testing.T) { // section 6.8
	j := judge(t, detector.PictureDamage)
	j.sample(damage(0.9), "good closely")
	j.sample(damage(1), "10-15 closely")
	j.sample(damage(0.25), "20-25 closely")
	j.sample(damage(0.24), "good closely")
	j.sample(damage(0), "good")
}

func TestWhatWasKnownBeforeAnOutageKeepsNothing(t *testing.T) { // section 6.8
	for _, c := range []struct {
		detector  detector.Name
		bad, kept detector.Measured
	}{
		{detector.LoudnessLow, loudness(-45), loudness(-39.5)},
		{detector.PictureDamage, damage(1), damage(0.25)},
		{detector.TestPattern, pattern(0, 3), pattern(0, 2)},
	} {
		j := judge(t, c.detector)
		j.sample(c.bad, map[bool]string{true: "0-5 closely", false: "0-5"}[c.detector == detector.PictureDamage])
		j.before = time.Time{}
		j.sample(c.kept, map[bool]string{true: "good closely", false: "good"}[c.detector == detector.PictureDamage])
	}
}
