package broadcast

import (
	"fmt"
	"strings"
)

const master = "master.m3u8"

// path returns the path of a track's playlist.
func (t *track) path() string { return fmt.Sprintf("itag/%d/index.m3u8", t.itag) }

// masterText returns the master playlist.
func (b *Broadcast) masterText() string {
	const group = "audio"
	var out strings.Builder
	out.WriteString("#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n")
	for _, t := range b.tracks {
		if b.shape.Demuxed && t.video == NoVideo {
			fmt.Fprintf(&out, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=%q,NAME=\"Audio\",DEFAULT=YES,AUTOSELECT=YES,URI=%q\n", group, t.path())
		}
	}
	for _, t := range b.tracks {
		if b.shape.Demuxed && t.video == NoVideo {
			continue
		}
		fmt.Fprintf(&out, "#EXT-X-STREAM-INF:BANDWIDTH=300000,CODECS=%q", b.codecs(t))
		if v, ok := videos[t.video]; ok {
			fmt.Fprintf(&out, ",RESOLUTION=%dx%d,FRAME-RATE=%d", v.width, v.height, fps)
		}
		if b.shape.Demuxed {
			fmt.Fprintf(&out, ",AUDIO=%q", group)
		}
		fmt.Fprintf(&out, "\n%s\n", t.path())
	}
	return out.String()
}

// codecs returns the codecs of a variant with those of its audio rendition.
func (b *Broadcast) codecs(t track) string {
	var all []string
	if v, ok := videos[t.video]; ok {
		all = append(all, v.codecs)
	}
	if a, ok := audios[b.shape.Audio]; ok && (t.audio != NoAudio || b.shape.Demuxed) {
		all = append(all, a.codecs)
	}
	return strings.Join(all, ",")
}
