package hls

import (
	"context"
	"net/url"
	"regexp"
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
	if len(list.Variants) != scan.written {
		return watch.Playlist{}, malformed("the decoder sees %d renditions, the scan %d", len(list.Variants), scan.written)
	}
	if problem := scan.audio.resolve(base); problem != "" {
		scan.defect.note(0, "%s", problem)
	}
	var renditions []watch.Rendition
	for _, v := range list.Variants {
		r, problem := newRendition(base, v, scan.audio)
		if problem != "" {
			scan.defect.note(0, "%s", problem)
			continue
		}
		renditions = append(renditions, r)
	}
	if len(renditions) == 0 {
		return watch.Playlist{}, scan.defect.failure("a master playlist without a rendition")
	}
	return watch.Playlist{Renditions: scan.audio.appendTo(renditions), Defect: scan.defect.problem}, nil
}

// masterScan is a master playlist while it is scanned line by line.
type masterScan struct {
	text    strings.Builder // the variants with the attributes that the library decodes
	written int             // variants in text
	audio   audioRenditions // EXT-X-MEDIA of TYPE=AUDIO
	defect  defect
	line    int // that is being scanned

	variants, iframes, media int
	hasInf                   bool   // EXT-X-STREAM-INF was seen, its URI not yet
	inf                      string // that tag as the library gets it; empty: the variant is left out
}

// scanMaster scans a master playlist.
func scanMaster(ctx context.Context, body []byte) (*masterScan, error) {
	s := &masterScan{}
	s.text.WriteString("#EXTM3U\n")
	lines := newScanner(ctx, body)
	for lines.next() {
		s.line = lines.read
		s.add(lines.line)
		if s.variants+s.iframes > MaxVariants || s.media > MaxMedia {
			return nil, malformed("line %d: more than %d renditions or %d EXT-X-MEDIA", s.line, MaxVariants, MaxMedia)
		}
	}
	if s.hasInf {
		s.defect.note(s.line, "it ends between EXT-X-STREAM-INF and its URI")
	}
	return s, lines.err
}

// add takes one line. It leaves out I-frame playlists, which have neither audio nor
// every frame, subtitles, and other camera angles.
func (s *masterScan) add(line line) {
	switch string(line.tag) {
	case "":
		s.addURI(line.value)
	case "EXT-X-STREAM-INF:":
		if s.hasInf {
			s.defect.note(s.line, "a second EXT-X-STREAM-INF before the URI of the first")
		}
		s.variants++
		s.hasInf, s.inf = true, s.variant(line.value)
	case "EXT-X-I-FRAME-STREAM-INF:":
		s.iframes++
	case "EXT-X-MEDIA:":
		a, ok := parseAttributes(line.value)
		if s.media++; !ok {
			s.defect.note(s.line, "EXT-X-MEDIA is not an attribute list")
		}
		if ok && a["TYPE"] == "AUDIO" {
			s.audio = append(s.audio, audioRendition{group: a["GROUP-ID"], uri: a["URI"], isDefault: a["DEFAULT"] == "YES"})
		}
	}
}

// addURI writes the variant with this URI.
func (s *masterScan) addURI(uri []byte) {
	if !s.hasInf {
		s.defect.note(s.line, "a URI without EXT-X-STREAM-INF")
	}
	if s.inf != "" {
		s.written++
		s.text.WriteString(s.inf)
		s.text.Write(uri)
		s.text.WriteByte('\n')
	}
	s.hasInf, s.inf = false, ""
}

// variant returns an EXT-X-STREAM-INF with the attributes that are used, or "" if the variant is
// left out. BANDWIDTH may be missing; one that does not fit the library's type counts as missing.
func (s *masterScan) variant(list []byte) string {
	a, ok := parseAttributes(list)
	if !ok {
		if a, ok = parseAttributes(bareList.ReplaceAll(list, []byte(`="$1"$2`))); ok {
			s.defect.note(s.line, "a list of values in EXT-X-STREAM-INF lacks quotes")
		}
	}
	if !ok {
		s.defect.note(s.line, "EXT-X-STREAM-INF is not an attribute list")
		return ""
	}
	bandwidth, err := strconv.ParseUint(a["BANDWIDTH"], 10, 31)
	if _, stated := a["BANDWIDTH"]; stated && err != nil {
		s.defect.note(s.line, "BANDWIDTH is not a number below %d", uint64(1)<<31)
		bandwidth = 0
	}
	var out strings.Builder
	out.WriteString("#EXT-X-STREAM-INF:BANDWIDTH=" + strconv.FormatUint(bandwidth, 10))
	for _, name := range []string{"RESOLUTION", "CODECS", "AUDIO"} {
		writeAttribute(&out, name, a[name])
	}
	out.WriteByte('\n')
	return out.String()
}

// bareList matches a value that has commas but no quotes, as some packagers write CODECS.
var bareList = regexp.MustCompile(`=([^",=]+(?:,[^",=]+)+)(,|$)`)

// writeAttribute leaves out empty values: the library would read the next attribute
// as the value.
func writeAttribute(out *strings.Builder, name, value string) {
	if value != "" {
		out.WriteString("," + name + `="` + value + `"`)
	}
}
