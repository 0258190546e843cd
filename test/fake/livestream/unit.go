package livestream

import (
	"fmt"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bitstream"
)

// Rates. The ticks of a video frame and of an AAC frame are whole numbers.
const (
	fps             = 30
	sampleRate      = 48_000
	samplesPerFrame = 1024 // in an AAC frame
	ticks           = 90_000

	loopDuration = 8 * time.Second // after which the media repeat, at least: a whole number of AAC frames
	lead         = time.Second     // of media before a unit, which ffmpeg encodes and cuts off; so much follows it, too
	unitStart    = 2 * lead        // timestamp of a unit in ffmpeg's output
)

// unit is the media of a segment, which one run of ffmpeg makes.
type unit struct {
	rendition Rendition
	container Container
	length    time.Duration
	phase     time.Duration // where in the loop it is

	// From its beginning.
	black, still, bars, uncaptioned           []span // of the picture
	silent, quiet, tone, leftOnly, overloaded []span // of the sound
}

// phaseOf returns the phase of a unit of this length at a position of the stream.
func phaseOf(position, length time.Duration) time.Duration {
	loop := loopDuration
	for loop%length != 0 {
		loop += loopDuration
	}
	return position % loop
}

// arguments returns ffmpeg's arguments. They cut off what is before and after the unit: the sound of
// both is what the codec needs for a seamless one. The phase decides how far the first AAC frame is
// from the unit's beginning, so that the frames of one unit continue in the next.
func (u unit) arguments(l *Library) []string {
	args := []string{}
	var graph, codecs []string
	if u.rendition.HasVideo() {
		if l.clip != "" {
			args = append(args, "-stream_loop", "-1", "-ss", fmt.Sprint(u.phase.Seconds()), "-i", l.clip)
		}
		graph = append(graph, u.picture(l)+"[v]")
		codecs = append(codecs, "-map", "[v]", "-c:v", "libx264", "-preset", "veryfast", "-profile:v", "main", "-pix_fmt", "yuv420p", "-crf", "26",
			"-bf", "0", "-g", "9999", "-sc_threshold", "0", "-threads", "1", "-force_key_frames", u.cuts())
	}
	if u.rendition.HasAudio() {
		graph = append(graph, u.sound()+"[a]")
		codecs = append(codecs, "-map", "[a]", "-c:a", "aac", "-b:a", "64k")
	}
	format := []string{"mpegts", "mpegts_flags=initial_discontinuity"}
	switch {
	case u.container == FMP4:
		format = []string{"mp4", "movflags=empty_moov+default_base_moof+frag_keyframe+skip_trailer:video_track_timescale=90000"}
	case u.container == Packed && !u.rendition.HasVideo():
		format = []string{"adts", "write_id3v2=0"}
	}
	args = append(append(args, "-filter_complex", strings.Join(graph, ";")), codecs...)
	return append(args, "-f", "segment", "-segment_format", format[0], "-segment_format_options", format[1],
		"-segment_times", u.cuts(), "-muxdelay", "0", "-muxpreload", "0", "%d")
}

func (u unit) cuts() string {
	return fmt.Sprintf("%g,%g", unitStart.Seconds(), (unitStart + u.length).Seconds())
}

