package hls_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// One odd entry costs at most itself: the rest of the playlist is used, and Defect says what was
// left out or repaired.
func TestAnOddSegmentCostsItselfAlone(t *testing.T) {
	good := func(name string) string { return "#EXTINF:5,\n" + name }
	key := `#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x1`
	for name, c := range map[string]struct {
		lines  []string
		want   string // "number name", of each segment
		defect string
	}{
		"a segment of no length":         {[]string{good("a"), "#EXTINF:0,\nb", good("c")}, "1 a, 3 c", "EXTINF is not a positive"},
		"the newest of no length":        {[]string{good("a"), "#EXTINF:0.000000,\nb"}, "1 a", "EXTINF is not a positive"},
		"a negative length":              {[]string{"#EXTINF:-1,\na", good("b")}, "2 b", "EXTINF is not a positive"},
		"a length in words":              {[]string{"#EXTINF:long,\na", good("b")}, "2 b", "EXTINF is not a positive"},
		"a name with a colon":            {[]string{"#EXTINF:6,\ncam_1__2026-11-28_12:00:06.000.ts"}, "1 cam_1__2026-11-28_12:00:06.000.ts", ""},
		"a name with a percent sign":     {[]string{good("100%.ts")}, "1 100%25.ts", ""},
		"a URI that cannot be fetched":   {[]string{good("a"), good("file:///etc/passwd"), good("c")}, "1 a, 3 c", "the URI of a segment is not an http"},
		"a host that is none":            {[]string{good("http://[::1/a"), good("b")}, "2 b", "the URI of a segment is not an http"},
		"a URI without a length":         {[]string{good("a"), "b", good("c")}, "1 a, 2 c", "a URI without EXTINF"},
		"a length without a URI":         {[]string{"#EXTINF:7,", good("a")}, "1 a", "a second EXTINF"},
		"no length without a URI":        {[]string{"#EXTINF:0,", good("a")}, "1 a", "a second EXTINF"},
		"the first of two odd entries":   {[]string{good("a"), "#EXTINF:0,\nb", "c"}, "1 a", "EXTINF is not a positive"},
		"a last length without a URI":    {[]string{good("a"), "#EXTINF:5,"}, "1 a", "ends between EXTINF and its URI"},
		"an invalid range":               {[]string{"#EXT-X-BYTERANGE:x\n" + good("a"), good("b")}, "2 b", "EXT-X-BYTERANGE is not"},
		"a range that follows nothing":   {[]string{"#EXT-X-BYTERANGE:5\n" + good("a"), "#EXT-X-BYTERANGE:5@5\n" + good("a"), "#EXT-X-BYTERANGE:7\n" + good("a")}, "2 a@5+5, 3 a@10+7", "does not follow"},
		"a range after another resource": {[]string{"#EXT-X-BYTERANGE:5@0\n" + good("a"), "#EXT-X-BYTERANGE:7\n" + good("b")}, "1 a@0+5", "does not follow"},
		"ranges that follow nothing":     {[]string{"#EXT-X-BYTERANGE:5\n" + good("a"), "#EXT-X-BYTERANGE:7\n" + good("a"), good("b")}, "3 b", "does not follow"},
		"a map without a URI":            {[]string{good("a"), "#EXT-X-MAP:BYTERANGE=\"1@0\"", good("b"), `#EXT-X-MAP:URI="i"`, good("c")}, "1 a, 3 c", "EXT-X-MAP has no URI"},
		"a map that cannot be fetched":   {[]string{`#EXT-X-MAP:URI="file:///x"`, good("a"), `#EXT-X-MAP:URI="i"`, good("b")}, "2 b", "the URI of EXT-X-MAP is not an http"},
		"a map without an IV":            {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k"`, `#EXT-X-MAP:URI="i"`, good("a"), `#EXT-X-MAP:URI="j"` + "\n" + key, `#EXT-X-MAP:URI="j"`, good("b")}, "2 b", "states no IV"},
		"a key without a method":         {[]string{good("a"), `#EXT-X-KEY:URI="k"`, good("b"), key, good("c")}, "1 a, 3 c", "EXT-X-KEY has no METHOD"},
		"a key without a URI":            {[]string{"#EXT-X-KEY:METHOD=AES-128", good("a"), key, good("b")}, "2 b", "EXT-X-KEY has no URI"},
		"a key that cannot be fetched":   {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="data:,x"`, good("a"), key, good("b")}, "2 b", "the URI of EXT-X-KEY is not an http"},
		"a key with an invalid IV":       {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k",IV=7`, good("a"), "#EXT-X-KEY:METHOD=NONE", good("b")}, "2 b", "IV of EXT-X-KEY"},
		"one segment under DRM":          {[]string{fairPlay, good("ad"), "#EXT-X-KEY:METHOD=NONE", good("b")}, "2 b", "SAMPLE-AES, which only a licensed player"},
		"a variable that is not used":    {[]string{`#EXT-X-DEFINE:NAME="host",VALUE="x"`, good("a")}, "1 a", ""},
		"a variable that one entry uses": {[]string{`#EXT-X-DEFINE:NAME="x",VALUE="y"`, good("a"), good("{$x}/b"), good("c")}, "1 a, 3 c", "a variable (EXT-X-DEFINE)"},
		"a discontinuity in words":       {[]string{"#EXT-X-DISCONTINUITY-SEQUENCE:x", good("a")}, "1 a", "EXT-X-DISCONTINUITY-SEQUENCE is not"},
		"a time in words":                {[]string{"#EXT-X-PROGRAM-DATE-TIME:noon", good("a")}, "1 a", "EXT-X-PROGRAM-DATE-TIME is not"},
		"a tag of a multivariant list":   {[]string{`#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a"`, good("a")}, "1 a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, mediaPlaylist(append([]string{"#EXT-X-MEDIA-SEQUENCE:1"}, c.lines...)...))
			var got []string
			for _, s := range p.Segments {
				got = append(got, fmt.Sprintf("%d %s", s.Sequence, strings.TrimPrefix(watch.Segment{URI: s.URI, Range: s.Range}.ID(), baseURL)))
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			manifesttest.WantDefect(t, p, c.defect)
		})
	}
}

