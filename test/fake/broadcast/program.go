package broadcast

import (
	"fmt"
	"time"
)

// Program has the instants of the recording, from its beginning. All are on frames. The
// length is a multiple of 1 and 2 s; longer segments end with a short one. The segments with
// the returned sound are complete 6 s before the end, so a check finds them in time.
var Program = struct{ Black, Picture, Silence, Sound, End time.Duration }{
	Black:   30_400 * time.Millisecond,
	Picture: 40_400 * time.Millisecond,
	Silence: 45_600 * time.Millisecond,
	Sound:   54_600 * time.Millisecond,
	End:     62 * time.Second,
}

// uneventful is the beginning without events. History repeats it: it is a whole number of
// AAC frames at 48 kHz, and of segments.
const uneventful = 24 * time.Second

const (
	fps       = 15
	gopFrames = fps // frames from one key frame to the next: every second
)

// videoFilter returns a filter graph of the recording's video between two instants,
// with timestamps from zero.
func videoFilter(width, height int, from, to time.Duration) string {
	frame := func(at time.Duration) int64 { return int64(at * fps / time.Second) }
	return fmt.Sprintf("testsrc2=size=%dx%d:rate=%d:duration=%g,drawbox=color=black:t=fill:enable='between(n,%d,%d)',"+
		"trim=start_frame=%d:end_frame=%d,setpts=PTS-STARTPTS", width, height, fps, Program.End.Seconds(),
		frame(Program.Black), frame(Program.Picture)-1, frame(from), frame(to))
}

// audioFilter returns a filter graph of the recording's audio between two instants,
// with timestamps from zero.
func audioFilter(rate int, from, to time.Duration) string {
	return fmt.Sprintf("aevalsrc='if(gte(t,%g)*lt(t,%g),0,0.2*sin(2*PI*440*t)+0.1*sin(2*PI*660*t))':s=%d:c=mono:d=%g,"+
		"atrim=start=%g:end=%g,asetpts=PTS-STARTPTS", Program.Silence.Seconds(), Program.Sound.Seconds(), rate,
		Program.End.Seconds(), from.Seconds(), to.Seconds())
}
