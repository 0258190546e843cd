package livestream

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// Playlist is a rendition's media playlist at one moment.
type Playlist struct {
	Target              time.Duration
	First               uint64 // media sequence number of the first entry
	DiscontinuityNumber int    // EXT-X-DISCONTINUITY-SEQUENCE
	Entries             []Entry
	Ended               bool // EXT-X-ENDLIST

	version int // of HLS, default 3
}

// Entry is one segment of a playlist.
type Entry struct {
	Sequence    uint64
	Duration    time.Duration
	ProgramTime time.Time // of its first frame; zero: not stated

	Discontinuity bool // EXT-X-DISCONTINUITY is before it

	name   string // of its file
	before string // tags before its own
	after  string // tags after EXTINF
}

// Text returns the playlist as M3U8; uri names each segment.
func (p Playlist) Text(uri func(Entry) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:%d\n#EXT-X-TARGETDURATION:%d\n", cmp.Or(p.version, 3), int(p.Target.Seconds()))
	fmt.Fprintf(&b, "#EXT-X-MEDIA-SEQUENCE:%d\n#EXT-X-DISCONTINUITY-SEQUENCE:%d\n", p.First, p.DiscontinuityNumber)
	for _, e := range p.Entries {
		if e.Discontinuity {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
		}
		b.WriteString(e.before)
		if !e.ProgramTime.IsZero() {
			fmt.Fprintf(&b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", e.ProgramTime.UTC().Format("2006-01-02T15:04:05.000-07:00"))
		}
		fmt.Fprintf(&b, "#EXTINF:%.6f,\n%s%s\n", e.Duration.Seconds(), e.after, uri(e))
	}
	if p.Ended {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return b.String()
}

// Playlist returns the current playlist of the rendition with itag. Its error is
// ErrNotFound.
func (s *Stream) Playlist(itag int) (Playlist, error) { return s.playlist(context.Background(), itag) }

func (s *Stream) playlist(ctx context.Context, itag int) (Playlist, error) {
	r, err := s.rendition(itag)
	if err != nil {
		return Playlist{}, err
	}
	at, packaging := s.offset(), s.config.Packaging
	first, end := s.window(itag, at)
	_, ended := s.timeline.of(itag).edge(at)
	p := Playlist{Target: s.config.Segment, First: uint64(first), Ended: ended}
	if packaging.Container != MPEGTS || packaging.SingleFile || packaging.Gaps != nil {
		p.version = 8
	}
	if first > 0 && s.reconnected(first-1) && !packaging.NoDiscontinuity {
		p.DiscontinuityNumber = 1
	}
	var ends []int64 // of the segments in the single file
	if packaging.SingleFile {
		if _, ends, err = s.file(ctx, r); err != nil {
			return Playlist{}, err
		}
		end = min(end, int64(len(ends)-1))
	}
	for n := first; n < end; n++ {
		e := s.entry(n, n == first, r)
		if packaging.SingleFile {
			e.name, e.after = fileName(r, packaging), fmt.Sprintf("#EXT-X-BYTERANGE:%d@%d\n", ends[n+1]-ends[n], ends[n])
			if n == first && packaging.Container == FMP4 {
				e.before = fmt.Sprintf("#EXT-X-MAP:URI=%q,BYTERANGE=\"%d@0\"\n", e.name, ends[0]) + e.before
			}
		}
		p.Entries = append(p.Entries, e)
	}
	return p, nil
}

// window returns the numbers of the listed segments of a rendition: from first to before end.
func (s *Stream) window(itag int, at time.Duration) (first, end int64) {
	end = s.published(itag, at)
	return max(0, end-int64(s.config.Window/s.config.Segment)), end
}

// entry returns segment n of a playlist. The first entry repeats what those before it have said.
func (s *Stream) entry(n int64, first bool, r Rendition) Entry {
	p := s.config.Packaging
	e := Entry{Sequence: uint64(n), Duration: s.config.Segment, name: segmentName(n, r, p)}
	var before strings.Builder
	reconnects := n > 0 && s.reconnected(n) && !s.reconnected(n-1)
	e.Discontinuity = reconnects && !p.NoDiscontinuity
	if k := s.key(n); k != nil && (first || s.key(n-1).number != k.number) {
		fmt.Fprintf(&before, "#EXT-X-KEY:METHOD=AES-128,URI=\"key-%d.bin\"", k.number)
		if k.explicitIV {
			fmt.Fprintf(&before, ",IV=0x%x", k.iv)
		}
		before.WriteString("\n")
	}
	if p.Container == FMP4 && !p.SingleFile && (first || e.Discontinuity) {
		fmt.Fprintf(&before, "#EXT-X-MAP:URI=%q\n", initName)
	}
	if s.isGap(n) {
		before.WriteString("#EXT-X-GAP\n")
	}
	e.before = before.String()
	if p.ProgramTime == DateTimePerSegment || p.ProgramTime == DateTimeAtStart && (first || e.Discontinuity) {
		e.ProgramTime = s.At(s.begin(n))
	}
	return e
}

// MasterText returns the master playlist of renditions; uri names the media
// playlist of each. Audio renditions beside others, and captions as text, are listed as EXT-X-MEDIA.
func MasterText(renditions []Rendition, uri func(Rendition) string) string {
	const group, subtitles = "234", "386"
	var b strings.Builder
	b.WriteString("#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n")
	demuxed, texts := false, ""
	for _, r := range renditions {
		switch {
		case r.isText():
			texts = fmt.Sprintf(",SUBTITLES=%q", subtitles)
			fmt.Fprintf(&b, "#EXT-X-MEDIA:URI=%q,TYPE=SUBTITLES,GROUP-ID=%q,NAME=\"English\",LANGUAGE=\"en\",DEFAULT=YES,AUTOSELECT=YES\n", uri(r), subtitles)
		case !r.HasVideo() && len(renditions) > 1:
			demuxed = true
			fmt.Fprintf(&b, "#EXT-X-MEDIA:URI=%q,TYPE=AUDIO,GROUP-ID=%q,NAME=\"Default\",DEFAULT=YES,AUTOSELECT=YES\n", uri(r), group)
		}
	}
	for _, r := range renditions {
		if r.isText() || demuxed && !r.HasVideo() {
			continue
		}
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,CODECS=%q", r.Bandwidth, codecs(r.HasVideo(), r.HasAudio() || demuxed))
		if r.HasVideo() {
			fmt.Fprintf(&b, ",RESOLUTION=%dx%d,FRAME-RATE=%d,VIDEO-RANGE=SDR,CLOSED-CAPTIONS=NONE", r.Width, r.Height, fps)
		}
		if demuxed && !r.HasAudio() {
			fmt.Fprintf(&b, ",AUDIO=%q", group)
		}
		fmt.Fprintf(&b, "%s\n%s\n", texts, uri(r))
	}
	return b.String()
}

// codecs returns the codecs of tracks (RFC 6381).
func codecs(video, audio bool) string {
	switch {
	case video && audio:
		return "avc1.4D401F,mp4a.40.2"
	case video:
		return "avc1.4D401F"
	}
	return "mp4a.40.2"
}
