package hls_test

import "testing"

func TestASegmentHasTheNumbersThatItsPlaylistStates(t *testing.T) { // decision S5
	const entries = "#EXTINF:2,\na.ts\n#EXT-X-DISCONTINUITY\n#EXTINF:2,\nb.ts\n"
	for name, c := range map[string]struct {
		tags          string
		unnumbered    bool
		discontinuity uint64
	}{
		"both":                         {"#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:3\n", false, 4},
		"no discontinuity sequence":    {"#EXT-X-MEDIA-SEQUENCE:7\n", false, 0},
		"a discontinuity out of range": {"#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:-1\n", false, 0},
		"none":                         {"", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n"+c.tags+entries)
			if last := p.Segments[1]; last.Unnumbered != c.unnumbered || last.Discontinuity != c.discontinuity {
				t.Errorf("got %+v", last)
			}
		})
	}
}