// wantNoNumbers checks that the segments of text are used without their numbers, because of this defect.
func wantNoNumbers(t *testing.T, text, defect string) (p watch.Playlist) {
	t.Helper()
	p = mustRead(t, text)
	for _, s := range p.Segments {
		if !s.Unnumbered {
			t.Errorf("%s has the number %d", s.URI, s.Sequence)
		}
	}
	manifesttest.WantDefect(t, p, defect)
	return p
}

func TestNumbersThatCannotBeReadCostNoSegment(t *testing.T) {
	const unencrypted, own, counted = "", `#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x1`, `#EXT-X-KEY:METHOD=AES-128,URI="k"`
	const time = "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00Z"
	for name, c := range map[string]struct {
		before, between string
		defect          string
	}{
		"a number in words":        {"#EXT-X-MEDIA-SEQUENCE:first", "", "EXT-X-MEDIA-SEQUENCE is not a number"},
		"a number below zero":      {"#EXT-X-MEDIA-SEQUENCE:-1", "", "EXT-X-MEDIA-SEQUENCE is not a number"},
		"a number after a segment": {"", "#EXT-X-MEDIA-SEQUENCE:7", "comes after a segment"},
		"an empty skip":            {"#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-SKIP:", "", "EXT-X-SKIP has no number"},
		"a skip without a number":  {`#EXT-X-SKIP:RECENTLY-REMOVED-DATERANGES="a"`, "", "EXT-X-SKIP has no number"},
		"a skip below zero":        {"#EXT-X-SKIP:SKIPPED-SEGMENTS=-1", "", "EXT-X-SKIP has no number"},
		"a second skip":            {"#EXT-X-SKIP:SKIPPED-SEGMENTS=1\n#EXT-X-SKIP:SKIPPED-SEGMENTS=1", "", "EXT-X-SKIP has no number"},
		"a skip between segments":  {"", "#EXT-X-SKIP:SKIPPED-SEGMENTS=1", "EXT-X-SKIP has no number"},
	} {
		list := func(key string) string {
			return mediaPlaylist(c.before, key, time, "#EXTINF:5,", "a", c.between, "#EXTINF:5,", "b")
		}
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{unencrypted, own} {
				p := wantNoNumbers(t, list(key), c.defect)
				if len(p.Segments) != 2 || !p.Segments[0].ProgramTime.Equal(noon) {
					t.Fatalf("got %+v", p.Segments)
				}
				if after := p.Segments[1].ProgramTime; strings.Contains(c.between, "SKIP") != after.IsZero() {
					t.Errorf("the segment after it begins at %v", after)
				}
			}
		})
		t.Run(name+" is refused where each key is made of the number", func(t *testing.T) {
			wantMalformed(t, list(counted), c.defect)
		})
	}
}

func TestAnOddSegmentDoesNotMoveTheOthers(t *testing.T) {
	p := mustRead(t, mediaPlaylist("#EXT-X-MEDIA-SEQUENCE:7", "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00Z", "#EXTINF:5,", "a", "#EXTINF:0,", "b", "#EXTINF:5,", "c"))
	if s := p.Segments[1]; s.Sequence != 9 || !s.ProgramTime.Equal(noon.Add(5*time.Second)) {
		t.Errorf("got %+v", s)
	}
	guessed := mustRead(t, "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00Z\n#EXTINF:long,\na\n#EXTINF:5,\nb\n")
	if s := guessed.Segments[0]; !s.ProgramTime.Equal(noon.Add(6 * time.Second)) {
		t.Errorf("after a segment of unknown length, a target duration later: %+v", s)
	}
	ended := mustRead(t, mediaPlaylist("#EXTINF:0,", "a", "#EXT-X-ENDLIST"))
	if !ended.Ended || len(ended.Segments) != 0 || ended.Defect == "" {
		t.Errorf("the end of a list whose last segment has no length: %+v", ended)
	}
}

