package livestream

import (
	"fmt"
	"math"
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
}

// Entry is one segment of a playlist.
type Entry struct {
	Sequence      uint64
	Duration      time.Duration
	ProgramTime   time.Time // of its first frame; zero: not stated
	Discontinuity bool      // a new timeline of timestamps begins here
}

// Text returns the playlist as M3U8; uri names each segment. Like YouTube it states the
// program time only before the first entry and after a discontinuity.
func (p Playlist) Text(uri func(Entry) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:%d\n", int(math.Ceil(p.Target.Seconds())))
	fmt.Fprintf(&b, "#EXT-X-MEDIA-SEQUENCE:%d\n", p.First)
	fmt.Fprintf(&b, "#EXT-X-DISCONTINUITY-SEQUENCE:%d\n", p.DiscontinuityNumber)
	for i, e := range p.Entries {
		if e.Discontinuity {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
		}
		if !e.ProgramTime.IsZero() && (i == 0 || e.Discontinuity) {
			fmt.Fprintf(&b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", e.ProgramTime.UTC().Format("2006-01-02T15:04:05.000-07:00"))
		}
		fmt.Fprintf(&b, "#EXTINF:%.3f,\n%s\n", e.Duration.Seconds(), uri(e))
	}
	if p.Ended {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return b.String()
}

// MasterText returns the master playlist of renditions; uri names the media
// playlist of each. Audio renditions are listed as EXT-X-MEDIA.
func MasterText(renditions []Rendition, uri func(Rendition) string) string {
	const group = "234"
	var b strings.Builder
	b.WriteString("#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n")
	demuxed := false
	for _, r := range renditions {
		if !r.HasVideo() {
			demuxed = true
			fmt.Fprintf(&b, "#EXT-X-MEDIA:URI=%q,TYPE=AUDIO,GROUP-ID=%q,NAME=\"Default\",DEFAULT=YES,AUTOSELECT=YES\n", uri(r), group)
		}
	}
	for _, r := range renditions {
		if !r.HasVideo() {
			continue
		}
		codecs, extra := "avc1.4D401F,mp4a.40.2", ""
		if !r.HasAudio() {
			codecs = "avc1.4D401F"
			if demuxed {
				codecs, extra = "avc1.4D401F,mp4a.40.2", fmt.Sprintf(",AUDIO=%q", group)
			}
		}
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,CODECS=%q,RESOLUTION=%dx%d,FRAME-RATE=%d,VIDEO-RANGE=SDR,CLOSED-CAPTIONS=NONE%s\n%s\n",
			r.Bandwidth, codecs, r.Width, r.Height, fps, extra, uri(r))
	}
	return b.String()
}
