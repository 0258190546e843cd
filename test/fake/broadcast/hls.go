package broadcast

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// window returns the listed segments: from (inclusive) to to (exclusive).
func (b *Broadcast) window(t *track, elapsed time.Duration) (from, to int) {
	to = t.published(elapsed)
	window := b.shape.Window
	if b.shape.History > 0 {
		window = int(b.shape.History / b.shape.Segment)
	}
	return max(0, to-window), to
}

// playlist is a media playlist while it is being written.
type playlist struct {
	strings.Builder
	b        *Broadcast
	t        *track
	from, to int
	elapsed  time.Duration
}

// playlistText returns the current media playlist of a track.
func (b *Broadcast) playlistText(t *track) string {
	p := &playlist{b: b, t: t, elapsed: b.elapsed()}
	p.from, p.to = b.window(t, p.elapsed)
	p.header()
	skipped := 0
	if b.shape.Delta {
		skipped = max(0, p.to-p.from-skipUntil)
	}
	if skipped > 0 {
		fmt.Fprintf(p, "#EXT-X-SKIP:SKIPPED-SEGMENTS=%d\n", skipped)
	}
	for n := p.from + skipped; n < p.to; n++ {
		p.entry(n, n == p.from+skipped)
	}
	ended := b.ended()
	if b.shape.Parts && !ended {
		p.liveEdge()
	}
	if ended {
		p.WriteString("#EXT-X-ENDLIST\n")
	}
	return p.String()
}

// skipUntil is how many of the newest entries a delta update lists.
const skipUntil = 6

func (p *playlist) header() {
	s := p.b.shape
	version := 3
	switch {
	case s.Delta || s.Parts:
		version = 9
	case len(s.Gaps) > 0:
		version = 8
	case s.Container == FMP4:
		version = 7
	case s.SingleFile:
		version = 4
	}
	target := s.Segment.Seconds()
	for _, seg := range p.t.segments {
		target = max(target, math.Round(seg.duration.Seconds()))
	}
	fmt.Fprintf(p, "#EXTM3U\n#EXT-X-VERSION:%d\n#EXT-X-TARGETDURATION:%.0f\n", version, target)
	if s.Parts {
		fmt.Fprintf(p, "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=%.1f", 3*part.Seconds())
		if s.Delta {
			fmt.Fprintf(p, ",CAN-SKIP-UNTIL=%.1f", skipUntil*target)
		}
		fmt.Fprintf(p, "\n#EXT-X-PART-INF:PART-TARGET=%.3f\n", p.partTarget())
	} else if s.Delta {
		fmt.Fprintf(p, "#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=%.1f\n", skipUntil*target)
	}
	fmt.Fprintf(p, "#EXT-X-MEDIA-SEQUENCE:%d\n", p.from)
	if s.Reconnect > 0 && !s.NoDiscontinuity && p.to > p.from {
		removed := p.t.segments[p.from].connection
		if p.isReconnection(p.from) {
			removed-- // its tag is still listed
		}
		fmt.Fprintf(p, "#EXT-X-DISCONTINUITY-SEQUENCE:%d\n", removed)
	}
}

// isReconnection reports whether segment n is the first of another connection.
func (p *playlist) isReconnection(n int) bool {
	return n > 0 && n < len(p.t.segments) && p.t.segments[n].connection != p.t.segments[n-1].connection
}

// entry writes segment n.
func (p *playlist) entry(n int, first bool) {
	seg, s := p.t.segments[n], p.b.shape
	discontinuity := p.isReconnection(n) && !s.NoDiscontinuity
	if discontinuity {
		p.WriteString("#EXT-X-DISCONTINUITY\n")
	}
	key := p.b.key(p.t, n)
	newKey := key != nil && (first || p.b.key(p.t, n-1).number != key.number)
	if newKey {
		fmt.Fprintf(p, "#EXT-X-KEY:METHOD=AES-128,URI=%q", key.name())
		if key.explicitIV {
			fmt.Fprintf(p, ",IV=0x%x", key.iv)
		}
		p.WriteString("\n")
	}
	if seg.init != nil && (first || p.isReconnection(n) || newKey) {
		fmt.Fprintf(p, "#EXT-X-MAP:URI=%q", p.initName(seg, key))
		if s.SingleFile {
			fmt.Fprintf(p, ",BYTERANGE=\"%d@%d\"", seg.init.length, seg.init.offset)
		}
		p.WriteString("\n")
	}
	if s.ProgramTime == DateTimePerSegment || s.ProgramTime == DateTimeAtStart && (first || discontinuity || s.ReconnectGap > 0 && p.isReconnection(n)) {
		fmt.Fprintf(p, "#EXT-X-PROGRAM-DATE-TIME:%s\n", p.b.start().Add(seg.at).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if s.Parts && n >= p.to-3 {
		p.parts(n, len(seg.pieces))
	}
	if seg.gap {
		p.WriteString("#EXT-X-GAP\n")
	}
	fmt.Fprintf(p, "#EXTINF:%.6f,\n", seg.duration.Seconds())
	if s.SingleFile {
		fmt.Fprintf(p, "#EXT-X-BYTERANGE:%d@%d\n%s\n", seg.pieces[0].length, seg.pieces[0].offset, p.t.fileName(seg.connection))
		return
	}
	fmt.Fprintf(p, "%s\n", p.t.segmentName(n))
}

func (p *playlist) initName(seg segment, k *key) string {
	if p.b.shape.SingleFile {
		return p.t.fileName(seg.connection)
	}
	return initName(seg.connection, k)
}
