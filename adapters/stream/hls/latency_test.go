package hls_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// lowLatency has the shape of the example of RFC 8216bis, B.1: two whole
// segments whose parts are still listed, and a third that is not whole yet.
const lowLatency = `#EXTM3U
#EXT-X-TARGETDURATION:4
#EXT-X-VERSION:9
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0,CAN-SKIP-UNTIL=24.0
#EXT-X-PART-INF:PART-TARGET=0.33334
#EXT-X-MEDIA-SEQUENCE:266
#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00Z
#EXT-X-MAP:URI="init.mp4"
#EXTINF:4.00008,
fileSequence266.mp4
#EXT-X-PART:DURATION=2.0,URI="filePart267.0.mp4",INDEPENDENT=YES
#EXT-X-PART:DURATION=2.0,URI="filePart267.1.mp4"
#EXTINF:4.00008,
fileSequence267.mp4
#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:08Z
#EXT-X-PART:DURATION=0.33334,URI="filePart268.a.mp4",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.33334,URI="filePart268.b.mp4"
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="filePart268.c.mp4"
#EXT-X-RENDITION-REPORT:URI="../1M/waitForMSN.php",LAST-MSN=268,LAST-PART=2
#EXT-X-RENDITION-REPORT:URI="../4M/waitForMSN.php",LAST-MSN=268,LAST-PART=1
`

func TestPartsOfLowLatencyPlaylistsAreIgnored(t *testing.T) {
	init := &watch.Init{URI: at + "init.mp4"}
	whole := []watch.Segment{
		{URI: at + "fileSequence266.mp4", Sequence: 266, Duration: 4000080 * time.Microsecond, ProgramTime: noon, Init: init},
		{URI: at + "fileSequence267.mp4", Sequence: 267, Duration: 4000080 * time.Microsecond, ProgramTime: noon.Add(4000080 * time.Microsecond), Init: init},
	}
	unreported, _, _ := strings.Cut(lowLatency, "#EXT-X-RENDITION-REPORT")
	for name, text := range map[string]string{
		"whole segments are used, their parts are not": lowLatency,
		"parts may be of the segments' own bytes":      strings.ReplaceAll(lowLatency, `#EXT-X-PART:DURATION=2.0,URI="filePart267.1.mp4"`, `#EXT-X-PART:DURATION=2.0,URI="fileSequence267.mp4",BYTERANGE="20000@0"`),
		"a part may be missing":                        strings.ReplaceAll(lowLatency, ".b.mp4\"", ".b.mp4\",GAP=YES"),
		"the end may be a part's hint":                 unreported,
		"what is to come may be the next map":          strings.ReplaceAll(lowLatency, "TYPE=PART,URI=\"filePart268.c.mp4\"", "TYPE=MAP,URI=\"init2.mp4\"\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init2.mp4\""),
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustRead(t, text).Segments; !reflect.DeepEqual(got, whole) {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("parts alone are no segment", func(t *testing.T) {
		wantMalformed(t, list(`#EXT-X-PART:DURATION=1,URI="p1"`, `#EXT-X-PART:DURATION=1,URI="p2"`), "without a usable segment")
	})
	t.Run("tags of parts do not make a media playlist", func(t *testing.T) {
		wantMalformed(t, "#EXTM3U\n"+`#EXT-X-PART:DURATION=1,URI="p1"`+"\n", "neither")
	})
}

func TestSkippedSegmentsKeepTheirNumbers(t *testing.T) {
	const sequence = "#EXT-X-MEDIA-SEQUENCE:100"
	for name, lines := range map[string][]string{
		"what follows keeps its numbers":      {sequence, "#EXT-X-SKIP:SKIPPED-SEGMENTS=3"},
		"also when the number comes after it": {"#EXT-X-SKIP:SKIPPED-SEGMENTS=3", sequence},
		"with ranges of dates that are gone":  {sequence, "#EXT-X-SKIP:SKIPPED-SEGMENTS=3,RECENTLY-REMOVED-DATERANGES=\"a\tb\""},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, list(append(lines, "#EXTINF:5,", "a", "#EXT-X-GAP", "#EXTINF:5,", "b", "#EXTINF:5,", "c")...))
			if len(p.Segments) != 2 || p.Segments[0].Sequence != 103 || p.Segments[1].Sequence != 105 {
				t.Errorf("got %+v", p.Segments)
			}
		})
	}
	for name, c := range map[string]struct{ text, says string }{
		"nothing but a skip":  {list("#EXT-X-SKIP:SKIPPED-SEGMENTS=3"), "without a usable segment"},
		"a skip of nothing":   {list("#EXT-X-SKIP:", "#EXTINF:5,", "a"), "line 3: EXT-X-SKIP has no number"},
		"a skip without":      {list("#EXT-X-SKIP:RECENTLY-REMOVED-DATERANGES=\"a\"", "#EXTINF:5,", "a"), "line 3: EXT-X-SKIP has no number"},
		"a skip below zero":   {list("#EXT-X-SKIP:SKIPPED-SEGMENTS=-1", "#EXTINF:5,", "a"), "line 3: EXT-X-SKIP has no number"},
		"a second skip":       {list("#EXT-X-SKIP:SKIPPED-SEGMENTS=1", "#EXT-X-SKIP:SKIPPED-SEGMENTS=1", "#EXTINF:5,", "a"), "line 4: EXT-X-SKIP"},
		"a skip further down": {list("#EXTINF:5,", "a", "#EXT-X-SKIP:SKIPPED-SEGMENTS=1", "#EXTINF:5,", "b"), "line 5: EXT-X-SKIP"},
	} {
		t.Run(name+" is malformed", func(t *testing.T) { wantMalformed(t, c.text, c.says) })
	}
}
