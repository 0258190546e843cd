package decoder

import (
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// ErrUnusual means that the decoder works but leaves the segment to the command ffmpeg.
var ErrUnusual = errors.New("left to the command ffmpeg")

// Container is the format of a segment.
type Container uint32

// The containers.
const (
	MPEGTS Container = iota
	MP4
	ADTS
	MP3
	Ogg
)

// MaxMedia limits the bytes that a decoder takes. Larger segments are for the command.
const MaxMedia = 8 << 20

// Job is a segment to decode, what counts as bad in it, and what to measure.
type Job struct {
	Media     []byte // the init section, if any, and the segment; at most MaxMedia bytes
	Container Container
	Video     Look
	Audio     Look
	MaxPixels int64

	BlackPixel   float64       // luma of a black pixel, at most, of its range from 0 to 1
	BlackPart    float64       // part of the picture that must be black, from 0 to 1
	Silent       float64       // amplitude below which a sample is silent; 1 is full scale
	SilenceAfter time.Duration // silence that is shorter has no records

	Measure detector.Measurement
}

// Look says how much of a track is decoded.
type Look uint32

// The looks.
const (
	Whole   Look = iota // every frame
	Screen              // key frames of the picture; of the sound, some frames of each second
	Nothing             // no frame; the track has no records
)

// Result holds the records of a decoded segment. A track with records is announced.
type Result struct {
	VideoAnnounced, AudioAnnounced bool
	AudioScreened                  bool // false: the sound was decoded whole, whatever the Job says
	Damaged                        bool // the demuxer or a decoder complained
	Video, Audio                   []Record

	// Measurements that the Job's Measure asks for. A track without a decoded frame has no measurements.
	Pictures []detector.Picture     // of key frames, at least 0.1 s apart, at most 256; ascending
	Movement []detector.FrameChange // of a picture that was decoded Whole; ascending
	Sound    *detector.SoundMeasure // of a screened sound: the first 2 s of every 4; nil: of more than 8 channels
	Tone     *detector.ToneMeasure
	Captions detector.CaptionState
}

// Record is one thing that the decoder saw. Those of a track are in the order in which its
// frames were decoded.
type Record struct {
	At    time.Duration // after the first timestamp of the segment
	Kind  Kind
	Value float64 // of a Measurement: luma from 0 to 255, or level in dBFS, -Inf for digital silence
}

// Kind says what a record is about.
type Kind uint32

// The kinds. Records of the other kinds follow that of their frame.
const (
	Frame         Kind = iota // a frame was decoded; of screened sound: a moment at which it is loud
	Begins                    // a bad interval begins
	Ends                      // the bad interval ends; one that does not end lasts until the end of the track
	Measurement               // the frame before was measured
	KeyFrame                  // the frame before is a key frame; this and the rest only if damage is measured
	DamagedFrame              // the decoder calls the frame before damaged
	DamagedPacket             // the demuxer calls a packet of that time corrupt
)
