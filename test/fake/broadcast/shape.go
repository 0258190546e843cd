package broadcast

import (
	"errors"
	"fmt"
	"time"
)

// Shape is the format of a broadcast. Its zero value is HLS with a master playlist, and
// H.264 and AAC-LC in MPEG-TS segments of 2 s, of which six are listed.
type Shape struct {
	Video   Video // NoVideo and NoAudio both: H264 and AAC
	Audio   Audio
	Demuxed bool          // video and audio in separate playlists (HLS) or adaptation sets (DASH)
	Segment time.Duration // whole seconds, default 2 s; with Parts each part is one second
	Window  int           // segments listed, default 6

	Container  Container // of HLS; DASH is always MP4
	SingleFile bool      // segments are byte ranges of one file
	Keys       Keys      // AES-128

	MediaEntry  bool              // the entry is a media playlist, not a master
	ProgramTime DateTimePlacement // where EXT-X-PROGRAM-DATE-TIME is
	History     time.Duration     // length of the media listed before the recording; MPEG-TS only
	Parts       bool              // low latency: EXT-X-PART, EXT-X-PRELOAD-HINT, EXT-X-RENDITION-REPORT
	Delta       bool              // EXT-X-SKIP in every playlist, requested or not
	Gaps        []time.Duration   // the segments that show these instants of the recording are missing: EXT-X-GAP

	Reconnect       time.Duration // when the encoder reconnects, with timestamps from zero: a multiple of Segment; 0: never
	ReconnectVideo  Video         // its codec after the reconnection; default: the same
	ReconnectGap    time.Duration // how long it was disconnected
	NoDiscontinuity bool          // the playlist has no EXT-X-DISCONTINUITY for it

	MPD  Addressing // DASH instead of HLS
	Ends EndSignal  // of DASH
}

// Container is the container of HLS segments.
type Container string

// The containers.
const (
	MPEGTS Container = ""       // .ts
	FMP4   Container = "fmp4"   // .m4s, with EXT-X-MAP
	Packed Container = "packed" // video in MPEG-TS, audio as ADTS or MP3 frames after an ID3 timestamp
)

// Keys selects the encryption.
type Keys string

// The kinds of encryption.
const (
	Clear    Keys = ""
	ByFFmpeg Keys = "ffmpeg"   // MPEG-TS: one key, as ffmpeg's hls muxer does it
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

// EndSignal selects how an MPD says that the stream has ended.
type EndSignal string

// The ends of an MPD.
const (
	Static   EndSignal = ""         // type="static"
	Duration EndSignal = "duration" // type="dynamic" with mediaPresentationDuration and without minimumUpdatePeriod
)

const (
	defaultSegment = 2 * time.Second
	defaultWindow  = 6
	part           = time.Second
)

func (s *Shape) applyDefaults() error {
	if s.Video == NoVideo && s.Audio == NoAudio {
		s.Video, s.Audio = H264, AAC
	}
	if s.Segment == 0 {
		s.Segment = defaultSegment
	}
	if s.Window == 0 {
		s.Window = defaultWindow
	}
	if s.ReconnectVideo == NoVideo {
		s.ReconnectVideo = s.Video
	}
	if s.Delta || s.Parts {
		s.ProgramTime = DateTimePerSegment // a delta update leaves out the first entry, and its time with it
	}
	if s.MPD != HLS {
		s.Container = FMP4
	}
	return s.validate()
}

func (s *Shape) validate() error {
	singleTrack := s.Video == NoVideo || s.Audio == NoAudio
	switch {
	case s.Segment%time.Second != 0 || s.Segment <= 0 || s.Window < 3:
		return fmt.Errorf("broadcast: a window of %[2]d segments of %[1]v; at least 3 of whole seconds are needed", s.Segment, s.Window)
	case s.Demuxed && singleTrack, s.Container == Packed && !s.Demuxed && s.Video != NoVideo:
		return errors.New("broadcast: demuxing needs two tracks, and packed audio needs demuxing")
	case s.Container == Packed && s.Audio != AAC && s.Audio != MP3, s.Container != FMP4 && (s.Audio == HEAAC || s.Audio == Opus):
		return fmt.Errorf("broadcast: this container cannot have %s", s.Audio)
	case s.Keys == ByFFmpeg && s.Container != MPEGTS, s.Keys != Clear && s.SingleFile, s.MPD != HLS && (s.Keys != Clear || s.SingleFile):
		return errors.New("broadcast: this shape cannot be encrypted that way")
	case s.History > 0 && (s.Container != MPEGTS || s.Keys != Clear || s.Parts || s.SingleFile || s.Video == HEVC):
		return errors.New("broadcast: this shape cannot have a history")
	case s.Reconnect%s.Segment != 0 || s.Reconnect < 0 || s.Reconnect >= Program.End, s.Reconnect > 0 && s.MPD != HLS:
		return fmt.Errorf("broadcast: this shape cannot reconnect at %v", s.Reconnect)
	}
	return nil
}
