package hls_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// live is an ordinary live playlist.
const live = `#EXTM3U
#EXT-X-VERSION:3
#EXT-X-TARGETDURATION:5
#EXT-X-MEDIA-SEQUENCE:7
#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00.000+00:00
#EXTINF:5.0,
a.ts
#EXTINF:4.5,a title, with commas
/b.ts
#EXTINF:5
https://other.example.com/c.ts#fragment
`

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
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
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
			if got, want := mustRead(t, text), mustRead(t, live); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
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
		if got := mustRead(t, mediaPlaylist("#EXTINF:5,", "//x.example.com/y?z=%2F")).Segments[0].URI; got != "https://x.example.com/y?z=%2F" {
			t.Errorf("got %q", got)
		}
	})
}
