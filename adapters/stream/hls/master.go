package hls

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// decodeMaster decodes a master playlist: the scan finds its variants and its
// sounds, within limits, and the library decodes the variants.
func decodeMaster(ctx context.Context, body []byte, base *url.URL) (watch.Playlist, error) {
	l, err := climb(ctx, body)
	if err != nil {
		return watch.Playlist{}, err
	}
	list := m3u8.NewMasterPlaylist()
	if err := list.DecodeFrom(strings.NewReader(l.text.String()), true); err != nil {
		return watch.Playlist{}, malformed("the decoder refuses it")
	}
	if len(list.Variants) != l.variants {
		return watch.Playlist{}, malformed("the decoder sees %d renditions, the scan %d", len(list.Variants), l.variants)
	}
	if l.variants == 0 {
		return watch.Playlist{}, malformed("a master playlist without a rendition")
	}
	if !l.sounds.resolve(base) {
		return watch.Playlist{}, malformed("the URI of an EXT-X-MEDIA is %s", notAURL)
	}
	var renditions []watch.Rendition
	for i, v := range list.Variants {
		r, ok := rendition(base, v, l.sounds)
		if !ok {
			return watch.Playlist{}, malformed("the URI of rendition %d is %s", i+1, notAURL)
		}
		renditions = append(renditions, r)
	}
	return watch.Playlist{Renditions: l.sounds.join(renditions)}, nil
}

// ladder is a master playlist while it is being scanned, line by line.
type ladder struct {
	text   strings.Builder // the variants again, with only what the library is asked about
	sounds sounds          // EXT-X-MEDIA of TYPE=AUDIO

	variants, iframes, media int
	open                     bool // EXT-X-STREAM-INF was seen, its URI not yet
}

// climb scans a master playlist.
func climb(ctx context.Context, body []byte) (*ladder, error) {
	l := &ladder{}
	l.text.WriteString("#EXTM3U\n")
	s := newScanner(ctx, body)
	for s.next() {
		if err := l.add(s.line); err != nil {
			return nil, malformed("line %d: %s", s.read, err.Detail)
		}
	}
	if s.err == nil && l.open {
		return nil, malformed("it ends between EXT-X-STREAM-INF and its URI")
	}
	return l, s.err
}

// add takes one line. I-frame playlists are left out: they hold no sound and
// not every picture. So are subtitles and other angles of the same moment.
func (l *ladder) add(line line) *watch.Failure {
	switch string(line.tag) {
	case "":
		if !l.open {
			return malformed("a URI without EXT-X-STREAM-INF")
		}
		l.text.Write(line.value)
		l.text.WriteByte('\n')
		l.open = false
	case "EXT-X-STREAM-INF:":
		if l.open {
			return malformed("a second EXT-X-STREAM-INF before the URI of the first")
		}
		if l.variants++; !writeVariant(&l.text, line.value) {
			return malformed("EXT-X-STREAM-INF is not an attribute list with a BANDWIDTH")
		}
		l.open = true
	case "EXT-X-I-FRAME-STREAM-INF:":
		l.iframes++
	case "EXT-X-MEDIA:":
		a, ok := attributes(line.value)
		if l.media++; !ok {
			return malformed("EXT-X-MEDIA is not an attribute list")
		}
		if a["TYPE"] == "AUDIO" {
			l.sounds = append(l.sounds, sound{group: a["GROUP-ID"], uri: a["URI"], isDefault: a["DEFAULT"] == "YES"})
		}
	}
	if l.variants+l.iframes > MaxVariants || l.media > MaxMedia {
		return malformed("more than %d renditions or %d EXT-X-MEDIA", MaxVariants, MaxMedia)
	}
	return nil
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

// writeAttribute leaves out empty values: the library's pattern does not match
// them and would go on into the next attribute.
func writeAttribute(out *strings.Builder, name, value string) {
	if value != "" {
		out.WriteString("," + name + `="` + value + `"`)
	}
}
