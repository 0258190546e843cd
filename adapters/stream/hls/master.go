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
// renditions within limits, and the library decodes the variants.
func decodeMaster(ctx context.Context, body []byte, base *url.URL) (watch.Playlist, error) {
	scan, err := scanMaster(ctx, body)
	if err != nil {
		return watch.Playlist{}, err
	}
	list := m3u8.NewMasterPlaylist()
	if err := list.DecodeFrom(strings.NewReader(scan.text.String()), true); err != nil {
		return watch.Playlist{}, malformed("the decoder refuses it")
	}
	if len(list.Variants) != scan.variants {
		return watch.Playlist{}, malformed("the decoder sees %d renditions, the scan %d", len(list.Variants), scan.variants)
	}
	if scan.variants == 0 {
		return watch.Playlist{}, malformed("a master playlist without a rendition")
	}
	if !scan.audio.resolve(base) {
		return watch.Playlist{}, malformed("the URI of an EXT-X-MEDIA is %s", urlProblem)
	}
	var renditions []watch.Rendition
	for i, v := range list.Variants {
		r, ok := newRendition(base, v, scan.audio)
		if !ok {
			return watch.Playlist{}, malformed("the URI of rendition %d is %s", i+1, urlProblem)
		}
		renditions = append(renditions, r)
	}
	return watch.Playlist{Renditions: scan.audio.appendTo(renditions)}, nil
}

// masterScan is a master playlist while it is scanned line by line.
type masterScan struct {
	text  strings.Builder // the variants with the attributes that the library decodes
	audio audioRenditions // EXT-X-MEDIA of TYPE=AUDIO

	variants, iframes, media int
	hasInf                   bool // EXT-X-STREAM-INF was seen, its URI not yet
}

// scanMaster scans a master playlist.
func scanMaster(ctx context.Context, body []byte) (*masterScan, error) {
	s := &masterScan{}
	s.text.WriteString("#EXTM3U\n")
	lines := newScanner(ctx, body)
	for lines.next() {
		if err := s.add(lines.line); err != nil {
			return nil, malformed("line %d: %s", lines.read, err.Detail)
		}
	}
	if lines.err == nil && s.hasInf {
		return nil, malformed("it ends between EXT-X-STREAM-INF and its URI")
	}
	return s, lines.err
}

// add takes one line. It leaves out I-frame playlists, which have neither audio nor
// every frame, subtitles, and other camera angles.
func (s *masterScan) add(line line) *watch.Failure {
	switch string(line.tag) {
	case "":
		if !s.hasInf {
			return malformed("a URI without EXT-X-STREAM-INF")
		}
		s.text.Write(line.value)
		s.text.WriteByte('\n')
		s.hasInf = false
	case "EXT-X-STREAM-INF:":
		if s.hasInf {
			return malformed("a second EXT-X-STREAM-INF before the URI of the first")
		}
		if s.variants++; !writeVariant(&s.text, line.value) {
			return malformed("EXT-X-STREAM-INF is not an attribute list with a BANDWIDTH")
		}
		s.hasInf = true
	case "EXT-X-I-FRAME-STREAM-INF:":
		s.iframes++
	case "EXT-X-MEDIA:":
		a, ok := parseAttributes(line.value)
		if s.media++; !ok {
			return malformed("EXT-X-MEDIA is not an attribute list")
		}
		if a["TYPE"] == "AUDIO" {
			s.audio = append(s.audio, audioRendition{group: a["GROUP-ID"], uri: a["URI"], isDefault: a["DEFAULT"] == "YES"})
		}
	}
	if s.variants+s.iframes > MaxVariants || s.media > MaxMedia {
		return malformed("more than %d renditions or %d EXT-X-MEDIA", MaxVariants, MaxMedia)
	}
	return nil
}

// writeVariant writes the attributes of a variant that are used. BANDWIDTH may be
// missing; if it is there, it must be a number that fits the library's type.
func writeVariant(out *strings.Builder, list []byte) bool {
	a, ok := parseAttributes(list)
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

// writeAttribute leaves out empty values: the library would read the next attribute
// as the value.
func writeAttribute(out *strings.Builder, name, value string) {
	if value != "" {
		out.WriteString("," + name + `="` + value + `"`)
	}
}
