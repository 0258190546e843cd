package hls_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestWindowsOfEverySegmentDurationAndLengthAreDecoded(t *testing.T) {
	for _, length := range []time.Duration{time.Second, 1033 * time.Millisecond, 2 * time.Second, 5005 * time.Millisecond} {
		for _, n := range []int{3, 6, 30, int(time.Hour / length)} {
			t.Run(fmt.Sprintf("%d segments of %v", n, length), func(t *testing.T) {
				text := window(n, length, "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00Z\n")
				p := mustRead(t, text)
				if want := min(n, hls.KeptSegments); len(p.Segments) != want {
					t.Fatalf("got %d segments, want %d", len(p.Segments), want)
				}
				last := p.Segments[len(p.Segments)-1]
				want := watch.Segment{
					URI: baseURL + fmt.Sprint(n-1) + ".ts", Sequence: uint64(1000 + n - 1), Duration: length,
					ProgramTime: noon.Add(time.Duration(n-1) * length),
				}
				if !reflect.DeepEqual(last, want) {
					t.Errorf("the last segment is %+v, want %+v", last, want)
				}
				if p := mustRead(t, window(n, length, "")); !p.Segments[0].ProgramTime.IsZero() || p.Segments[len(p.Segments)-1].Sequence != want.Sequence {
					t.Errorf("without program times: first %+v, last %+v", p.Segments[0], p.Segments[len(p.Segments)-1])
				}
			})
		}
	}
}

func window(n int, length time.Duration, before string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-TARGETDURATION:%.0f\n#EXT-X-MEDIA-SEQUENCE:1000\n%s", length.Seconds()+0.5, before)
	for i := range n {
		fmt.Fprintf(&b, "#EXTINF:%.3f,\n%d.ts\n", length.Seconds(), i)
	}
	return b.String()
}

func TestEveryKindOfSegmentIsDecoded(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  []string // each segment's ID, followed by its map's
	}{
		"transport streams":            {[]string{"#EXTINF:5,", "a.ts"}, []string{"a.ts"}},
		"packed audio":                 {[]string{"#EXTINF:5,", "a.aac", "#EXTINF:5,", "b.mp3"}, []string{"a.aac", "b.mp3"}},
		"fragments with a map":         {[]string{`#EXT-X-MAP:URI="i.mp4"`, "#EXTINF:5,", "a.m4s", "#EXTINF:5,", "b.m4s"}, []string{"a.m4s i.mp4", "b.m4s i.mp4"}},
		"fragments of one file":        {[]string{`#EXT-X-MAP:URI="f.mp4",BYTERANGE="700@0"`, "#EXTINF:5,", "#EXT-X-BYTERANGE:1000@700", "f.mp4", "#EXTINF:5,", "#EXT-X-BYTERANGE:2000", "f.mp4"}, []string{"f.mp4@700+1000 f.mp4@0+700", "f.mp4@1700+2000 f.mp4@0+700"}},
		"byte ranges of several files": {[]string{"#EXTINF:5,", "#EXT-X-BYTERANGE:10@0", "a", "#EXTINF:5,", "#EXT-X-BYTERANGE:20@0", "b", "#EXTINF:5,", "#EXT-X-BYTERANGE:5@10", "a"}, []string{"a@0+10", "b@0+20", "a@10+5"}},
		"a new encoder with another map": {
			[]string{`#EXT-X-MAP:URI="i1"`, "#EXTINF:5,", "a", "#EXT-X-DISCONTINUITY", `#EXT-X-MAP:URI="i2"`, "#EXTINF:5,", "b", "#EXT-X-DISCONTINUITY", `#EXT-X-MAP:URI="i1"`, "#EXTINF:5,", "c"},
			[]string{"a i1", "b i2", "c i1"},
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
				if s.Container != "" {
					t.Errorf("%s has container %q, want none", text, s.Container)
				}
				got = append(got, text)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCodecNamesAreKnown(t *testing.T) {
	for codecs, want := range map[string]string{
		"avc1.64001f":       video,
		"avc3.64001f":       video,
		"hvc1.1.6.L93.B0":   video,
		"hev1.2.4.L123.B0":  video,
		"vp09.00.10.08":     video,
		"vp9":               video,
		"av01.0.04M.08":     video,
		"dvh1.05.06":        video,
		"dav1.10.09":        video,
		"mp4v.20.9":         video,
		"mp4a.40.2":         audio, // AAC-LC
		"mp4a.40.5":         audio, // HE-AAC
		"mp4a.40.29":        audio, // HE-AAC v2
		"mp4a.40.42":        audio, // xHE-AAC
		"mp4a.40.34":        audio, // MP3
		"mp4a.69":           audio, // MP3, half the sampling rate
		"mp4a.6B":           audio, // MP3
		"mp3":               audio,
		"Opus":              audio,
		"mp4a.ad":           audio, // Opus
		"ac-3":              audio,
		"ec-3":              audio,
		"fLaC":              audio,
		"mhm1.0x0D":         audio,
		"stpp.ttml.im1t":    "",
		"wvtt":              "",
		"new1.2":            video + audio, // unknown
		"hvc1.1,mp4a.40.2":  video + audio,
		"vp09.00 , opus":    video + audio,
		"av01.0,mp4a.40.34": video + audio,
		"avc1.4d401f,wvtt":  video,
		"mp4a.40.2,stpp":    audio,
	} {
		t.Run(codecs, func(t *testing.T) {
			got := renditionsText(t, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\""+codecs+"\"\nx\n")
			if got != "x "+want {
				t.Errorf("got %q, want %q", got, "x "+want)
			}
		})
	}
}
