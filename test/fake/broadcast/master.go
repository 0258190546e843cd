package broadcast

import (
	"fmt"
	"strings"
)

const master = "master.m3u8"

// path is where a track's playlist is.
func (t *track) path() string { return fmt.Sprintf("itag/%d/index.m3u8", t.itag) }

// masterText writes the master playlist.
func (b *Broadcast) masterText() string {
	const sound = "sound"
	var out strings.Builder
	out.WriteString("#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n")
	for _, t := range b.tracks {
		if b.shape.Apart && t.video == NoVideo {
			fmt.Fprintf(&out, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=%q,NAME=\"Sound\",DEFAULT=YES,AUTOSELECT=YES,URI=%q\n", sound, t.path())
		}
	}
	for _, t := range b.tracks {
		if b.shape.Apart && t.video == NoVideo {
			continue
		}
		fmt.Fprintf(&out, "#EXT-X-STREAM-INF:BANDWIDTH=300000,CODECS=%q", b.codecs(t))
		if v, ok := videos[t.video]; ok {
			fmt.Fprintf(&out, ",RESOLUTION=%dx%d,FRAME-RATE=%d", v.width, v.height, fps)
		}
		if b.shape.Apart {
			fmt.Fprintf(&out, ",AUDIO=%q", sound)
		}
		fmt.Fprintf(&out, "\n%s\n", t.path())
	}
	return out.String()
}

// codecs is the codecs of a variant: with the sound that belongs to it.
func (b *Broadcast) codecs(t track) string {
	var all []string
	if v, ok := videos[t.video]; ok {
		all = append(all, v.codecs)
	}
	if a, ok := audios[b.shape.Audio]; ok && (t.audio != NoAudio || b.shape.Apart) {
		all = append(all, a.codecs)
	}
	return strings.Join(all, ",")
}
