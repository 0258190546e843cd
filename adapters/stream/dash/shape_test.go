package dash_test

import (
	"embed"
	"fmt"
	"strings"
	"testing"
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
	text, err := recorded.ReadFile("testdata/" + name + ".mpd")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
