package scenario

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// watchedHeight is the smallest quality of a ladder. Nothing happens to it.
const watchedHeight = 144

// rung is a quality of a ladder beside the watched one, and what happens to it.
type rung struct {
	height     int
	state      string // that health shows of it meanwhile
	begin, end livestream.Cue
}

// PlayLadders plays a ladder in HLS and one in DASH. In the first a quality fails, one stands still, one is black and
// one is gone; in the second one is black and one fails. All of it happens at once, for over a minute: a standstill is not told before. The real
// yt-dlp and the real reader find the qualities (decision S22). Each ladder has one alert and one recovery (section 6.8).
func (e *Env) PlayLadders(t *testing.T) {
	t.Helper()
	black, picture := livestream.Cue{Do: livestream.Black}, livestream.Cue{Do: livestream.Picture}
	fail := livestream.Cue{Do: livestream.Fail, Part: livestream.Segments, Fault: httpfault.Status(http.StatusNotFound)}
	heal := livestream.Cue{Do: livestream.Heal, Part: livestream.Segments}
	dash := livestream.Config{Packaging: livestream.Packaging{DASH: livestream.TimelineTime}, Renditions: []livestream.Rendition{livestream.Video144p, livestream.AudioOnly}}
	all := []*ladder{
		e.watchLadder(t, "HLS", livestream.Config{Renditions: []livestream.Rendition{livestream.Muxed144p}},
			rung{360, "black", black, picture}, rung{270, "gone", livestream.Cue{Do: livestream.Unlist}, livestream.Cue{Do: livestream.List}},
			rung{216, "stalled", livestream.Cue{Do: livestream.Freeze}, livestream.Cue{Do: livestream.Thaw}}, rung{180, "failed", fail, heal}),
		e.watchLadder(t, "DASH", dash, rung{360, "failed", fail, heal}, rung{216, "black", black, picture}),
	}
	for _, l := range all {
		l.change(true)
	}
	alerts := map[*ladder]webhookreceiver.Delivery{}
	for _, l := range all {
		alert := l.s.WaitEvent("alert.rendition", 90*time.Second)
		alerts[l] = alert
		t.Logf("%s: %v bad %.0f s after it began", l.name, alert.Data.Measured, alert.Received.Sub(l.changed).Seconds())
		assertShown(l.s, alert)
		assertRenditions(l.s, l.states(true))
		t.Logf("%s: health shows all %.0f s after they began", l.name, time.Since(l.changed).Seconds())
	}
	for _, l := range all {
		l.change(false)
	}
	for _, l := range all {
		recovered := l.s.WaitEvent("alert.rendition_recovered", 90*time.Second)
		t.Logf("%s: good again after %.0f s", l.name, recovered.Received.Sub(l.changed).Seconds())
		assertRenditions(l.s, l.states(false))
		l.s.Eventually(t, time.Minute, "the evidence shows that the quality is good again", func() bool {
			return evidenceOf(l.s, recovered).has("recovery", alerts[l].Data.Measured["height"], 40, 255)
		})
		l.s.End()
		l.s.WaitEvent(Ended, time.Minute)
		l.s.AssertEvents(t, l.s.ID, Started, "alert.rendition", "alert.rendition_recovered", Ended)
	}
}

// ladder is a stream of several qualities that is watched.
type ladder struct {
	name    string
	s       *Stream
	rungs   []rung
	changed time.Time // when change was called
}

// watchLadder adds the rungs to the renditions of a stream, and watches that.
func (e *Env) watchLadder(t *testing.T, name string, c livestream.Config, rungs ...rung) *ladder {
	t.Helper()
	for i, r := range rungs {
		rendition := c.Renditions[0]
		rendition.Itag, rendition.Height, rendition.Width = 1000+i, r.height, r.height/9*16
		rendition.Bandwidth *= 2 + len(rungs) - i
		c.Renditions = append(c.Renditions, rendition)
	}
	return &ladder{name: name, rungs: rungs, s: e.Watch(t, Video{
		Config: c, OwnServer: true, Detectors: map[string]any{"rendition": map[string]any{"threshold_sec": 10}},
	})}
}

// change lets it happen to each rung, or end.
func (l *ladder) change(bad bool) {
	l.changed = time.Now()
	for i, r := range l.rungs {
		cue := r.end
		if bad {
			cue = r.begin
		}
		cue.Itag = 1000 + i
		l.s.Do(cue)
	}
}

// states returns the states of the rungs, by their lines.
func (l *ladder) states(bad bool) map[int]string {
	all := map[int]string{}
	for _, r := range l.rungs {
		if all[r.height] = "ok"; bad {
			all[r.height] = r.state
		}
	}
	return all
}

// assertRenditions waits until health shows these states of all other renditions, by their lines.
func assertRenditions(s *Stream, want map[int]string) {
	s.T.Helper()
	var got map[int]string
	s.Eventually(s.T, 2*time.Minute, fmt.Sprintf("health shows %v", want), func() bool {
		before := got
		got = map[int]string{}
		renditions, _ := s.Health("renditions").([]any)
		for _, each := range renditions {
			r, _ := each.(map[string]any)
			height, _ := r["height"].(float64)
			got[int(height)], _ = r["state"].(string)
		}
		if !maps.Equal(got, before) {
			s.T.Logf("health shows %v", got)
		}
		return maps.Equal(got, want)
	})
}

// assertShown waits for the evidence of alert.rendition. The picture at the onset is of the quality that the alert
// names if that is black. Of any other there is none: then it is of the watched quality, as the picture before always is,
// and the note says so.
func assertShown(s *Stream, alert webhookreceiver.Delivery) {
	s.T.Helper()
	isBlack := alert.Data.Measured["black"] == 1
	s.Eventually(s.T, time.Minute, "the evidence shows the bad quality, or says that nothing can", func() bool {
		shown := evidenceOf(s, alert)
		if isBlack {
			return shown.has("before", watchedHeight, 40, 255) && shown.has("onset", alert.Data.Measured["height"], 0, 20)
		}
		return shown.has("before", watchedHeight, 40, 255) && shown.has("onset", watchedHeight, 40, 255) && strings.Contains(shown.note, "has no picture")
	})
}

// shown is what the evidence of an event has.
type shown struct {
	files []any
	note  string
}

func evidenceOf(s *Stream, event webhookreceiver.Delivery) shown {
	answer, err := s.Service.Call(s.T.Context(), http.MethodGet, "/api/v1/evidence?event_id="+event.EventID, nil)
	records, _ := answer.Body["evidence"].([]any)
	if err != nil || len(records) != 1 {
		return shown{}
	}
	record, _ := records[0].(map[string]any)
	files, _ := record["variants"].([]any)
	note, _ := record["note"].(string)
	return shown{files, note}
}

// has reports whether there is a picture of a quality, with a mean luma from least to most.
func (all shown) has(variant string, height, least, most float64) bool {
	return slices.ContainsFunc(all.files, func(each any) bool {
		f, _ := each.(map[string]any)
		luma, measured := f["measure"].(float64)
		return f["variant"] == variant && f["rendition_height"] == height && measured && least <= luma && luma <= most
	})
}