func TestAPlaylistWithoutATargetDurationHasThatOfItsLongestSegment(t *testing.T) {
	for _, header := range []string{"", "#EXT-X-TARGETDURATION:0\n", "#EXT-X-TARGETDURATION:long\n"} {
		p := mustRead(t, "#EXTM3U\n"+header+"#EXTINF:4,\na\n#EXTINF:6,\nb\n#EXTINF:5,\nc\n")
		if p.TargetDuration != 6*time.Second || len(p.Segments) != 3 {
			t.Errorf("%q: got %+v", header, p)
		}
		manifesttest.WantDefect(t, p, "EXT-X-TARGETDURATION")
	}
}

func TestAnOddVariantCostsItselfAlone(t *testing.T) {
	const good = "#EXT-X-STREAM-INF:BANDWIDTH=9,CODECS=\"avc1.1,mp4a.40.2\"\nv\n"
	audioOf := func(uri string) string {
		return `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",URI="` + uri + "\"\n"
	}
	const separate = "#EXT-X-STREAM-INF:CODECS=\"avc1.1,mp4a.40.2\",AUDIO=\"a\"\nw\n"
	for name, c := range map[string]struct{ text, want, defect string }{
		"codecs without quotes":              {"#EXT-X-STREAM-INF:BANDWIDTH=600000,CODECS=avc1.42c00b,mp4a.40.2\nv.m3u8\n", "v.m3u8 va", "lacks quotes"},
		"codecs without quotes in the midst": {"#EXT-X-STREAM-INF:CODECS=mp4a.40.2,mp4a.40.5,RESOLUTION=1x2,AUDIO=\"x\"\nv\n", "v va", "lacks quotes"},
		"a variant that cannot be fetched":   {"#EXT-X-STREAM-INF:BANDWIDTH=1\nfile:///x\n" + good, "v va", "the URI of a rendition is not"},
		"a variant without attributes":       {"#EXT-X-STREAM-INF:fast\nu\n" + good, "v va", "EXT-X-STREAM-INF is not an attribute list"},
		"a bandwidth that is no number":      {"#EXT-X-STREAM-INF:BANDWIDTH=fast\nu\n" + good, "u va, v va", "BANDWIDTH is not a number"},
		"a URI of no variant":                {"u\n" + good, "v va", "a URI without EXT-X-STREAM-INF"},
		"a variant without a URI":            {"#EXT-X-STREAM-INF:BANDWIDTH=1\n" + good, "v va", "a second EXT-X-STREAM-INF"},
		"a last variant without a URI":       {good + "#EXT-X-STREAM-INF:BANDWIDTH=1\n", "v va", "between EXT-X-STREAM-INF and its URI"},
		"audio that is no attribute list":    {"#EXT-X-MEDIA:TYPE\n" + good, "v va", "EXT-X-MEDIA is not"},
		"one of two sounds":                  {audioOf("file:///x") + audioOf("s") + separate, "w v, s a", "the URI of an EXT-X-MEDIA is not"},
		"the only sound of a variant":        {audioOf("file:///x") + separate + good, "v va", "the URI of an EXT-X-MEDIA is not"},
		"the end of a media playlist":        {good + "#EXT-X-ENDLIST\n", "v va", ""},
		"a header of a media playlist":       {"#EXT-X-TARGETDURATION:5\n#EXT-X-MEDIA-SEQUENCE:1\n" + good, "v va", ""},
		"a variable that is not used":        {`#EXT-X-DEFINE:QUERYPARAM="token"` + "\n" + good, "v va", ""},
		"a variable that one variant uses":   {`#EXT-X-DEFINE:QUERYPARAM="t"` + "\n#EXT-X-STREAM-INF:BANDWIDTH=1\nu?t={$t}\n" + good, "v va", "a variable (EXT-X-DEFINE)"},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "got", renditionsText(t, "#EXTM3U\n"+c.text), c.want)
			manifesttest.WantDefect(t, mustRead(t, "#EXTM3U\n"+c.text), c.defect)
		})
	}
	t.Run("the only sound of the only variant", func(t *testing.T) {
		wantMalformed(t, "#EXTM3U\n"+audioOf("file:///x")+separate, "the URI of an EXT-X-MEDIA is not")
	})
	t.Run("a bandwidth that is no number is unknown", func(t *testing.T) {
		want := []watch.Rendition{{URL: baseURL + "u", HasVideo: true, HasAudio: true}}
		expect.Equal(t, "got", mustRead(t, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=-1\nu\n").Renditions, want)
	})
}

func TestASegmentHasTheNumbersThatItsPlaylistStates(t *testing.T) { // decision S5
	const entries = "#EXTINF:2,\na.ts\n#EXT-X-DISCONTINUITY\n#EXTINF:2,\nb.ts\n"
	for tags, want := range map[string]struct {
		unnumbered    bool
		discontinuity uint64
	}{
		"#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:3\n":  {false, 4},
		"#EXT-X-MEDIA-SEQUENCE:7\n":                                   {false, 0},
		"#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:-1\n": {false, 0},
		"": {true, 0},
	} {
		p := mustRead(t, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n"+tags+entries)
		if last := p.Segments[1]; last.Unnumbered != want.unnumbered || last.Discontinuity != want.discontinuity {
			t.Errorf("%q: got %+v", tags, last)
		}
	}
}
