package detector_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

func sound(s detector.SoundMeasure) detector.Measured {
	s.Channels, s.Loud = max(s.Channels, 2), 5*time.Second
	return detector.Measured{Sound: &s}
}

func loudness(lufs float64) detector.Measured { return sound(detector.SoundMeasure{Loudness: lufs}) }

var quiet = detector.Measured{Sound: &detector.SoundMeasure{Channels: 2, Loudness: -120, Loud: 200 * time.Millisecond, Left: -80, Right: -80}}

func TestSoundIsOutsideItsRangeUntilItIsInsideByADecibel(t *testing.T) { // section 6.8
	j := judge(t, detector.LoudnessLow)
	for _, c := range []struct {
		lufs float64
		want string
	}{{-39.9, "good"}, {-40.1, "10-15"}, {-39.1, "20-25"}, {-38.9, "good"}, {-39.5, "good"}} {
		j.sample(loudness(c.lufs), c.want)
	}
	j = judge(t, detector.LoudnessHigh)
	for _, c := range []struct {
		lufs float64
		want string
	}{{-5.1, "good"}, {-4.9, "10-15"}, {-5.9, "20-25"}, {-6.1, "good"}} {
		j.sample(loudness(c.lufs), c.want)
	}
}

func TestSilenceSaysNothingAboutLoudness(t *testing.T) { // section 6.8
	j := judge(t, detector.LoudnessLow)
	j.sample(loudness(-45), "0-5")
	j.sample(quiet, "unknown")
	j.sample(quiet, "unknown")
	j.sample(loudness(-39.5), "30-35") // it still lasts
	for range 2 {
		j.sample(quiet, "unknown")
	}
	j.sample(quiet, "forget")
	j.sample(loudness(-39.5), "good")
}

func TestClippedSoundReachesFullScaleInAShareOfItsMoments(t *testing.T) { // section 6.8
	j := judge(t, detector.Clipping)
	for _, c := range []struct {
		share float64
		want  string
	}{{0.19, "good"}, {0.2, "10-15"}, {0.14, "20-25"}, {0.13, "good"}, {0.19, "good"}, {-1, "unknown"}} {
		j.sample(sound(detector.SoundMeasure{FullScale: c.share}), c.want)
	}
}

func TestSoundIsOneSidedIfAChannelIsMissingOrInverted(t *testing.T) { // section 6.8
	for _, c := range []struct {
		name                     string
		channels                 int
		left, right, correlation float64
		want                     string
	}{
		{"stereo", 2, -20, -22, 0.4, "good"},
		{"one side is louder", 2, -20, -49.9, 0, "good"},
		{"a side is missing", 2, -20, -50, 0, "0-5"},
		{"the other side is missing", 2, -120, -20, 0, "0-5"},
		{"an inverted side", 2, -20, -20, -0.9, "0-5"},
		{"wide stereo", 2, -20, -20, -0.89, "good"},
		{"both are quiet", 2, -51, -120, 0, "unknown"},
		{"six channels", 6, -20, -120, 0, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			judge(t, detector.OneSided).sample(sound(detector.SoundMeasure{Channels: c.channels, Left: c.left, Right: c.right, Correlation: c.correlation}), c.want)
		})
	}
	j := judge(t, detector.OneSided)
	j.sample(sound(detector.SoundMeasure{Left: -20, Right: -60}), "0-5")
	j.sample(sound(detector.SoundMeasure{Left: -20, Right: -44}), "10-15")
	j.sample(sound(detector.SoundMeasure{Left: -20, Right: -43.9}), "good")
}
