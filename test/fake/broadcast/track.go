package broadcast

import (
	"slices"
	"sort"
	"time"
)

// track is the media of one playlist, including its history.
type track struct {
	itag             int
	video            Video // of its first segment
	audio            Audio
	extension        string
	timescale, first int64 // DASH
	segments         []segment
}

// segment is a segment of a track. Its index is its media sequence number.
type segment struct {
	connection int           // number of the encoder's connection, from 0
	at         time.Duration // since the recording's first frame, with the reconnect gap
	duration   time.Duration
	ticks      int64 // DASH: duration, in the track's timescale
	gap        bool
	init       *extent
	dir        string
	pieces     []piece // more than one if there are parts
}

// piece is one of ffmpeg's segments. It is a part of a segment here, or all of it.
type piece struct {
	item
	dir   string
	shift int64 // added to the MPEG-TS timestamps
}

func (s segment) end() time.Duration { return s.at + s.duration }

// published returns how many segments are published after some time.
func (t *track) published(elapsed time.Duration) int {
	return sort.Search(len(t.segments), func(i int) bool { return t.segments[i].end() > elapsed })
}

// buildTracks joins the packages of the encoder's connections.
func buildTracks(s Shape, parts []packagedPart) []track {
	tracks := make([]track, len(parts[0].listings))
	for n := range tracks {
		t := &tracks[n]
		t.setNames(s, n)
		t.timescale, t.first = parts[0].listings[n].timescale, parts[0].listings[n].first
		var at time.Duration
		for connection, p := range parts {
			if connection > 0 {
				at = s.Reconnect + s.ReconnectGap // the same in every track, although their segments end at different times
			}
			list := p.listings[n]
			for items := range slices.Chunk(list.items, s.piecesPerSegment()) {
				seg := segment{connection: connection, at: at, init: list.init, dir: p.dir}
				for _, it := range items {
					seg.duration += it.duration
					seg.ticks += it.ticks
					seg.pieces = append(seg.pieces, piece{item: it, dir: p.dir})
				}
				at = seg.end()
				t.segments = append(t.segments, seg)
			}
		}
		for i, seg := range t.segments {
			t.segments[i].gap = slices.ContainsFunc(s.Gaps, func(at time.Duration) bool { return seg.at <= at && at < seg.end() })
		}
		t.segments = append(t.history(s.History), t.segments...)
	}
	return tracks
}

// piecesPerSegment returns how many of ffmpeg's segments make one segment here.
func (s Shape) piecesPerSegment() int {
	if s.Parts {
		return int(s.Segment / part)
	}
	return 1
}

// setNames sets the codecs, the itag (YouTube's numbers) and the extension of track n.
func (t *track) setNames(s Shape, n int) {
	t.video, t.audio, t.itag = s.Video, s.Audio, 91
	switch {
	case s.Demuxed && n == 0:
		t.audio, t.itag = NoAudio, 269
	case s.Demuxed:
		t.video, t.itag = NoVideo, 234
	}
	switch {
	case s.Container == FMP4:
		t.extension = ".m4s"
	case s.Container == Packed && t.video == NoVideo:
		t.extension = "." + string(t.audio)
	default:
		t.extension = ".ts"
	}
}

// history repeats the uneventful beginning before the recording, with timestamps that
// run on. Continuity counters jump between repetitions, as at a splice.
func (t *track) history(length time.Duration) (older []segment) {
	var repeated []segment
	for _, s := range t.segments {
		if s.end() <= uneventful {
			repeated = append(repeated, s)
		}
	}
	rounds := int((length + uneventful - 1) / uneventful)
	for round := -rounds; round < 0; round++ {
		for _, s := range repeated {
			s.at += time.Duration(round) * uneventful
			s.pieces = slices.Clone(s.pieces)
			for i := range s.pieces {
				s.pieces[i].shift = int64(time.Duration(round)*uneventful/time.Second) * clockRate
			}
			older = append(older, s)
		}
	}
	return older
}
