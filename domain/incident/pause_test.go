package incident_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

func TestAPauseResolvesAnIncidentForGood(t *testing.T) { // section 16.9
	paused := incident.Paused{By: "ann"}
	for name, c := range map[string]struct {
		before []incident.Input
		after  func(*history)
		want   []string
		log    []incident.EntryKind
	}{
		"that is open": {[]incident.Input{began(black, 0), began(silent, 10)}, nil, []string{"resolved 2 black- silent-"},
			[]incident.EntryKind{incident.WasOpened, incident.WasPaused}},
		"of an outage and blindness": {[]incident.Input{began(incident.NoMedia, 0), began(incident.Blind, 10)}, nil, []string{"resolved 2 no_media- blind-"},
			[]incident.EntryKind{incident.WasOpened, incident.WasPaused}},
		"that was quiet": {[]incident.Input{began(black, 0), ended(black, 40)}, nil, []string{"resolved 1 black-"},
			[]incident.EntryKind{incident.WasOpened, incident.WasPaused}},
		"in which something goes on after a person has resolved it": {[]incident.Input{began(black, 0), incident.Resolve{By: "bob"}}, nil, []string{"resolved 1 black-"},
			[]incident.EntryKind{incident.WasOpened, incident.WasResolved}},
		"and the same trouble after it is another incident": {[]incident.Input{began(black, 0)}, func(h *history) { h.step(130, began(black, 100)) },
			[]string{"resolved 1 black-", "open 1 black+"}, []incident.EntryKind{incident.WasOpened, incident.WasPaused, incident.WasOpened}},
		"and another pause changes nothing": {[]incident.Input{began(black, 0)}, func(h *history) { h.step(90, paused) },
			[]string{"resolved 1 black-"}, []incident.EntryKind{incident.WasOpened, incident.WasPaused}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.step(60, append(c.before, paused)...)
			if due := h.newest().DueAt(); !due.IsZero() {
				t.Errorf("time changes the incident at %v", due)
			}
			if c.after != nil {
				c.after(h)
			}
			h.expectAll(c.want...)
			if !slices.Equal(h.log, c.log) {
				t.Errorf("the log is %v, want %v", h.log, c.log)
			}
			if first := h.all[0]; first.ResolvedByPause != slices.Contains(c.log, incident.WasPaused) || !first.ResolvedAt.Equal(at(60)) || first.SeverityNow != 0 {
				t.Errorf("the incident is %+v", first)
			}
		})
	}
	h := newHistory(t)
	if h.step(60, incident.Paused{}); len(h.all) > 0 {
		t.Error("a pause of a stream without trouble opens an incident")
	}
	h.step(60, began(black, 0), incident.Paused{})
	h.step(130, began(black, 100)) // nobody knows who has paused it
	h.expectAll("resolved 1 black-", "open 1 black+")
}
