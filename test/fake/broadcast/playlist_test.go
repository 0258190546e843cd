package broadcast_test

import (
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
)

// playlistCase is a broadcast of a shape that began a time ago, and the parts and the
// segments that its media playlist must have.
type playlistCase struct {
	shape   broadcast.Shape
	elapsed time.Duration
	has     []string
	hasNot  []string
	uris    string
}

func checkPlaylists(t *testing.T, cases map[string]playlistCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, c.check)
	}
}

func (c playlistCase) check(t *testing.T) {
	b, server := startAt(t, c.shape, c.elapsed)
	base := server.URL + "/itag/91/"
	if c.shape.Demuxed {
		base = server.URL + "/itag/269/"
	}
	text := mustGet(t, base+"index.m3u8")
	for _, want := range c.has {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, unwanted := range c.hasNot {
		if strings.Contains(text, unwanted) {
			t.Errorf("unwanted %q in\n%s", unwanted, text)
		}
	}
	var uris []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			uris = append(uris, strings.TrimSpace(line))
		}
	}
	if got := strings.Join(uris, " "); got != c.uris {
		t.Errorf("lists %s, want %s", got, c.uris)
	}
	for _, uri := range uris {
		want := http.StatusOK
		if len(c.shape.Gaps) > 0 && uri == "seg-14.ts" {
			want = http.StatusNotFound
		}
		if status, _ := get(t, base+uri); status != want {
			t.Errorf("%s: status %d, want %d", uri, status, want)
		}
	}
	next := "seg-" + strconv.Itoa(1+number(t, uris[len(uris)-1])) + path.Ext(uris[0])
	if status, _ := get(t, base+next); status != http.StatusNotFound {
		t.Errorf("status %d of %s, which is not published yet", status, next)
	}
	if notFound := b.NotFound(); notFound[len(notFound)-1] != next {
		t.Errorf("NotFound = %v, want %s last", notFound, next)
	}
}

func TestAMediaPlaylistDescribesTheWindow(t *testing.T) {
	checkPlaylists(t, map[string]playlistCase{
		"a sliding window": {
			broadcast.Shape{}, 33 * time.Second,
			[]string{"#EXT-X-MEDIA-SEQUENCE:10\n#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:20.000Z\n#EXTINF:2.000000,\nseg-10.ts\n#EXTINF"},
			[]string{"ENDLIST", "DISCONTINUITY", "KEY"}, "seg-10.ts seg-11.ts seg-12.ts seg-13.ts seg-14.ts seg-15.ts",
		},
		"the end": {
			broadcast.Shape{Window: 3}, 62 * time.Second, []string{"#EXTINF:2.000000,\nseg-30.ts\n#EXT-X-ENDLIST\n"}, nil, "seg-28.ts seg-29.ts seg-30.ts",
		},
		"a short segment at the end": {
			broadcast.Shape{Window: 3, Segment: 5 * time.Second}, 62 * time.Second, []string{"#EXTINF:2.000000,\nseg-12.ts\n#EXT-X-ENDLIST\n"}, nil, "seg-10.ts seg-11.ts seg-12.ts",
		},
		"no program time": {broadcast.Shape{Window: 3, ProgramTime: broadcast.NoDateTime}, 33 * time.Second, nil, []string{"PROGRAM-DATE-TIME"}, "seg-13.ts seg-14.ts seg-15.ts"},
		"fMP4":            {broadcast.Shape{Window: 3, Container: broadcast.FMP4}, 33 * time.Second, []string{"#EXT-X-MAP:URI=\"init-0.mp4\"\n"}, nil, "seg-13.m4s seg-14.m4s seg-15.m4s"},
		"a gap": {
			broadcast.Shape{Window: 3, Gaps: []time.Duration{29 * time.Second}}, 33 * time.Second, []string{"#EXT-X-VERSION:8", "#EXT-X-GAP\n#EXTINF:2.000000,\nseg-14.ts\n"}, nil,
			"seg-13.ts seg-14.ts seg-15.ts",
		},
	})
}

