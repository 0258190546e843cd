package broadcast

import (
	"slices"
	"sort"
	"time"
)

// track is the media of one playlist, history included.
type track struct {
	itag             int
	video            Video // of its first segment
	audio            Audio
	extension        string
	timescale, first int64 // DASH
	segments         []segment
}

// segment is one of a track's. Its media sequence number is its index.
type segment struct {
	chapter  int           // counts the encoder's connections
	at       time.Duration // since the recording's first frame, absences included
	duration time.Duration
	ticks    int64 // DASH: duration, in the track's timescale
	gap      bool
	init     *extent
	dir      string
	pieces   []piece // more than one if there are parts
}

// piece is what ffmpeg calls a segment.
type piece struct {
	item
	dir   string
	shift int64 // to be added to MPEG-TS timestamps
}

func (s segment) end() time.Duration { return s.at + s.duration }

// out is how many segments have been on the air after some time.
func (t *track) out(elapsed time.Duration) int {
	return sort.Search(len(t.segments), func(i int) bool { return t.segments[i].end() > elapsed })
}

// lay puts the packages one after the other.
func lay(s Shape, packs []pack) []track {
	tracks := make([]track, len(packs[0].listings))
	for n := range tracks {
		t := &tracks[n]
		t.name(s, n)
		t.timescale, t.first = packs[0].listings[n].timescale, packs[0].listings[n].first
		var at time.Duration
		for chapter, p := range packs {
			if chapter > 0 {
				at = s.Reconnect + s.Away // in every track, however its last segment ended
			}
			list := p.listings[n]
			for items := range slices.Chunk(list.items, s.partsOf()) {
				seg := segment{chapter: chapter, at: at, init: list.init, dir: p.dir}
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

// partsOf is how many of ffmpeg's segments make one of ours.
func (s Shape) partsOf() int {
	if s.Parts {
		return int(s.Segment / part)
	}
	return 1
}

// name gives track n its numbers, those of YouTube for such things.
func (t *track) name(s Shape, n int) {
	t.video, t.audio, t.itag = s.Video, s.Audio, 91
	switch {
	case s.Apart && n == 0:
		t.audio, t.itag = NoAudio, 269
	case s.Apart:
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

// history is the calm beginning again and again, before the recording's own,
// each time with the timestamps of its place. Continuity counters jump where one
// round follows another, as at a splice.
func (t *track) history(length time.Duration) (older []segment) {
	var loop []segment
	for _, s := range t.segments {
		if s.end() <= calm {
			loop = append(loop, s)
		}
	}
	rounds := int((length + calm - 1) / calm)
	for round := -rounds; round < 0; round++ {
		for _, s := range loop {
			s.at += time.Duration(round) * calm
			s.pieces = slices.Clone(s.pieces)
			for i := range s.pieces {
				s.pieces[i].shift = int64(time.Duration(round)*calm/time.Second) * clockRate
			}
			older = append(older, s)
		}
	}
	return older
}
