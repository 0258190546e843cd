package livestream

import (
	"context"
	"time"
)

// Rates. A frame of video is 3000 ticks of the 90 kHz clock and a frame of
// audio 1920, so that both are exact at every instant.
const (
	fps          = 30
	sampleRate   = 48_000
	samples      = 1024 // in an AAC frame
	ticks        = 90_000
	ticksOfFrame = ticks / fps
	ticksOfSound = ticks * samples / sampleRate

	firstStamp = 10 * ticks   // of a stream, so that nothing before it is negative
	leap       = 3600 * ticks // at a discontinuity
)

// framesIn is how many video frames begin before at.
func framesIn(at time.Duration) int64 {
	return int64((at*fps + time.Second - 1) / time.Second)
}

// frameTime is when video frame n begins, rounded down so that framesIn gives
// n back.
func frameTime(n int64) time.Duration {
	return time.Duration(n) * time.Second / fps
}

// soundsIn is how many audio frames begin before at.
func soundsIn(at time.Duration) int64 {
	const frame = samples * int64(time.Second) / 1000 // ns × 48, exact
	return (int64(at)*(sampleRate/1000) + frame - 1) / frame
}

// compose puts segment n of a rendition together.
func (s *Stream) compose(ctx context.Context, r Rendition, n int64) ([]byte, error) {
	from, to := s.begin(n), s.begin(n+1)
	base := firstStamp + int64(s.line.breaks(from))*leap
	var video, audio []sample
	if r.HasVideo() {
		units, err := s.library.video(ctx, r, s.config.Segment, n, s.line.spans(from, to, Black, Picture))
		if err != nil {
			return nil, err
		}
		first := framesIn(from)
		for i, u := range units {
			video = append(video, sample{at: base + (first+int64(i))*ticksOfFrame, data: u, key: i == 0})
		}
	}
	if r.HasAudio() {
		sounds, err := s.library.audio(ctx)
		if err != nil {
			return nil, err
		}
		const overhang = samples * time.Second / sampleRate // the last frame reaches into the next segment
		quiet := s.line.spans(from, to+overhang, Silence, Sound)
		for i := soundsIn(from); i < soundsIn(to); i++ {
			data := sounds.tone[i%int64(len(sounds.tone))]
			if within(quiet, soundTime(i)-from) {
				data = sounds.silence[i%int64(len(sounds.silence))]
			}
			audio = append(audio, sample{at: base + i*ticksOfSound, data: data, key: true})
		}
	}
	return mux(n, video, audio), nil
}

// soundTime is the middle of audio frame i: the frame belongs to whatever
// holds there.
func soundTime(i int64) time.Duration {
	const halves = 3 * samples / 2 * int64(time.Second) / sampleRate // three half frames are whole nanoseconds
	return time.Duration((2*i + 1) * halves / 3)
}

// roundUp is the first multiple of step that is not before d.
func roundUp(d, step time.Duration) time.Duration {
	if rest := d % step; rest > 0 {
		return d + step - rest
	}
	return d
}

func within(spans []span, at time.Duration) bool {
	for _, s := range spans {
		if at >= s.from && at < s.to {
			return true
		}
	}
	return false
}
