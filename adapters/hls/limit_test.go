package hls_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/hls"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func segments(n int) string { return strings.Repeat("#EXTINF:5,\na\n", n) }

// TestLimits shows each limit reached, which is fine, and passed by one.
func TestLimits(t *testing.T) {
	variants := func(n int) string {
		return "#EXTM3U\n" + strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nv\n", n)
	}
	attributes := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "A%d=1,", i)
		}
		return "#EXTM3U\n#EXT-X-STREAM-INF:" + strings.TrimSuffix(b.String(), ",") + "\nv\n"
	}
	day := fmt.Sprint(int(hls.MaxDuration.Seconds()))
	for name, c := range map[string]struct {
		reached, passed, says string
	}{
		"lines": {
			list("#EXTINF:5,", "a") + strings.Repeat("\n", hls.MaxLines-4),
			list("#EXTINF:5,", "a") + strings.Repeat("\n", hls.MaxLines-3), "lines",
		},
		"bytes of a line": {
			list("#EXTINF:5,", strings.Repeat("x", hls.MaxLine)+"\r"),
			list("#EXTINF:5,", strings.Repeat("x", hls.MaxLine+1)+"\r"), "line 4 is longer",
		},
		"segments": {list(segments(hls.MaxSegments)), list(segments(hls.MaxSegments + 1)), "segments"},
		"variants": {variants(hls.MaxVariants), variants(hls.MaxVariants + 1), "renditions"},
		"I-frame playlists": {
			variants(hls.MaxVariants-1) + "#EXT-X-I-FRAME-STREAM-INF:URI=\"i\"\n",
			variants(hls.MaxVariants) + "#EXT-X-I-FRAME-STREAM-INF:URI=\"i\"\n", "renditions",
		},
		"media": {
			variants(1) + strings.Repeat("#EXT-X-MEDIA:TYPE=VIDEO\n", hls.MaxMedia),
			variants(1) + strings.Repeat("#EXT-X-MEDIA:TYPE=VIDEO\n", hls.MaxMedia+1), "EXT-X-MEDIA",
		},
		"attributes":        {attributes(hls.MaxAttributes), attributes(hls.MaxAttributes + 1), "attribute list"},
		"seconds":           {list("#EXTINF:"+day+",", "a"), list("#EXTINF:"+day+".001,", "a"), "EXTINF"},
		"digits":            {list("#EXTINF:5."+strings.Repeat("0", 30)+",", "a"), list("#EXTINF:5."+strings.Repeat("0", 31)+",", "a"), "EXTINF"},
		"target duration":   {"#EXTM3U\n#EXT-X-TARGETDURATION:" + day + "\n" + segments(1), "#EXTM3U\n#EXT-X-TARGETDURATION:" + day + ".1\n" + segments(1), "TARGETDURATION"},
		"end of a range":    {list("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:1@%d", int64(hls.MaxRangeEnd-1)), "a"), list("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:1@%d", int64(hls.MaxRangeEnd)), "a"), "BYTERANGE"},
		"length of a range": {list("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:%d@0", int64(hls.MaxRangeEnd)), "a"), list("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:%d@0", int64(hls.MaxRangeEnd+1)), "a"), "BYTERANGE"},
		"end of a range that goes on": {
			list("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:1@%d", int64(hls.MaxRangeEnd-2)), "a", "#EXTINF:5,", "#EXT-X-BYTERANGE:1", "a"),
			list("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:1@%d", int64(hls.MaxRangeEnd-1)), "a", "#EXTINF:5,", "#EXT-X-BYTERANGE:1", "a"), "does not follow",
		},
		"sequence": {
			list(fmt.Sprintf("#EXT-X-MEDIA-SEQUENCE:%d", uint64(1<<63-1-hls.MaxSegments)), "#EXTINF:5,", "a"),
			list(fmt.Sprintf("#EXT-X-MEDIA-SEQUENCE:%d", uint64(1<<63-hls.MaxSegments)), "#EXTINF:5,", "a"), "SEQUENCE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mustRead(t, c.reached)
			wantMalformed(t, c.passed, c.says)
		})
	}
	t.Run("bytes", func(t *testing.T) {
		text := list("#EXTINF:5,", "a")
		filler := strings.Repeat("#"+strings.Repeat("x", hls.MaxLine-1)+"\n", hls.MaxBytes/(hls.MaxLine+1))
		text += filler + strings.Repeat(" ", hls.MaxBytes-len(text)-len(filler))
		mustRead(t, text)
		if p := read(t, text+" "); p.Failure == nil || p.Failure.Kind != watch.FailureTooLarge {
			t.Errorf("got %v", p.Failure)
		}
	})
}

func TestLargePlaylists(t *testing.T) {
	t.Run("50,000 lines are refused", func(t *testing.T) { wantMalformed(t, list(segments(25_000)), "more than") })
	t.Run("400 × 400 entries are refused, quickly", func(t *testing.T) {
		text := "#EXTM3U\n" + strings.Repeat("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"b\"\n", 400) +
			strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nv\n", 400)
		began := time.Now()
		wantMalformed(t, text, "more than")
		within(t, began)
	})
	t.Run("the largest master is decoded in time", func(t *testing.T) {
		long := strings.Repeat("b", hls.MaxLine-100)
		text := "#EXTM3U\n" + strings.Repeat("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\""+long+"\"\n", hls.MaxMedia) +
			strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\",CODECS=\""+long+"\"\nv\n", hls.MaxVariants)
		began := time.Now()
		if p := mustRead(t, text); len(p.Renditions) != hls.MaxVariants {
			t.Errorf("got %d renditions", len(p.Renditions))
		}
		within(t, began)
	})
	t.Run("of a long window the newest segments are kept", func(t *testing.T) {
		began := time.Now()
		for _, n := range []int{hls.KeptSegments - 1, hls.KeptSegments, hls.KeptSegments + 1, hls.MaxSegments} {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "#EXTINF:2,\ns/%d/%s\n", i, strings.Repeat("x", 700))
			}
			p := mustRead(t, list("#EXT-X-MEDIA-SEQUENCE:100", "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00Z")+b.String())
			last := p.Segments[len(p.Segments)-1]
			if len(p.Segments) != min(n, hls.KeptSegments) || last.Sequence != uint64(100+n-1) ||
				!strings.Contains(last.URI, fmt.Sprintf("/s/%d/", n-1)) ||
				!last.ProgramTime.Equal(noon.Add(time.Duration(n-1)*2*time.Second)) {
				t.Errorf("of %d got %d, the last %+v", n, len(p.Segments), last)
			}
		}
		within(t, began)
	})
}

// within allows for a machine that is ten times slower than ours, with the race
// detector on.
func within(t *testing.T, began time.Time) {
	t.Helper()
	if took := time.Since(began); took > 10*hls.DecodeTime {
		t.Errorf("took %v", took)
	}
}
