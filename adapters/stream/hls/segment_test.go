package hls_test

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

func TestEveryKindOfSegmentIsDecoded(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  []string // each segment's ID, followed by its map's
	}{
		"transport streams":            {[]string{"#EXTINF:5,", "a.ts"}, []string{"a.ts"}},
		"packed audio":                 {[]string{"#EXTINF:5,", "a.aac", "#EXTINF:5,", "b.mp3"}, []string{"a.aac", "b.mp3"}},
		"fragments of one file":        {[]string{`#EXT-X-MAP:URI="f.mp4",BYTERANGE="700@0"`, "#EXTINF:5,", "#EXT-X-BYTERANGE:1000@700", "f.mp4", "#EXTINF:5,", "#EXT-X-BYTERANGE:2000", "f.mp4"}, []string{"f.mp4@700+1000 f.mp4@0+700", "f.mp4@1700+2000 f.mp4@0+700"}},
		"byte ranges of several files": {[]string{"#EXTINF:5,", "#EXT-X-BYTERANGE:10@0", "a", "#EXTINF:5,", "#EXT-X-BYTERANGE:20@0", "b", "#EXTINF:5,", "#EXT-X-BYTERANGE:5@10", "a"}, []string{"a@0+10", "b@0+20", "a@10+5"}},
		"a new encoder with another map": {
			[]string{`#EXT-X-MAP:URI="i1"`, "#EXTINF:5,", "a", "#EXT-X-DISCONTINUITY", `#EXT-X-MAP:URI="i2"`, "#EXTINF:5,", "b", "#EXT-X-DISCONTINUITY", `#EXT-X-MAP:URI="i1"`, "#EXTINF:5,", "c"},
			[]string{"a i1", "b i2", "c i1"},
		},
		"a map applies until the next": {
			[]string{"#EXTINF:5,", "a", `#EXT-X-MAP:URI="i1",BYTERANGE="100@20"`, "", "#EXTINF:5,", "b", "#EXTINF:5,", "c", `#EXT-X-MAP:URI="/i2",BYTERANGE="100"`, "#EXTINF:5,", "d"},
			[]string{"a", "b i1@20+100", "c i1@20+100", "d https://cdn.example.com/i2@0+100"},
		},
		"a range without an offset begins where the one before ended": {
			[]string{"#EXTINF:5,", "#EXT-X-BYTERANGE:10@5", "a", "#EXT-X-BYTERANGE:20", "#EXTINF:5,", "a", "#EXTINF:5,", "#EXT-X-GAP", "#EXT-X-BYTERANGE:30", "a", "#EXTINF:5,", "#EXT-X-BYTERANGE:40", "a", "#EXTINF:5,", "b"},
			[]string{"a@5+10", "a@15+20", "a@65+40", "b"},
		},
		"a map applies after a discontinuity": {[]string{`#EXT-X-MAP:URI="i1"`, "#EXTINF:5,", "a", "#EXT-X-DISCONTINUITY", "#EXTINF:5,", "b"}, []string{"a i1", "b i1"}},
		"a map between EXTINF and the URI":    {[]string{"#EXTINF:5,", `#EXT-X-MAP:URI="i1"`, "a"}, []string{"a i1"}},
		"the same file twice":                 {[]string{"#EXTINF:5,", "a", "#EXT-X-DISCONTINUITY", "#EXTINF:5,", "a"}, []string{"a", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range mustRead(t, mediaPlaylist(c.lines...)).Segments {
				text := strings.TrimPrefix(s.ID(), baseURL)
				if s.Init != nil {
					text += " " + strings.TrimPrefix(watch.Segment{URI: s.Init.URI, Range: s.Init.Range}.ID(), baseURL)
				}
				expect.Equal(t, fmt.Sprintf("the container of %s", text), s.Container, "")
				got = append(got, text)
			}
			expect.Equal(t, "got", got, c.want)
		})
	}
}

func TestCodecNamesAreKnown(t *testing.T) {
	for codecs, want := range map[string]string{
		"avc1.64001f":      video,
		"avc3.64001f":      video,
		"hvc1.1.6.L93.B0":  video,
		"hev1.2.4.L123.B0": video,
		"vp09.00.10.08":    video,
		"vp9":              video,
		"av01.0.04M.08":    video,
		"dvh1.05.06":       video,
		"dav1.10.09":       video,
		"mp4v.20.9":        video,
		"mp4a.40.2":        audio, // AAC-LC
		"mp4a.6B":          audio, // MP3
		"mp3":              audio,
		"Opus":             audio,
		"ac-3":             audio,
		"ec-3":             audio,
		"fLaC":             audio,
		"mhm1.0x0D":        audio,
		"stpp.ttml.im1t":   "",
		"wvtt":             "",
		"new1.2":           video + audio, // unknown
		"hvc1.1,mp4a.40.2": video + audio,
		"vp09.00 , opus":   video + audio,
		"avc1.4d401f,wvtt": video,
		"mp4a.40.2,stpp":   audio,
	} {
		expect.Equal(t, codecs, renditionsText(t, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\""+codecs+"\"\nx\n"), "x "+want)
	}
}

