package hls

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// playlist returns the renditions: the library decodes the variants, the scan has the audio.
func (s *masterScan) playlist(base *url.URL) (watch.Playlist, error) {
	if s.uriDue {
		s.defect.note(s.line, "it ends between EXT-X-STREAM-INF and its URI")
	}
	if s.failure != nil {
		return watch.Playlist{}, s.failure
	}
	list := m3u8.NewMasterPlaylist()
	if err := list.Decode(s.text, false); err != nil {
		return watch.Playlist{}, malformed("the decoder refuses it")
	}
	if problem := s.audio.resolve(base); problem != "" {
		s.defect.note(0, "%s", problem)
	}
	var renditions []watch.Rendition
	for _, v := range list.Variants {
		r, problem := newRendition(base, v, s.audio)
		if problem != "" {
			s.defect.note(0, "%s", problem)
			continue
		}
		renditions = append(renditions, r)
	}
	if len(renditions) == 0 {
		return watch.Playlist{}, s.defect.failure("a master playlist without a rendition")
	}
	renditions = s.audio.appendTo(renditions)
	if uri, problem := resolve(base, s.captions); s.captions != "" && problem == "" {
		renditions = append(renditions, watch.Rendition{URL: uri, HasCaptions: true})
	}
	return watch.Playlist{Renditions: renditions, Defect: s.defect.problem}, nil
}

// masterScan is a master playlist while it is scanned line by line.
type masterScan struct {
	text     bytes.Buffer    // EXT-X-STREAM-INF and URI of each variant, for the library
	audio    audioRenditions // EXT-X-MEDIA of TYPE=AUDIO
	captions string          // the URI of the EXT-X-MEDIA of TYPE=SUBTITLES that players choose, none with FORCED=YES; empty: there is none
	defect   defect
	failure  *watch.Failure
	line     int // that is being scanned

	variants, iframes, media int
	captionsDefault          bool   // captions has DEFAULT=YES
	uriDue                   bool   // EXT-X-STREAM-INF was seen, its URI not yet
	inf                      []byte // the attributes of that tag; empty: the variant is left out
}

// add takes one line. It leaves out I-frame playlists, which have neither audio nor
// every frame, further subtitles, and other camera angles.
func (s *masterScan) add(number int, line line) {
	if s.failure != nil {
		return
	}
	s.line = number
	switch string(line.tag) {
	case "":
		s.addURI(line.value)
	case "EXT-X-STREAM-INF:":
		s.variants++
		s.addVariant(line.value)
	case "EXT-X-I-FRAME-STREAM-INF:":
		s.iframes++
	case "EXT-X-MEDIA:":
		s.media++
		s.addMedia(line.value)
	}
	if s.variants+s.iframes > MaxVariants || s.media > MaxMedia {
		s.failure = malformed("line %d: more than %d renditions or %d EXT-X-MEDIA", s.line, MaxVariants, MaxMedia)
	}
}

func (s *masterScan) addMedia(list []byte) {
	a, ok := parseAttributes(list)
	if !ok {
		s.defect.note(s.line, "EXT-X-MEDIA is not an attribute list")
	}
	switch isDefault := a["DEFAULT"] == "YES"; {
	case a["TYPE"] == "AUDIO":
		s.audio = append(s.audio, audioRendition{group: a["GROUP-ID"], uri: a["URI"], isDefault: isDefault})
	case a["TYPE"] == "SUBTITLES" && a["FORCED"] != "YES" && (s.captions == "" || isDefault && !s.captionsDefault):
		s.captions, s.captionsDefault = a["URI"], isDefault
	}
}

// addURI hands the variant with this URI to the library.
func (s *masterScan) addURI(uri []byte) {
	if !s.uriDue {
		s.defect.note(s.line, "a URI without EXT-X-STREAM-INF")
	}
	if len(s.inf) > 0 {
		fmt.Fprintf(&s.text, "#EXT-X-STREAM-INF:%s\n%s\n", s.inf, uri)
	}
	s.uriDue, s.inf = false, nil
}

// addVariant checks an EXT-X-STREAM-INF: the library would take any text for attributes, and any
// number for a BANDWIDTH.
func (s *masterScan) addVariant(list []byte) {
	if s.uriDue {
		s.defect.note(s.line, "a second EXT-X-STREAM-INF before the URI of the first")
	}
	s.uriDue, s.inf = true, nil
	a, ok := parseAttributes(list)
	if !ok {
		list = bareList.ReplaceAll(list, []byte(`="$1"$2`))
		if a, ok = parseAttributes(list); ok {
			s.defect.note(s.line, "a list of values in EXT-X-STREAM-INF lacks quotes")
		}
	}
	if !ok {
		s.defect.note(s.line, "EXT-X-STREAM-INF is not an attribute list")
		return
	}
	bandwidth, stated := a["BANDWIDTH"]
	if _, err := strconv.ParseUint(bandwidth, 10, 31); err != nil && stated {
		s.defect.note(s.line, "BANDWIDTH is not a number below %d", uint64(1)<<31)
		list = slices.Concat(list, []byte(",BANDWIDTH=0")) // the last counts
	}
	s.inf = list
}

// bareList matches a value that has commas but no quotes, as some packagers write CODECS.
var bareList = regexp.MustCompile(`=([^",=]+(?:,[^",=]+)+)(,|$)`)
