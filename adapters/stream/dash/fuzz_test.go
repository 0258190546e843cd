package dash_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FuzzDecode feeds a Format anything: what it accepts keeps its promises, and
// what it lists it can read. The corpus in testdata is what packagers write, in
// small, and what found defects.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{livesim, shaka, youtube, withAd, sliding} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, failure := decode(t, text, "", noon)
		if failure == nil {
			checkPromises(t, all, text)
		}
		parts := []string{"kind=video&id=v&bandwidth=1"}
		for i := range all.Renditions {
			if i%8 == 0 {
				parts = append(parts, partOf(t, all.Renditions[i]))
			}
		}
		for _, part := range parts {
			p, failure := decode(t, text, part, noon)
			if failure != nil {
				continue
			}
			checkPromises(t, p, text)
			checkLater(t, p, text, part)
		}
		if failure == nil && !(dash.Format{}).Recognises([]byte(text)) {
			t.Error("decoded, but not recognised")
		}
	})
}

func checkPromises(t *testing.T, p watch.Playlist, text string) {
	t.Helper()
	if len(p.Renditions) > 0 == (len(p.Segments) > 0 || p.Ended) {
		t.Errorf("neither or both kinds: %+v", p)
	}
	if len(p.Segments) > dash.KeptSegments || len(p.Renditions) > dash.MaxRepresentations {
		t.Errorf("%d segments, %d renditions", len(p.Segments), len(p.Renditions))
	}
	if len(p.Segments) > 0 && (p.TargetDuration <= 0 || p.TargetDuration > dash.MaxTime) {
		t.Errorf("target duration %v", p.TargetDuration)
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
	names := map[string]bool{}
	for _, r := range p.Renditions {
		checkURL(t, r.URL)
		if r.Height < 0 || r.Bandwidth < 0 || !r.HasVideo && !r.HasAudio || names[r.URL] {
			t.Errorf("got %+v", r)
		}
		names[r.URL] = true
	}
	restarts := 0
	for i, s := range p.Segments {
		checkURL(t, s.URI)
		if s.Duration < dash.MinDuration || s.Duration > dash.MaxDuration {
			t.Errorf("segment %d: %+v", i, s)
		}
		if i > 0 {
			before := p.Segments[i-1]
			if !s.ProgramTime.IsZero() && s.ProgramTime.Before(before.ProgramTime) {
				t.Errorf("segment %d at %v comes after one at %v", i, s.ProgramTime, before.ProgramTime)
			}
			if s.Sequence <= before.Sequence {
				restarts++
			}
		}
		ranges := []*watch.ByteRange{s.Range}
		if s.Init != nil {
			checkURL(t, s.Init.URI)
			ranges = append(ranges, s.Init.Range)
		}
		for _, r := range ranges {
			if r != nil && (r.Offset < 0 || r.Length <= 0 || r.Offset+r.Length > dash.MaxRangeEnd) {
				t.Errorf("segment %d: %+v", i, r)
			}
		}
	}
	if restarts > strings.Count(text, "Period")/2 {
		t.Errorf("numbers begin again %d times", restarts)
	}
}

// checkLater reads the same a little later: what is listed both times is the
// same, and nothing is gone from the end.
func checkLater(t *testing.T, before watch.Playlist, text, part string) {
	t.Helper()
	after, failure := decode(t, text, part, noon.Add(time.Second))
	if failure != nil || len(before.Segments) == 0 || before.Segments[0].ProgramTime.IsZero() {
		return // in the second another Period began, or it has no times
	}
	if before.Ended && !after.Ended {
		t.Error("it has not ended any more")
	}
	known := map[string]watch.Segment{}
	for _, s := range before.Segments {
		known[s.ID()+s.ProgramTime.String()] = s
	}
	for _, s := range after.Segments {
		if was, again := known[s.ID()+s.ProgramTime.String()]; again && !reflect.DeepEqual(s, was) && s.Sequence == was.Sequence {
			t.Errorf("%+v was %+v", s, was)
		}
	}
	if n := len(after.Segments); n > 0 {
		was, is := before.Segments[len(before.Segments)-1], after.Segments[n-1]
		if !is.ProgramTime.IsZero() && is.ProgramTime.Before(was.ProgramTime) {
			t.Errorf("the newest was at %v, a second later it is at %v", was.ProgramTime, is.ProgramTime)
		}
	}
}

func checkURL(t *testing.T, raw string) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(raw, "\r\n\x00") {
		t.Errorf("not a URL to fetch: %q", raw)
	}
}