// picture returns the filter graph of the picture.
func (u unit) picture(l *Library) string {
	w, h := u.rendition.Width, u.rendition.Height
	from := u.phase
	pattern := fmt.Sprintf("testsrc2=size=%dx%d:rate=%d", w, h, fps)
	source := pattern
	if l.clip != "" {
		source, from = fmt.Sprintf("[0:v]fps=%d,scale=%d:%d,setsar=1", fps, w, h), 0
	}
	frames := func(all []span) string {
		return during(u.extended(all), func(s span) string {
			return fmt.Sprintf("gte(n,%d)*lt(n,%d)", videoFramesBefore(lead+s.from), videoFramesBefore(lead+s.to))
		})
	}
	source += fmt.Sprintf(",trim=start=%g:end=%g", from.Seconds(), (from + u.length + 2*lead).Seconds())
	for _, over := range []struct {
		during []span
		source string
	}{{u.still, pattern}, {u.bars, fmt.Sprintf("smptebars=size=%dx%d", w, h)}} {
		if len(over.during) > 0 {
			// The first frame of the source is shown: an overlay repeats the last one that it has.
			source = fmt.Sprintf("%s[under];%s,trim=end_frame=1[over];[under][over]overlay=enable='%s'", source, over.source, frames(over.during))
		}
	}
	return fmt.Sprintf("%s,drawbox=color=black:t=fill:enable='%s',setpts=PTS-STARTPTS+1/TB", source, frames(u.black))
}

// sound returns the filter graph of the sound.
func (u unit) sound() string {
	const loop = int64(loopDuration/time.Second) * sampleRate
	samples := func(d time.Duration) int64 { return int64(d / time.Second * sampleRate) }
	early := (samples(u.phase-lead) + loop) % samplesPerFrame // of the first AAC frame, so that one begins on the stream's own raster
	begin := u.phase + 2*lead                                 // of the unit, in the time of the source
	parts := func(all []span) string {
		return during(u.extended(all), func(s span) string {
			return fmt.Sprintf("gte(t,%.6f)*lt(t,%.6f)", (begin + s.from).Seconds(), (begin + s.to).Seconds())
		})
	}
	signal := "(0.2*sin(2*PI*440*t)+0.1*sin(2*PI*660*t)*(1+sin(2*PI*t)))"
	if len(u.tone) > 0 {
		signal = fmt.Sprintf("if(%s,0.2*sin(2*PI*1000*t),%s)", parts(u.tone), signal)
	}
	if len(u.overloaded) > 0 {
		signal = fmt.Sprintf("if(%s,clip(20*%s,-1,1),%s)", parts(u.overloaded), signal, signal)
	}
	signal += fmt.Sprintf("*(1-0.9*(%s))*not(%s)", parts(u.quiet), parts(u.silent))
	if u.rendition.Stereo {
		signal = fmt.Sprintf("%s|%s*not(%s)", signal, signal, parts(u.leftOnly))
	}
	return fmt.Sprintf("aevalsrc='%s':s=%d,atrim=start_sample=%d:end_sample=%d,asetpts=PTS-STARTPTS+%d",
		signal, sampleRate, samples(u.phase+lead)-early, samples(u.phase+u.length+3*lead)-early, sampleRate-early)
}

// captions returns the captions of a picture: text, or padding.
func (u unit) captions(picture int) []byte {
	for _, s := range u.uncaptioned {
		if n := int64(picture); n >= videoFramesBefore(s.from) && n < videoFramesBefore(s.to) {
			return bitstream.FirstField([2]byte{})
		}
	}
	return bitstream.FirstField(bitstream.CaptionText(picture))
}

// extended lets what begins or ends with the unit begin before it, or end after it.
func (u unit) extended(spans []span) (all []span) {
	for _, s := range spans {
		if s.from == 0 {
			s.from = -lead
		}
		if s.to == u.length {
			s.to += lead
		}
		all = append(all, s)
	}
	return all
}

// during is the expression that is 1 in the spans, and else 0.
func during(spans []span, condition func(span) string) string {
	terms := []string{"0"}
	for _, s := range spans {
		terms = append(terms, condition(s))
	}
	return strings.Join(terms, "+")
}

// videoFramesBefore returns how many video frames begin before at.
func videoFramesBefore(at time.Duration) int64 {
	return int64((at*fps + time.Second - 1) / time.Second)
}

// firstAudioFrame returns the sample at which the first AAC frame begins that is not before at.
func firstAudioFrame(at time.Duration) int64 {
	frames := (int64(at/time.Second)*sampleRate + samplesPerFrame - 1) / samplesPerFrame
	return frames * samplesPerFrame
}
