package livestream

import (
	"context"
	"time"
)

// Rates. A video frame has 3000 ticks of the 90 kHz clock and an audio frame 1920, so
// that both begin on whole ticks.
const (
	fps             = 30
	sampleRate      = 48_000
	samplesPerFrame = 1024 // in an AAC frame
	ticks           = 90_000
	videoFrameTicks = ticks / fps
	audioFrameTicks = ticks * samplesPerFrame / sampleRate

	firstTimestamp    = 10 * ticks   // of a stream, so that nothing before it is negative
	discontinuityJump = 3600 * ticks // at a discontinuity
)

// videoFramesBefore returns how many video frames begin before at.
func videoFramesBefore(at time.Duration) int64 {
	return int64((at*fps + time.Second - 1) / time.Second)
}

// frameTime returns when video frame n begins, rounded down so that videoFramesBefore
// returns n.
func frameTime(n int64) time.Duration {
	return time.Duration(n) * time.Second / fps
}

// audioFramesBefore returns how many audio frames begin before at.
func audioFramesBefore(at time.Duration) int64 {
	const frame = samplesPerFrame * int64(time.Second) / 1000 // ns × 48, exact
	return (int64(at)*(sampleRate/1000) + frame - 1) / frame
}

// buildSegment returns segment n of a rendition.
func (s *Stream) buildSegment(ctx context.Context, r Rendition, n int64) ([]byte, error) {
	from, to := s.begin(n), s.begin(n+1)
	base := firstTimestamp + int64(s.timeline.discontinuities(from))*discontinuityJump
	var video, audio []sample
	if r.HasVideo() {
		units, err := s.library.video(ctx, r, s.config.Segment, n, s.timeline.spans(from, to, Black, Picture))
		if err != nil {
			return nil, err
		}
		first := videoFramesBefore(from)
		for i, u := range units {
			video = append(video, sample{at: base + (first+int64(i))*videoFrameTicks, data: u, key: i == 0})
		}
	}
	if r.HasAudio() {
		loops, err := s.library.audio(ctx)
		if err != nil {
			return nil, err
		}
		const frame = samplesPerFrame * time.Second / sampleRate // the last one ends in the next segment
		silent := s.timeline.spans(from, to+frame, Silence, Sound)
		quiet := s.timeline.spans(from, to+frame, Quiet, Loud)
		for i := audioFramesBefore(from); i < audioFramesBefore(to); i++ {
			data := loops.tone[i%int64(len(loops.tone))]
			switch middle := audioFrameMiddle(i) - from; {
			case contains(silent, middle):
				data = loops.silence[i%int64(len(loops.silence))]
			case contains(quiet, middle):
				data = loops.quiet[i%int64(len(loops.quiet))]
			}
			audio = append(audio, sample{at: base + i*audioFrameTicks, data: data, key: true})
		}
	}
	return mux(n, video, audio), nil
}

// audioFrameMiddle returns the middle of audio frame i, which decides whether the frame
// is silent.
func audioFrameMiddle(i int64) time.Duration {
	const threeHalfFrames = 3 * samplesPerFrame / 2 * int64(time.Second) / sampleRate // a whole number of nanoseconds
	return time.Duration((2*i + 1) * threeHalfFrames / 3)
}

// roundUp returns the first multiple of step that is not before d.
func roundUp(d, step time.Duration) time.Duration {
	if rest := d % step; rest > 0 {
		return d + step - rest
	}
	return d
}

// contains reports whether at is in one of spans.
func contains(spans []span, at time.Duration) bool {
	for _, s := range spans {
		if at >= s.from && at < s.to {
			return true
		}
	}
	return false
}
