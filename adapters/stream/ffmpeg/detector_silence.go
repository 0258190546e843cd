package ffmpeg

import (
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// minSilence is the shortest silence that is looked for.
const minSilence = 100 * time.Millisecond

// Sound below the threshold in all channels (section 6.4).
//
// silencedetect tags a frame only when silence has lasted for d. Its d is shorter
// than the 0.5 s of section 6.4, so that silence which began just before the end of
// a segment is found; domain/watch drops intervals that are too short.
var silence = filter{
	expression: func(setting Settings) string {
		return "silencedetect=d=" + strconv.FormatFloat(minSilence.Seconds(), 'f', -1, 64) + ":n=" + strconv.FormatFloat(setting(detector.SilenceDB), 'f', -1, 64) + "dB"
	},
	startKey: "lavfi.silence_start",
	endKey:   "lavfi.silence_end",
}
