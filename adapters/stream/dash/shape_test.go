package dash_test

import (
	"embed"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// MPDs as packagers and YouTube write them.
//
//go:embed testdata/*.mpd
var recorded embed.FS

func TestMPDsOfPackagersAreDecoded(t *testing.T) {
	const (
		livesim = "https://livesim.example.com/livesim/testpic_2s/A48/"
		youtube = "https://rr1---sn-a5.googlevideo.com/videoplayback/expire/1795245845/id/AAAA.1/itag/160/source/yt_live_broadcast/sig/AOq0QJ8w%3D/"
	)
	for _, c := range []struct {
		file       string
		renditions string // the kind and the height of each
		part       int    // whose segments are listed
		segments   string // relative to their folder
		init       string
		ended      bool
	}{
		// 12:00:00 is 1795262400: segment 897631199 ends then, and is withheld.
		{"livesim", "video 360, audio 0", 1, "897631193@-14+2 897631194@-12+2 897631195@-10+2 897631196@-8+2 897631197@-6+2 897631198@-4+2", "init.mp4", false},
		{"shaka", "audio 0, video 360", 1, "h264_360p_53100000@-9.875+2 h264_360p_53280000@-7.875+2 h264_360p_53460000@-5.875+2", "h264_360p_init.mp4", false},
		{"shaka", "audio 0, video 360", 0, "audio_26018816@-9.879172336+1.9969160989999999 audio_26106880@-7.882256236+1.9969160989999999 audio_26194944@-5.885340137+1.973696145", "audio_init.mp4", false},
		{"youtube", "audio 0, video 144", 1, "sq/717/lmt/1795000000000001@-15+5 sq/718/lmt/1795000000000001@-10+5 sq/719/lmt/1795000000000001@-5+4.999", "", false},
		{"ffmpeg-timeline", "video 90, audio 0", 0, "chunk-stream0-00001@-4.75+1 chunk-stream0-00002@-3.75+1 chunk-stream0-00003@-2.75+1 chunk-stream0-00004@-1.75+1", "init-stream0", false},
		{"ffmpeg-number", "video 90, audio 0", 1, "chunk-stream1-00001@-4.75+1 chunk-stream1-00002@-3.75+1 chunk-stream1-00003@-2.75+1", "init-stream1", false},
		{"ffmpeg-list", "video 90, audio 0", 0, "chunk-stream0-00001@?+1 chunk-stream0-00002@?+1", "init-stream0", false},
		{"ffmpeg-ended", "video 90, audio 0", 0, "chunk-stream0-00003@?+1 chunk-stream0-00004@?+1 chunk-stream0-00005@?+1 chunk-stream0-00006@?+1 chunk-stream0-00007@?+1", "init-stream0", true},
	} {
		t.Run(fmt.Sprint(c.file, " ", c.part), func(t *testing.T) {
			text := mpd(t, c.file)
			all := renditions(t, text, noon)
			var kinds []string
			for _, r := range all {
				kind := map[bool]string{true: "video", false: "audio"}[r.HasVideo]
				kinds = append(kinds, fmt.Sprint(kind, " ", r.Height))
			}
			if got := strings.Join(kinds, ", "); got != c.renditions {
				t.Fatalf("got %s, want %s", got, c.renditions)
			}
			p := readRendition(t, text, fragmentOf(t, all[c.part]), noon)
			relative := strings.NewReplacer(folder, "", livesim, "", youtube, "", ".m4s", "")
			if got := relative.Replace(summary(p)); got != c.segments || p.Ended != c.ended {
				t.Errorf("ended: %v, got  %s\nwant %s", p.Ended, got, c.segments)
			}
			for _, s := range p.Segments {
				if s.Container != "mp4" || (s.Init == nil) != (c.init == "") || s.Init != nil && relative.Replace(s.Init.URI) != c.init {
					t.Errorf("got %+v", s)
				}
			}
		})
	}
}

// mpd returns a recorded MPD.
func mpd(t testing.TB, name string) string {
	t.Helper()
	return string(must.Get(recorded.ReadFile("testdata/" + name + ".mpd"))(t))
}

// FuzzDecode decodes any text. Every accepted playlist must be valid, and every
// listed rendition must be readable or fail. The corpus in testdata holds small MPDs
// of packagers and texts that once found defects.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"livesim", "shaka", "youtube", "ffmpeg-list", "ffmpeg-number", "ffmpeg-timeline", "ffmpeg-ended", "advertisement"} {
		f.Add(mpd(f, name))
	}
	f.Add(slidingMPD)
	f.Fuzz(func(t *testing.T, text string) {
		all, failure := decode(t, text, "", noon)
		if failure == nil {
			checkPlaylist(t, all, text)
		}
		parts := []string{"kind=video&id=v&bandwidth=1"}
		for i := range all.Renditions {
			if i%8 == 0 {
				parts = append(parts, fragmentOf(t, all.Renditions[i]))
			}
		}
		for _, part := range parts {
			p, failure := decode(t, text, part, noon)
			if failure != nil {
				continue
			}
			checkPlaylist(t, p, text)
			checkLater(t, p, text, part)
		}
		if failure == nil && !(dash.Format{}).Recognises([]byte(text)) {
			t.Error("decoded, but not recognised")
		}
	})
}

