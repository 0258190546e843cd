package broadcast

import (
	"fmt"
	"time"
)

// parts writes the first count parts of segment n.
func (p *playlist) parts(n, count int) {
	for i, piece := range p.t.segments[n].pieces[:count] {
		fmt.Fprintf(p, "#EXT-X-PART:DURATION=%.6f,URI=%q,INDEPENDENT=YES\n", piece.duration.Seconds(), p.t.partName(n, i))
	}
}

func (p *playlist) partTarget() float64 {
	longest := part
	for _, seg := range p.t.segments {
		for _, piece := range seg.pieces {
			longest = max(longest, piece.duration)
		}
	}
	return longest.Seconds()
}

// liveEdge writes the parts after the last complete segment, and the preload hint.
func (p *playlist) liveEdge() {
	if p.to == len(p.t.segments) {
		return
	}
	n, ready := p.to, p.t.ready(p.to, p.elapsed)
	if p.isReconnection(n) && !p.b.shape.NoDiscontinuity && ready > 0 {
		p.WriteString("#EXT-X-DISCONTINUITY\n")
	}
	p.parts(n, ready)
	if ready < len(p.t.segments[n].pieces) {
		fmt.Fprintf(p, "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=%q\n", p.t.partName(n, ready))
	}
	for i := range p.b.tracks {
		if other := &p.b.tracks[i]; other.itag != p.t.itag {
			msn := other.published(p.elapsed)
			last := other.ready(msn, p.elapsed) - 1
			if last < 0 {
				msn--
				last = p.b.shape.piecesPerSegment() - 1
			}
			fmt.Fprintf(p, "#EXT-X-RENDITION-REPORT:URI=\"../%d/index.m3u8\",LAST-MSN=%d,LAST-PART=%d\n", other.itag, msn, last)
		}
	}
}

// ready returns how many parts of segment n are published.
func (t *track) ready(n int, elapsed time.Duration) (count int) {
	if n >= len(t.segments) {
		return 0
	}
	at := t.segments[n].at
	for _, piece := range t.segments[n].pieces {
		if at += piece.duration; at > elapsed {
			break
		}
		count++
	}
	return count
}
