package hls

import (
	"bytes"
	"path"
	"strings"
	"time"
)

// maxAdBreaks limits how many of the newest dated breaks of a playlist are known. Twitch lists one or two.
const maxAdBreaks = 32

// adBreak is an EXT-X-DATERANGE that says that advertisements take the place of the stream's own media.
type adBreak struct {
	from, until time.Time // until is zero: it is not known
}

// addDateRange takes an EXT-X-DATERANGE (RFC 8216, 4.3.2.7). Twitch marks its advertisements by class or id.
func (s *mediaScan) addDateRange(list []byte) {
	a, ok := parseAttributes(list)
	if !ok || a["CLASS"] != "twitch-stitched-ad" && !strings.HasPrefix(a["ID"], "stitched-ad-") {
		return
	}
	b := adBreak{from: parseProgramTime([]byte(a["START-DATE"])), until: parseProgramTime([]byte(a["END-DATE"]))}
	if b.from.IsZero() {
		return
	}
	for _, length := range []string{a["DURATION"], a["PLANNED-DURATION"]} {
		if b.until.IsZero() && length != "" {
			b.until = b.from.Add(parseSeconds([]byte(length)))
		}
	}
	s.adBreaks = append(s.adBreaks[max(0, len(s.adBreaks)-maxAdBreaks+1):], b)
}

// markAds marks the entries that lie in a dated break.
func (s *mediaScan) markAds() {
	for i := range s.entries {
		e := &s.entries[i]
		for _, b := range s.adBreaks {
			if !e.programTime.IsZero() && !e.programTime.Before(b.from) && (b.until.IsZero() || e.programTime.Before(b.until)) {
				e.ad = true
			}
		}
	}
}

// isAd reports whether the title of an entry (of Twitch) or its file (of TwitCasting) says that it is an
// advertisement.
func isAd(title, uri []byte) bool {
	file, _, _ := strings.Cut(string(uri), "?")
	return bytes.Contains(title, []byte("Amazon")) || strings.HasPrefix(path.Base(file), "preroll-")
}