func TestProgramTimesAreExtrapolated(t *testing.T) {
	const stated = "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:"
	segment := func(name string, before ...string) string {
		return strings.Join(append(before, "#EXTINF:5,", name), "\n")
	}
	cases := map[string]struct {
		lines []string
		want  []int // seconds after noon; -1: unknown
	}{
		"unknown without a program time":                   {[]string{segment("a"), segment("b")}, []int{-1, -1}},
		"extrapolated to later segments":                   {[]string{segment("a", stated+"00Z"), segment("b"), segment("c")}, []int{0, 5, 10}},
		"each stated time is used":                         {[]string{segment("a", stated+"00Z"), segment("b", stated+"06Z"), segment("c")}, []int{0, 6, 11}},
		"extrapolated to earlier segments":                 {[]string{segment("a"), segment("b"), segment("c", stated+"30Z"), segment("d")}, []int{20, 25, 30, 35}},
		"not extrapolated past a discontinuity":            {[]string{segment("a", stated+"00Z"), segment("b", "#EXT-X-DISCONTINUITY")}, []int{0, -1}},
		"not extrapolated back past a discontinuity":       {[]string{segment("a"), segment("b", "#EXT-X-DISCONTINUITY"), segment("c", stated+"30Z")}, []int{-1, 25, 30}},
		"stated before the discontinuity tag":              {[]string{segment("a"), segment("b", stated+"30Z", "#EXT-X-DISCONTINUITY"), segment("c")}, []int{-1, 30, 35}},
		"stated after the discontinuity tag":               {[]string{segment("a"), segment("b", "#EXT-X-DISCONTINUITY", stated+"30Z"), segment("c")}, []int{-1, 30, 35}},
		"extrapolated over a gap":                          {[]string{segment("a", stated+"00Z"), segment("b", "#EXT-X-GAP"), segment("c")}, []int{0, 10}},
		"stated between EXTINF and URI":                    {[]string{segment("a"), "#EXTINF:5,\n" + stated + "30Z\nb"}, []int{25, 30}},
		"a zone with a colon":                              {[]string{segment("a", stated[:35]+"T21:00:10.0+09:00")}, []int{10}},
		"a zone without a colon":                           {[]string{segment("a", stated[:35]+"T21:00:10+0900")}, []int{10}},
		"a zone of hours":                                  {[]string{segment("a", stated[:35]+"T21:00:10,000+09")}, []int{10}},
		"ignored without a zone":                           {[]string{segment("a", stated+"00")}, []int{-1}},
		"ignored before 1970":                              {[]string{segment("a", "#EXT-X-PROGRAM-DATE-TIME:1969-06-01T00:00:00Z")}, []int{-1}},
		"used from 1970 on":                                {[]string{segment("a", "#EXT-X-PROGRAM-DATE-TIME:1970-06-01T00:00:00Z")}, []int{-1782216000}},
		"used until 2200":                                  {[]string{segment("a", "#EXT-X-PROGRAM-DATE-TIME:2200-06-01T00:00:00Z")}, []int{5475902400}},
		"ignored after 2200":                               {[]string{segment("a", "#EXT-X-PROGRAM-DATE-TIME:2201-06-01T00:00:00Z")}, []int{-1}}, // decision S1
		"ignored if JSON cannot hold an extrapolated time": {[]string{segment("a", "#EXT-X-PROGRAM-DATE-TIME:9999-12-31T23:59:59Z")}, []int{-1}},
		"an invalid time is extrapolated from the others":  {[]string{segment("a", stated+"00Z"), segment("b", stated+"99Z")}, []int{0, 5}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, mediaPlaylist(c.lines...))
			var got []int
			for _, s := range p.Segments {
				if s.ProgramTime.IsZero() {
					got = append(got, -1)
				} else {
					got = append(got, int(s.ProgramTime.Sub(noon).Seconds()))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

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
			expect.Equal(t, "got", mustRead(t, text).Segments, complete)
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

// live is an ordinary live playlist.
//
//go:embed testdata/live.m3u8
var live string

// mediaPlaylist returns a media playlist of these lines. Its target duration is 10 s.
func mediaPlaylist(lines ...string) string {
	return "#EXTM3U\n#EXT-X-TARGETDURATION:10\n" + strings.Join(lines, "\n") + "\n"
}

func TestAMediaPlaylistBecomesSegments(t *testing.T) {
	t.Run("an ordinary live playlist", func(t *testing.T) {
		got := mustRead(t, live)
		want := watch.Playlist{
			TargetDuration: 5 * time.Second,
			Segments: []watch.Segment{
				{URI: "https://cdn.example.com/live/720p/a.ts", Sequence: 7, Duration: 5 * time.Second, ProgramTime: noon},
				{URI: "https://cdn.example.com/b.ts", Sequence: 8, Duration: 4500 * time.Millisecond, ProgramTime: noon.Add(5 * time.Second)},
				{URI: "https://other.example.com/c.ts", Sequence: 9, Duration: 5 * time.Second, ProgramTime: noon.Add(9500 * time.Millisecond)},
			},
		}
		expect.Equal(t, "got", got, want)
	})
	for name, text := range map[string]string{
		"CRLF":                                  strings.ReplaceAll(live, "\n", "\r\n"),
		"a byte order mark":                     "\ufeff" + live,
		"blank lines":                           strings.ReplaceAll(live, "\n", "\n\n \t\r\n"),
		"comments":                              strings.ReplaceAll(live, "\n", "\n# a comment\n#EXTINFO\n"),
		"white space around lines":              strings.ReplaceAll(live, "\n", " \t\n  "),
		"no newline at its end":                 strings.TrimSuffix(live, "\n"),
		"unknown tags":                          strings.ReplaceAll(live, "#EXTINF", "#EXT-X-FOO:BAR=\"#EXTINF:1\"\n#EXTINF"),
		"a version the library rejects":         strings.ReplaceAll(live, "VERSION:3", "VERSION:3000"),
		"EXT-X-START":                           live + "#EXT-X-START:TIME-OFFSET=NaN\n",
		"a key of method NONE":                  strings.ReplaceAll(live, "#EXTINF", "#EXT-X-KEY:METHOD=NONE\n\n#EXTINF"),
		"a program time after the last segment": live + "#EXT-X-DISCONTINUITY\n#EXT-X-PROGRAM-DATE-TIME:2027-01-01T00:00:00Z\n",
	} {
		t.Run("an ordinary live playlist with "+name, func(t *testing.T) {
			expect.Equal(t, "got", mustRead(t, text), mustRead(t, live))
		})
	}
	t.Run("an invalid second program time changes none", func(t *testing.T) {
		got := mustRead(t, strings.ReplaceAll(live, "#EXTINF:4.5", "#EXT-X-PROGRAM-DATE-TIME:yesterday\n#EXTINF:4.5"))
		if want := mustRead(t, live); !reflect.DeepEqual(got.Segments, want.Segments) {
			t.Errorf("got  %+v\nwant %+v", got.Segments, want.Segments)
		}
		manifesttest.WantDefect(t, got, "EXT-X-PROGRAM-DATE-TIME is not")
	})
	t.Run("segment URLs that look like playlists", func(t *testing.T) {
		p := mustRead(t, youtube)
		if len(p.Segments) != 2 || p.Ended || !strings.Contains(youtube, p.Segments[1].URI+"\n") || p.Segments[1].Sequence != 31875 {
			t.Fatalf("got %+v", p)
		}
	})
	for text, segments := range map[string]int{live + "#EXT-X-ENDLIST\n": 3, "#EXTM3U\n#EXT-X-ENDLIST": 0, "#EXTM3U\n#EXT-X-TARGETDURATION:0\n#EXT-X-ENDLIST\n": 0} {
		if p := mustRead(t, text); !p.Ended || len(p.Segments) != segments {
			t.Errorf("of an ended playlist got %+v", p)
		}
	}
	t.Run("only http and https segments can be fetched", func(t *testing.T) {
		for _, uri := range []string{"file:///etc/passwd", "data:text/plain,x", "ftp://example.com/x", "concat:a|b", "http:///x", "http://", "http:x", "https://[::1/x", "a\x00b", "a\rb", "//a:0=b:"} {
			wantMalformed(t, mediaPlaylist("#EXTINF:5,", uri), "not an http or https URL")
		}
		expect.Equal(t, "got", mustRead(t, mediaPlaylist("#EXTINF:5,", "//x.example.com/y?z=%2F")).Segments[0].URI, "https://x.example.com/y?z=%2F")
	})
}
