package acceptance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// historyDelay is how much later than the truth a state of the timeline may change. It
// covers the next check, its report and the reading of the last segment.
const historyDelay = 8*time.Second + busyMachine

// The timeline, the minutes and the totals show a quiet, a silent and a black part
// (section 16.3).
func TestTheHistoryShowsWhatHappened(t *testing.T) {
	runTimeline(t, 1, 150*time.Second)
	began := time.Now()
	p := watchStream(t, shared, livestream.Config{}, nil)
	quiet := p.Quiet(true).Add(time.Second) // the quiet part may begin at the end of a minute
	p.sleepUntil(quiet, 14*time.Second)
	p.Quiet(false)
	p.sleepUntil(quiet.Truncate(time.Minute), time.Minute+5*time.Second) // silence in another minute
	silent := p.Silence(true)
	p.waitEvent("alert.silence", 60*time.Second)
	sound := p.Silence(false)
	p.waitEvent("alert.silence_recovered", 60*time.Second)
	black := p.Black(true)
	p.waitEvent(blackoutAlert, 60*time.Second)
	picture := p.Black(false)
	p.waitEvent(blackoutRecovered, 60*time.Second)
	var timeline timelineAnswer
	eventually(t, 12*time.Second, "a heartbeat has brought the last minute", func() bool {
		timeline = readTimeline(t, p.id, began, time.Now().Add(time.Minute), time.Second)
		luma := timeline.at(t, black.Add(4*time.Second)).Luma
		return luma != nil && luma.Min <= 5 && slices.ContainsFunc(timeline.Buckets, func(b timelineBucket) bool {
			return b.From.After(picture) && b.Video != nil && b.Video.State == "ok"
		})
	})
	t.Run("the lanes", func(t *testing.T) {
		timeline.assertState(t, "audio", "silent", silent, sound)
		timeline.assertState(t, "video", "black", black, picture)
		for _, b := range timeline.Buckets {
			if lane := b.Segments; lane != nil && lane.State == "no_media" {
				t.Errorf("no media at %s", b.From)
			}
			if b.From.After(time.Now()) && (b.Stream != nil || b.Video != nil) {
				t.Errorf("the future, %s, is %+v", b.From, b.Stream)
			}
		}
	})
	t.Run("luma and level", func(t *testing.T) {
		minute := timeline.at(t, quiet)
		if l := minute.Level; l == nil || l.Min < -40 || l.Min > -30 || l.Max > -12 {
			t.Errorf("the quiet minute has the level %+v, want a lowest one near -36 dBFS", l)
		}
		if l := timeline.at(t, silent.Add(2*time.Second)).Level; l == nil || l.Min > -60 || l.Max < -20 {
			t.Errorf("the silent minute has the level %+v", l)
		}
		if l := timeline.at(t, black.Add(4*time.Second)).Luma; l == nil || l.Min > 5 || l.Max < 60 {
			t.Errorf("the black minute has the luma %+v", l)
		}
	})
	t.Run("the totals", func(t *testing.T) {
		var stats struct{ Total totals }
		call(t, "/api/v1/statistics?by=hour&zone=Asia/Tokyo&monitor_id="+p.id, &stats)
		stats.Total.assert(t, sound.Sub(silent), picture.Sub(black))
		var sessions struct {
			Sessions []struct {
				totals
				EndedAt *time.Time `json:"ended_at"`
			}
		}
		call(t, "/api/v1/monitors/"+p.id+"/sessions", &sessions)
		if len(sessions.Sessions) != 1 || sessions.Sessions[0].EndedAt != nil {
			t.Fatalf("the sessions are %+v", sessions)
		}
		sessions.Sessions[0].assert(t, sound.Sub(silent), picture.Sub(black))
	})
	p.endAndAssert("alert.silence", "alert.silence_recovered", blackoutAlert, blackoutRecovered)
}

// timelineAnswer is the answer of GET …/timeline.
type timelineAnswer struct {
	Buckets []timelineBucket
}

type timelineBucket struct {
	From                           time.Time
	Stream, Video, Audio, Segments *struct{ State string }
	Luma, Level                    *struct{ Min, Mean, Max float64 }
}

// readTimeline reads a timeline in buckets of about the given width.
func readTimeline(t *testing.T, id string, from, to time.Time, width time.Duration) (answer timelineAnswer) {
	t.Helper()
	at := func(t time.Time) string { return url.QueryEscape(t.Format(time.RFC3339Nano)) }
	call(t, fmt.Sprintf("/api/v1/monitors/%s/timeline?from=%s&to=%s&buckets=%d", id, at(from), at(to), to.Sub(from)/width), &answer)
	return answer
}

// at returns the bucket of a time.
func (a timelineAnswer) at(t *testing.T, at time.Time) (found timelineBucket) {
	t.Helper()
	for _, b := range a.Buckets {
		if !b.From.After(at) {
			found = b
		}
	}
	return found
}

// assertState asserts that a lane had the state from from until to and at no other time,
// each moment up to historyDelay late.
func (a timelineAnswer) assertState(t *testing.T, lane, state string, from, to time.Time) {
	t.Helper()
	var first, last time.Time
	for _, b := range a.Buckets {
		shown := map[string]*struct{ State string }{"video": b.Video, "audio": b.Audio}[lane]
		if shown == nil || shown.State != state {
			continue
		}
		if first.IsZero() {
			first = b.From
		}
		last = b.From
	}
	t.Logf("%s is %s from %s after the truth until %s after it", lane, state, first.Sub(from), last.Sub(to))
	assertAfter(t, lane+" begins to be "+state, first, from.Add(-time.Second), historyDelay)
	assertAfter(t, lane+" is no longer "+state, last, to.Add(-time.Second), historyDelay)
}

// totals are those of statistics and sessions.
type totals struct {
	Seconds     map[string]float64
	Alerts      int
	Incidents   int
	TimeToAlert *struct{ Mean, Max float64 } `json:"time_to_alert_sec"`
}

func (s totals) assert(t *testing.T, silent, black time.Duration) {
	t.Helper()
	t.Logf("totals: %+v", s)
	for word, want := range map[string]time.Duration{"silent": silent, "black": black} {
		if got := s.Seconds[word]; got < max(want-historyDelay, 2*time.Second).Seconds() || got > (want+historyDelay).Seconds() {
			t.Errorf("%s for %v s, want about %s", word, got, want)
		}
	}
	if s.Seconds["watched"] < 30 || s.Seconds["out"] != 0 || s.Seconds["blind"] != 0 || s.Alerts != 2 || s.Incidents < 1 || s.TimeToAlert == nil || s.TimeToAlert.Max > 20+busyMachine.Seconds() {
		t.Errorf("the totals are %+v", s)
	}
}

// call reads the JSON of a path of the public API.
func call(t *testing.T, path string, answer any) {
	t.Helper()
	r, err := shared.Service.Call(t.Context(), "GET", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != http.StatusOK {
		t.Fatalf("%s answers %d: %v", path, r.Status, r.Body)
	}
	raw, err := json.Marshal(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		t.Fatal(err)
	}
}