func checkPlaylist(t *testing.T, p watch.Playlist, text string) {
	t.Helper()
	manifesttest.CheckPlaylist(t, p, manifesttest.Limits{
		Segments: dash.KeptSegments, Renditions: dash.MaxRepresentations, URL: dash.MaxURL, RangeEnd: dash.MaxRangeEnd, MinDuration: dash.MinDuration, MaxDuration: dash.MaxDuration,
	})
	if len(p.Segments) > 0 && (p.TargetDuration <= 0 || p.TargetDuration > dash.MaxTime) {
		t.Errorf("target duration %v", p.TargetDuration)
	}
	names := map[string]bool{}
	for _, r := range p.Renditions {
		if names[r.URL] {
			t.Errorf("got %+v twice", r)
		}
		names[r.URL] = true
	}
	restarts := 0
	for i := 1; i < len(p.Segments); i++ {
		before, s := p.Segments[i-1], p.Segments[i]
		if !s.ProgramTime.IsZero() && s.ProgramTime.Before(before.ProgramTime) {
			t.Errorf("segment %d at %v comes after one at %v", i, s.ProgramTime, before.ProgramTime)
		}
		if s.Sequence <= before.Sequence {
			restarts++
		}
	}
	if restarts > strings.Count(text, "Period")/2 {
		t.Errorf("the sequence restarted %d times", restarts)
	}
}

// checkLater decodes the same text a second later. A segment listed twice must be
// the same, and the newest must not be older than before.
func checkLater(t *testing.T, before watch.Playlist, text, part string) {
	t.Helper()
	after, failure := decode(t, text, part, noon.Add(time.Second))
	if failure != nil || len(before.Segments) == 0 || before.Segments[0].ProgramTime.IsZero() {
		return // another Period began within the second, or the segments have no times
	}
	if before.Ended && !after.Ended {
		t.Error("the playlist had ended and goes on")
	}
	known := map[string]watch.Segment{}
	for _, s := range before.Segments {
		known[s.ID()+s.ProgramTime.String()] = s
	}
	for _, s := range after.Segments {
		if was, again := known[s.ID()+s.ProgramTime.String()]; again && !reflect.DeepEqual(s, was) && s.Sequence == was.Sequence {
			t.Errorf("got %+v, a second before it was %+v", s, was)
		}
	}
	if n := len(after.Segments); n > 0 {
		was, is := before.Segments[len(before.Segments)-1], after.Segments[n-1]
		if !is.ProgramTime.IsZero() && is.ProgramTime.Before(was.ProgramTime) {
			t.Errorf("the newest was at %v, a second later it is at %v", was.ProgramTime, is.ProgramTime)
		}
	}
}
