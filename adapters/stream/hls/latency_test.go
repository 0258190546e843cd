package hls_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// lowLatency resembles the example of RFC 8216bis, B.1. It lists two complete
// segments with their parts, and the parts of a third, incomplete one.
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
	init := &watch.Init{URI: baseURL + "init.mp4"}
	complete := []watch.Segment{
		{URI: baseURL + "fileSequence266.mp4", Sequence: 266, Duration: 4000080 * time.Microsecond, ProgramTime: noon, Init: init},
		{URI: baseURL + "fileSequence267.mp4", Sequence: 267, Duration: 4000080 * time.Microsecond, ProgramTime: noon.Add(4000080 * time.Microsecond), Init: init},
	}
	withoutReports, _, _ := strings.Cut(lowLatency, "#EXT-X-RENDITION-REPORT")
	for name, text := range map[string]string{
		"complete segments are used, their parts are not": lowLatency,
		"parts may be byte ranges of the segment":         strings.ReplaceAll(lowLatency, `#EXT-X-PART:DURATION=2.0,URI="filePart267.1.mp4"`, `#EXT-X-PART:DURATION=2.0,URI="fileSequence267.mp4",BYTERANGE="20000@0"`),
		"a part may be a gap":                             strings.ReplaceAll(lowLatency, ".b.mp4\"", ".b.mp4\",GAP=YES"),
		"the last tag may be a preload hint":              withoutReports,
		"the preload hint may be the next map":            strings.ReplaceAll(lowLatency, "TYPE=PART,URI=\"filePart268.c.mp4\"", "TYPE=MAP,URI=\"init2.mp4\"\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init2.mp4\""),
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustRead(t, text).Segments; !reflect.DeepEqual(got, complete) {
				t.Errorf("got  %+v\nwant %+v", got, complete)
			}
		})
	}
	t.Run("a playlist of parts alone is malformed", func(t *testing.T) {
		wantMalformed(t, mediaPlaylist(`#EXT-X-PART:DURATION=1,URI="p1"`, `#EXT-X-PART:DURATION=1,URI="p2"`), "without a usable segment")
	})
	t.Run("a part alone does not make a media playlist", func(t *testing.T) {
		wantMalformed(t, "#EXTM3U\n"+`#EXT-X-PART:DURATION=1,URI="p1"`+"\n", "neither")
	})
}

func TestSkippedSegmentsCountAsSequenceNumbers(t *testing.T) {
	const sequence = "#EXT-X-MEDIA-SEQUENCE:100"
	for name, lines := range map[string][]string{
		"a skip after the sequence number":  {sequence, "#EXT-X-SKIP:SKIPPED-SEGMENTS=3"},
		"a skip before the sequence number": {"#EXT-X-SKIP:SKIPPED-SEGMENTS=3", sequence},
		"a skip with removed date ranges":   {sequence, "#EXT-X-SKIP:SKIPPED-SEGMENTS=3,RECENTLY-REMOVED-DATERANGES=\"a\tb\""},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, mediaPlaylist(append(lines, "#EXTINF:5,", "a", "#EXT-X-GAP", "#EXTINF:5,", "b", "#EXTINF:5,", "c")...))
			if len(p.Segments) != 2 || p.Segments[0].Sequence != 103 || p.Segments[1].Sequence != 105 {
				t.Errorf("segments %+v, want the sequence numbers 103 and 105", p.Segments)
			}
		})
	}
	t.Run("a skip without a segment is malformed", func(t *testing.T) {
		wantMalformed(t, mediaPlaylist("#EXT-X-SKIP:SKIPPED-SEGMENTS=3"), "without a usable segment")
	})
}
