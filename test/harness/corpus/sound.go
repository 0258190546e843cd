package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// SampleRate is the sample rate of every clip, in hertz. There are two channels.
const SampleRate = 48000

// Sound describes a sound: a source and filters. Each method returns a copy with
// another filter.
type Sound struct {
	source  string // chains of filters that end in mono
	stereo  string // the filter from mono to two channels
	filters []string
}

const (
	bothSides = "pan=stereo|c0=c0|c1=0.8*c0"
	oneSide   = "pan=stereo|c0=c0|c1=0*c0"
)

// music is a chord that swells, at about −20 dBFS.
func music() Sound {
	return Sound{source: fmt.Sprintf(
		"sine=f=220:r=%[1]d[s1];sine=f=277.2:r=%[1]d[s2];sine=f=329.6:r=%[1]d[s3];[s1][s2][s3]amix=inputs=3,tremolo=f=0.7:d=0.5,volume=6dB", SampleRate), stereo: bothSides}
}

// speech is a voice: bursts of noise in the range of speech, four syllables a
// second, with a pause in each part.
func speech(pauses ...[2]float64) Sound {
	s := Sound{source: fmt.Sprintf(
		"anoisesrc=c=pink:a=0.5:r=%d:seed=11,bandpass=f=700:width_type=o:w=2,volume=9dB", SampleRate), stereo: bothSides}
	return s.withFilter("volume='0.15+0.85*abs(sin(PI*4*t))':eval=frame").muted(pauses...)
}

// tone is a test tone with peaks at −20 dBFS.
func tone() Sound {
	return Sound{source: fmt.Sprintf("sine=f=997:r=%d,volume=-1.94dB", SampleRate), stereo: "pan=stereo|c0=c0|c1=c0"}
}

// hiss is the white noise of an input without a microphone. db is the level of its
// peaks in dBFS; its RMS is 5 dB below.
func hiss(db float64) Sound {
	return Sound{source: fmt.Sprintf("anoisesrc=c=white:a=1:r=%d:seed=5,volume=%gdB", SampleRate, db), stereo: bothSides}
}

// withFilter adds a filter. Filters get blocks of one millisecond, so that they switch with
// that precision.
func (s Sound) withFilter(format string, args ...any) Sound {
	s.filters = append(slices.Clip(s.filters), fmt.Sprintf(format, args...))
	return s
}

// muted makes each part digital silence.
func (s Sound) muted(parts ...[2]float64) Sound {
	return s.withFilter("volume=0:enable='%s'", during(0.0005, parts...))
}

// mixedWith adds another sound.
func (s Sound) mixedWith(other Sound) Sound {
	return Sound{source: s.monoGraph("over") + "[over];" + other.monoGraph("under") + "[under];[over][under]amix=inputs=2:normalize=0", stereo: s.stereo}
}

// faded fades out within d seconds from out on, and back from back on, both
// linearly.
func (s Sound) faded(out, back, d float64) Sound {
	middle := (out + back) / 2
	return s.withFilter("afade=t=out:st=%g:d=%g:enable='lt(t,%g)'", out, d, middle).
		withFilter("afade=t=in:st=%g:d=%g:enable='gte(t,%g)'", back, d, middle)
}

// leftOnly silences the right channel.
func (s Sound) leftOnly() Sound { s.stereo = oneSide; return s }

// monoGraph returns the filter graph up to mono. name makes its labels unique.
func (s Sound) monoGraph(name string) string {
	source := s.source
	for _, label := range []string{"s1", "s2", "s3"} {
		source = strings.ReplaceAll(source, "["+label+"]", "["+label+name+"]")
	}
	return strings.Join(append([]string{source, fmt.Sprintf("asetnsamples=n=%d:p=0", SampleRate/1000)}, s.filters...), ",")
}

// filterGraph returns ffmpeg's filter graph, without a label for its output. Its last
// filter makes blocks of the encoder's frame size. ffmpeg 5.1 pads a smaller
// first block with zeros, which would delay all sound.
func (s Sound) filterGraph() string {
	return s.monoGraph("") + "," + s.stereo + ",asetnsamples=n=1024:p=0"
}
