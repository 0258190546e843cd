package dash_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FuzzDecode decodes any text. Every accepted playlist must be valid, and every
// listed rendition must be readable or fail. The corpus in testdata holds small MPDs
// of packagers and texts that once found defects.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"livesim", "shaka", "youtube", "ffmpeg-list", "ffmpeg-number", "ffmpeg-timeline", "ffmpeg-ended"} {
		f.Add(mpd(f, name))
	}
	f.Add(advertisementMPD)
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
