package hls

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// decodeMaster decodes a master playlist: the scan finds its variants and audio
// groups, within limits, and the library decodes them.
func decodeMaster(ctx context.Context, body []byte, base *url.URL) (watch.Playlist, error) {
	text, variants, err := sanitised(ctx, body)
	if err != nil {
		return watch.Playlist{}, err
	}
	list := m3u8.NewMasterPlaylist()
	if err := list.DecodeFrom(strings.NewReader(text), true); err != nil {
		return watch.Playlist{}, malformed("the decoder refuses it")
	}
	if len(list.Variants) != variants {
		return watch.Playlist{}, malformed("the decoder sees %d renditions, the scan %d", len(list.Variants), variants)
	}
	if variants == 0 {
		return watch.Playlist{}, malformed("a master playlist without a rendition")
	}
	var p watch.Playlist
	for i, v := range list.Variants {
		r, ok := rendition(base, v)
		if !ok {
			return watch.Playlist{}, malformed("the URI of rendition %d is not an http or https URL", i+1)
		}
		p.Renditions = append(p.Renditions, r)
	}
	return p, nil
}

// sanitised rewrites a master with the tags and attributes that the library is
// asked about, and counts its variants. I-frame playlists are left out: they
// hold no sound and not every picture.
func sanitised(ctx context.Context, body []byte) (text string, variants int, err error) {
	var out strings.Builder
	out.WriteString("#EXTM3U\n")
	var media, iframes int
	open := false // EXT-X-STREAM-INF was seen, its URI not yet
	s := newScanner(ctx, body)
	for s.next() {
		switch string(s.line.tag) {
		case "":
			if !open {
				return "", 0, malformed("line %d: a URI without EXT-X-STREAM-INF", s.read)
			}
			out.Write(s.line.value)
			out.WriteByte('\n')
			open = false
		case "EXT-X-STREAM-INF:":
			if open {
				return "", 0, malformed("line %d: a second EXT-X-STREAM-INF before the URI of the first", s.read)
			}
			if variants++; !writeVariant(&out, s.line.value) {
				return "", 0, malformed("line %d: EXT-X-STREAM-INF is not an attribute list with a BANDWIDTH", s.read)
			}
			open = true
		case "EXT-X-I-FRAME-STREAM-INF:":
			iframes++
		case "EXT-X-MEDIA:":
			if media++; !writeMedia(&out, s.line.value) {
				return "", 0, malformed("line %d: EXT-X-MEDIA is not an attribute list", s.read)
			}
		}
		if variants+iframes > MaxVariants || media > MaxMedia {
			return "", 0, malformed("more than %d renditions or %d EXT-X-MEDIA", MaxVariants, MaxMedia)
		}
	}
	if s.err == nil && open {
		return "", 0, malformed("it ends between EXT-X-STREAM-INF and its URI")
	}
	return out.String(), variants, s.err
}

// writeVariant writes the attributes of a variant that matter. BANDWIDTH may be
// missing, but not be anything other than a number that fits the library's type.
func writeVariant(out *strings.Builder, list []byte) bool {
	a, ok := attributes(list)
	if !ok {
		return false
	}
	bandwidth := uint64(0)
	if text, stated := a["BANDWIDTH"]; stated {
		var err error
		if bandwidth, err = strconv.ParseUint(text, 10, 31); err != nil {
			return false
		}
	}
	out.WriteString("#EXT-X-STREAM-INF:BANDWIDTH=" + strconv.FormatUint(bandwidth, 10))
	for _, name := range []string{"RESOLUTION", "CODECS", "AUDIO"} {
		writeAttribute(out, name, a[name])
	}
	out.WriteByte('\n')
	return true
}

// writeMedia writes an audio rendition; the other types are left out.
func writeMedia(out *strings.Builder, list []byte) bool {
	a, ok := attributes(list)
	if !ok {
		return false
	}
	if a["TYPE"] == "AUDIO" {
		out.WriteString("#EXT-X-MEDIA:TYPE=AUDIO")
		writeAttribute(out, "GROUP-ID", a["GROUP-ID"])
		writeAttribute(out, "URI", a["URI"])
		out.WriteByte('\n')
	}
	return true
}

// writeAttribute leaves out empty values: the library's pattern does not match
// them and would go on into the next attribute.
func writeAttribute(out *strings.Builder, name, value string) {
	if value != "" {
		out.WriteString("," + name + `="` + value + `"`)
	}
}
