package ffmpeg_test

import (
	"slices"
	"testing"
	"time"
)

// The segment joins two scenes of 2 s, of which the first is black and silent for its last half second.
func TestIntervalsContinueAcrossAJoint(t *testing.T) {
	first := scene{seconds: 2, offset: 100, black: during(1.5, 9), silent: during(1.5, 9)}
	const loose = 3 * time.Second / 30 // the joint of timestamps that begin again
	half := during(0, 0.5)
	next := scene{offset: 102, black: half, silent: half}
	changed := func(s scene) scene { s.offset, s.black, s.silent = 102, half, half; return s }
	restarted := func(s scene) scene { s.black, s.silent = half, half; return s }
	at := func(offset float64) scene { s := next; s.offset = offset; return s }

	for name, c := range map[string]struct {
		second        scene
		gap           float64
		black, silent float64 // until when
		tolerance     time.Duration
	}{
		"timestamps jump back to the beginning":  {at(5), 0, 2.5, 2.5, 0},
		"timestamps jump back by half a second":  {at(101.5), 0, 2.5, 2.5, 0},
		"timestamps jump back by all but 0.2 s":  {at(100.2), 0, 2.5, 2.5, 0},
		"timestamps jump forward by an hour":     {at(3702), 0, 2.5, 2.5, 0},
		"timestamps jump forward, past 33 bits":  {at(95_440), 0, 2.5, 2.5, 0},
		"five seconds are missing":               {at(107), 5, 7.5, 7.5, 0},
		"neither picture nor sound is bad later": {scene{offset: 102}, 0, 2, 2, 0},
		"the sound alone stays silent":           {scene{offset: 102, size: "320x180", layout: "5.1", black: half, silent: during(0, 9)}, 0, 2.5, 4, 0},

		"a larger picture":             {changed(scene{size: "640x360"}), 0, 2.5, 2.5, audioFrame},
		"a larger picture, from zero":  {restarted(scene{size: "640x360"}), 0, 2.5, 2.5, loose},
		"a smaller picture":            {changed(scene{size: "160x90"}), 0, 2.5, 2.5, audioFrame},
		"a smaller picture, from zero": {restarted(scene{size: "160x90"}), 0, 2.5, 2.5, loose},
		"a picture at another rate":    {changed(scene{rate: 60}), 0, 2.5, 2.5, audioFrame},
		"another profile":              {changed(scene{codec: []string{"-profile:v", "baseline"}}), 0, 2.5, 2.5, audioFrame},
		"a picture with ten bits":      {changed(scene{codec: []string{"-pix_fmt", "yuv420p10le"}}), 0, 2.5, 2.5, audioFrame},
		"full-range luma":              {changed(scene{codec: []string{"-pix_fmt", "yuvj420p"}}), 0, 2.5, 2.5, audioFrame},
		"sound of one channel":         {changed(scene{layout: "mono"}), 0, 2.5, 2.5, audioFrame},
		"one channel, from zero":       {restarted(scene{layout: "mono"}), 0, 2.5, 2.5, loose},
		"sound of another sample rate": {changed(scene{codec: []string{"-ar", "44100"}}), 0, 2.5, 2.5, audioFrame},
	} {
		t.Run(name, func(t *testing.T) {
			c.second.seconds = 2
			const p = primingSeconds
			end := 4 + c.gap + p
			video := track{from: p, to: end, intervals: during(1.5+p, c.black+p)}
			audio := track{to: end, intervals: during(1.5+p, c.silent+p)}
			checkAnalysis(t, slices.Concat(first.make(t), c.second.make(t)), video, audio, max(c.tolerance, printPrecision), max(c.tolerance, audioFrame))
		})
	}
}