func TestAMediaPlaylistNamesTheKeys(t *testing.T) {
	checkPlaylists(t, map[string]playlistCase{
		"ffmpeg's key": {
			broadcast.Shape{Window: 3, Keys: broadcast.ByFFmpeg}, 33 * time.Second, []string{"#EXT-X-KEY:METHOD=AES-128,URI=\"key-0.bin\",IV=0x0000"}, nil, "seg-13.ts seg-14.ts seg-15.ts",
		},
		"a rotating key, with and without an IV": {
			broadcast.Shape{Window: 3, Keys: broadcast.Rotating}, 33 * time.Second,
			[]string{"URI=\"key-4.bin\",IV=0x", "seg-14.ts\n#EXT-X-KEY:METHOD=AES-128,URI=\"key-5.bin\"\n"}, nil, "seg-13.ts seg-14.ts seg-15.ts",
		},
		"a key for the map": {
			broadcast.Shape{Window: 3, Keys: broadcast.Rotating, Container: broadcast.FMP4}, 33 * time.Second,
			[]string{"URI=\"key-4.bin\",IV=0x", "#EXT-X-MAP:URI=\"init-0.4.mp4\"", "URI=\"key-5.bin\",IV=0x", "#EXT-X-MAP:URI=\"init-0.5.mp4\""}, nil,
			"seg-13.m4s seg-14.m4s seg-15.m4s",
		},
	})
}

func TestAMediaPlaylistDescribesAReconnection(t *testing.T) {
	checkPlaylists(t, map[string]playlistCase{
		"a discontinuity": {
			broadcast.Shape{Window: 3, Reconnect: 30 * time.Second, ReconnectGap: 3 * time.Second}, 35 * time.Second,
			[]string{"#EXT-X-DISCONTINUITY-SEQUENCE:0\n", "seg-14.ts\n#EXT-X-DISCONTINUITY\n#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:33.000Z\n#EXTINF:2.000000,\nseg-15.ts\n"}, nil,
			"seg-13.ts seg-14.ts seg-15.ts",
		},
		"a discontinuity at the first entry": {
			broadcast.Shape{Window: 3, Reconnect: 30 * time.Second}, 36 * time.Second,
			[]string{"#EXT-X-DISCONTINUITY-SEQUENCE:0\n#EXT-X-DISCONTINUITY\n"}, nil, "seg-15.ts seg-16.ts seg-17.ts",
		},
		"a discontinuity before the first entry": {
			broadcast.Shape{Window: 3, Reconnect: 30 * time.Second}, 38 * time.Second,
			[]string{"#EXT-X-DISCONTINUITY-SEQUENCE:1\n"}, []string{"DISCONTINUITY\n"}, "seg-16.ts seg-17.ts seg-18.ts",
		},
		"a reconnection without a discontinuity": {
			broadcast.Shape{Window: 3, Reconnect: 30 * time.Second, NoDiscontinuity: true}, 36 * time.Second, nil, []string{"DISCONTINUITY"}, "seg-15.ts seg-16.ts seg-17.ts",
		},
	})
}

