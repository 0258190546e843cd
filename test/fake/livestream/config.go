package livestream

import "time"

// Config configures a stream. Every field has a default.
type Config struct {
	Start      time.Time     // of the first frame; default now
	Waits      bool          // it starts with the first request or edit, so that a viewer misses nothing
	Preroll    time.Duration // media before Start, so that the playlist is full at once
	Segment    time.Duration // whole seconds, at most 20 s; default 2 s
	Window     time.Duration // media listed in a playlist, default 30 s
	Renditions []Rendition   // default Muxed144p and Muxed360p
	Script     []Cue         // cues known beforehand
	Packaging  Packaging     // default as YouTube: HLS with MPEG-TS segments

	Now func() time.Time // the clock; default time.Now
}

// Packaging is how the media of a stream are packaged.
type Packaging struct {
	Container  Container
	SingleFile bool // segments are byte ranges of one file
	Keys       Keys // AES-128, of MPEG-TS in files of its own

	MediaEntry  bool              // the entry is a media playlist, not a master
	ProgramTime DateTimePlacement // where EXT-X-PROGRAM-DATE-TIME is
	Gaps        []time.Duration   // the segments that show these instants are missing: EXT-X-GAP

	Reconnect       time.Duration // when the encoder reconnects, with timestamps from zero: a multiple of Segment, HLS; 0: never
	ReconnectGap    time.Duration // how long it is disconnected
	NoDiscontinuity bool          // the playlist has no EXT-X-DISCONTINUITY for it

	DASH         Addressing // an MPD instead of HLS
	EndsInMotion bool       // the last MPD is still dynamic and states the duration, instead of being static
}

// Container is the container of segments.
type Container string

// The containers.
const (
	MPEGTS Container = ""       // .ts
	FMP4   Container = "fmp4"   // .m4s, with EXT-X-MAP; always that of DASH
	Packed Container = "packed" // video in MPEG-TS; audio alone as ADTS frames after an ID3 timestamp
)

// Keys selects the encryption.
type Keys string

// The kinds of encryption.
const (
	Clear    Keys = ""
	OneKey   Keys = "one"      // the IV of a segment is its sequence number
	Rotating Keys = "rotating" // a new key every three segments; every second IV is stated, the others are the sequence number
)

// DateTimePlacement says which entries have an EXT-X-PROGRAM-DATE-TIME.
type DateTimePlacement string

// The placements of EXT-X-PROGRAM-DATE-TIME.
const (
	DateTimeAtStart    DateTimePlacement = ""      // before the first entry and after a discontinuity, as YouTube does it
	DateTimePerSegment DateTimePlacement = "every" // before each entry
	NoDateTime         DateTimePlacement = "none"
)

// Addressing selects how an MPD addresses segments.
type Addressing string

// The kinds of addressing. HLS means that there is no MPD.
const (
	HLS          Addressing = ""
	TimelineTime Addressing = "timeline-time"   // SegmentTimeline, $Time$
	Timeline     Addressing = "timeline-number" // SegmentTimeline, $Number$
	Number       Addressing = "number"          // duration, $Number$
)

func (c *Config) applyDefaults() {
	if c.Segment == 0 {
		c.Segment = 2 * time.Second
	}
	if c.Window == 0 {
		c.Window = 30 * time.Second
	}
	if c.Renditions == nil {
		c.Renditions = []Rendition{Muxed144p, Muxed360p}
	}
	if c.Packaging.DASH != HLS {
		c.Packaging.Container = FMP4
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}
