package detector

import "time"

// Measurement names what can be measured of a segment. A set of them is their sum. Only what
// the detectors of a monitor need is measured.
type Measurement uint32

// The measurements. Each has its field in Measured, but for Renditions.
const (
	Pictures Measurement = 1 << iota // of each key frame: the means of its cells, bars
	Movement                         // of each frame, if every frame is decoded: how it differs from the key frame before
	Sound                            // loudness, full scale, the two channels
	Tone                             // share of a tone of 1 kHz
	Captions                         // in the packets of the picture, or as text in a segment of their own (WebVTT, TTML)
	Damage                           // packets and frames that the decoder calls damaged, gaps between frames

	Renditions // of the other renditions of the stream, at which the watch looks beside its checks: Sample.Renditions
)

// Measured has the measurements of one segment. Times count from its first timestamp.
type Measured struct {
	Pictures []Picture      `json:"pictures,omitempty"` // ascending
	Movement []FrameChange  `json:"movement,omitempty"` // ascending
	Sound    *SoundMeasure  `json:"sound,omitempty"`
	Tone     *ToneMeasure   `json:"tone,omitempty"`
	Captions *CaptionState  `json:"captions,omitempty"`
	Damage   *DamageMeasure `json:"damage,omitempty"`

	// Taken is the set of the measurements that were taken, even if there was nothing to measure. Any
	// other that was asked for is unknown: the command ffmpeg measures for blackout and silence alone.
	Taken Measurement `json:"taken,omitempty"`
}

// Sizes of the digest of a picture.
const (
	DigestWidth  = 64 // cells of the luma
	DigestHeight = 36
	ChromaWidth  = 16 // cells of each chroma
	ChromaHeight = 9
	BarStrips    = 18 // strips of a picture that are searched for colour bars
)

// Picture is a decoded key frame. Of key frames that are less than 0.1 s apart, not every one is measured,
// and of a segment at most 256. It is divided into cells of the same size, whatever the size of
// the picture is, row by row from the top left. Each byte is the mean of a cell, full range.
type Picture struct {
	At     time.Duration `json:"at"`
	Width  int           `json:"width"`  // pixels
	Height int           `json:"height"` // pixels
	Luma   []byte        `json:"luma"`   // DigestWidth × DigestHeight
	U      []byte        `json:"u"`      // ChromaWidth × ChromaHeight; 128: none
	V      []byte        `json:"v"`      // ChromaWidth × ChromaHeight; 128: none
	Bars   int           `json:"bars"`   // strips with the colours of a test pattern in their order, 0 to BarStrips
}

// FrameChange says how a frame differs from the key frame before it, in 32 by 18 blocks of luma: of 8 by
// 8 pixels at 256x144. The difference of a block is the mean of the absolute differences of its pixels,
// in levels of the full range, 0 to 255.
type FrameChange struct {
	At    time.Duration `json:"at"`
	Mean  float64       `json:"mean"`  // of all blocks
	Block float64       `json:"block"` // of the block that differs most
	Ratio float64       `json:"ratio"` // Block to the median of all blocks, which counts as at least 1
}

// SoundMeasure describes the sound of a segment as a whole. Of a screened track only the first 2 s of every 4
// are measured.
type SoundMeasure struct {
	Channels int `json:"channels"`

	// Loudness by ITU-R BS.1770 of the blocks of 100 ms that are at least GateLUFS loud, and how long
	// those are in all. Without any, Loudness is MinLoudness.
	Loudness float64       `json:"loudness"`
	Loud     time.Duration `json:"loud"`

	// FullScale is the share of the windows of 100 ms with a sample of at least 0.999, of 1. It is -1
	// if the decoder returns whole numbers, which cut what is beyond full scale.
	FullScale float64 `json:"full_scale"`

	// Of two channels. Levels are RMS in dBFS, at least MinLoudness. Correlation is -1 to 1, and 0
	// if a channel is digital silence.
	Left        float64 `json:"left"`
	Right       float64 `json:"right"`
	Correlation float64 `json:"correlation"`
}

// Limits of a SoundMeasure.
const (
	GateLUFS    = -50.0
	MinLoudness = -120.0
)

// ToneMeasure says how much of the sound of a segment is a tone of 1 kHz.
type ToneMeasure struct {
	Share  float64 `json:"share"`  // of the blocks of 85 ms: more than 95 % of the energy lie within 40 Hz of a peak at 1000 ± 15 Hz
	Blocks int     `json:"blocks"` // that were looked at
}

// CaptionState says which captions a segment carries: CEA-608/708 in the packets of its picture, or WebVTT or TTML.
type CaptionState string

// The states of captions.
const (
	NoCaptions    CaptionState = "none"  // there are none
	EmptyCaptions CaptionState = "empty" // without a character
	CaptionText   CaptionState = "text"
)

// DamageMeasure has the damaged parts of the picture of a segment. They last from a damaged packet or
// frame to the next key frame, and for as long as frames are missing.
type DamageMeasure struct {
	Intervals []Interval `json:"intervals,omitempty"` // ascending, apart
	Packets   int        `json:"packets,omitempty"`   // that the demuxer calls corrupt
	Frames    int        `json:"frames,omitempty"`    // that the decoder calls damaged
	Missing   int        `json:"missing,omitempty"`   // by the gaps between timestamps; 0 if not every frame was decoded
}