func TestALowLatencyPlaylistHasPartsAndSkips(t *testing.T) {
	checkPlaylists(t, map[string]playlistCase{
		"a delta update": {
			broadcast.Shape{Window: 15, Delta: true}, 33 * time.Second,
			[]string{"CAN-SKIP-UNTIL=12.0", "#EXT-X-MEDIA-SEQUENCE:1\n#EXT-X-SKIP:SKIPPED-SEGMENTS=9\n#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:20.000Z\n"}, nil,
			"seg-10.ts seg-11.ts seg-12.ts seg-13.ts seg-14.ts seg-15.ts",
		},
		"parts, and reports of the other rendition": {
			broadcast.Shape{Window: 3, Parts: true, Demuxed: true, Container: broadcast.FMP4}, 33 * time.Second,
			[]string{
				"CAN-BLOCK-RELOAD=YES", "#EXT-X-PART-INF:PART-TARGET=1.000", "URI=\"seg-15.1.m4s\",INDEPENDENT=YES\n#EXTINF:2.000000,\nseg-15.m4s\n",
				"#EXT-X-PART:DURATION=1.000000,URI=\"seg-16.0.m4s\",INDEPENDENT=YES\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"seg-16.1.m4s\"\n",
				"#EXT-X-RENDITION-REPORT:URI=\"../234/index.m3u8\",LAST-MSN=15,LAST-PART=1\n",
			}, nil, "seg-13.m4s seg-14.m4s seg-15.m4s",
		},
	})
}

// number returns the number in a segment's name.
func number(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(name))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheByteRangesCoverTheWholeFile(t *testing.T) {
	_, server := startAt(t, broadcast.Shape{SingleFile: true, Container: broadcast.FMP4}, 33*time.Second)
	text := mustGet(t, server.URL+"/itag/91/index.m3u8")
	found := regexp.MustCompile(`#EXT-X-BYTERANGE:(\d+)@(\d+)\nmedia-0.m4s`).FindAllStringSubmatch(text, -1)
	if len(found) != 6 {
		t.Fatalf("%d byte ranges, want 6 in\n%s", len(found), text)
	}
	length, _ := strconv.Atoi(found[5][1])
	offset, _ := strconv.Atoi(found[5][2])
	if file := mustGet(t, server.URL+"/itag/91/media-0.m4s"); len(file) != length+offset {
		t.Errorf("the file has %d bytes, the last range ends at %d", len(file), length+offset)
	}
}

func TestTheHistoryContinuesIntoTheRecording(t *testing.T) {
	_, server := startAt(t, broadcast.Shape{Segment: time.Second, History: time.Hour}, 30*time.Second)
	text := mustGet(t, server.URL+"/itag/91/index.m3u8")
	if n := strings.Count(text, "#EXTINF"); n != 3600 {
		t.Errorf("%d segments, want 3600", n)
	}
	if want := "#EXT-X-MEDIA-SEQUENCE:30\n#EXT-X-PROGRAM-DATE-TIME:2026-11-21T11:00:30.000Z\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in %s", want, text[:300])
	}
	t.Run("frames are evenly spaced where the recording begins", func(t *testing.T) {
		all := ""
		for n := 3596; n < 3604; n++ { // the recording begins with 3600
			all += mustGet(t, server.URL+"/itag/91/seg-"+strconv.Itoa(n)+".ts")
		}
		times := frameTimes(t, all)
		for i := 1; i < len(times); i++ {
			if step := times[i] - times[i-1]; step < 0.06 || step > 0.07 {
				t.Fatalf("frame %d of %d begins %v s after the one before", i, len(times), step)
			}
		}
		if len(times) != 8*15 {
			t.Errorf("%d frames, want %d", len(times), 8*15)
		}
	})
}

func TestALowLatencyRequestWaitsForItsPart(t *testing.T) {
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := library.Start(t.Context(), broadcast.Shape{Parts: true}, broadcast.Config{Preroll: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, b)
	start := time.Now()
	if text := mustGet(t, server+"/itag/91/index.m3u8?_HLS_msn=10&_HLS_part=0"); !strings.Contains(text, "seg-10.0.ts\",INDEPENDENT") {
		t.Errorf("the requested part is not in\n%s", text)
	}
	if part := mustGet(t, server+"/itag/91/seg-10.1.ts"); len(part) == 0 {
		t.Error("the part is empty")
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("both requests took %v, want 1 s at least", took)
	}
	if status, _ := get(t, server+"/itag/91/seg-30.0.ts"); status != http.StatusNotFound {
		t.Errorf("status %d of a part that is too far ahead", status)
	}
}
