package incident_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// spansOf writes the spans of a condition as seconds after eight, such as "0-40 100-".
func spansOf(i *incident.Incident, name incident.Name) string {
	var all []string
	for _, c := range i.Conditions {
		for _, s := range c.Spans {
			if text := fmt.Sprintf("%.0f-", s.StartedAt.Sub(eight).Seconds()); c.Name != name {
				continue
			} else if s.EndedAt.IsZero() {
				all = append(all, text)
			} else {
				all = append(all, fmt.Sprintf("%s%.0f", text, s.EndedAt.Sub(eight).Seconds()))
			}
		}
	}
	return strings.Join(all, " ")
}

func TestAnIncidentThatCameBackKeepsWhenItWasThere(t *testing.T) { // section 16.1
	h := newHistory(t)
	h.step(30, began(silent, 0))
	h.step(100, ended(silent, 95))
	h.step(700, began(silent, 660), began(black, 670))
	h.step(800, ended(silent, 750))
	h.step(830, began(silent, 800), ended(black, 820))
	if got := spansOf(h.newest(), silent); got != "0-95 660-750 800-" {
		t.Errorf("the spans of silent are %q", got)
	}
	if got := spansOf(h.newest(), black); got != "670-820" {
		t.Errorf("the spans of black are %q", got)
	}
	h.step(835, began(silent, 740)) // its end was lost, and its onset is older than the last end
	if got := spansOf(h.newest(), silent); got != "0-95 660-" {
		t.Errorf("spans that overlap are %q", got)
	}
}

func TestSpansBeyondTheMostBecomeOneWhereTheGapIsShortest(t *testing.T) {
	h := newHistory(t)
	for n := range incident.MaxSpans + 1 {
		start := float64(100 * n)
		if n == 7 {
			start -= 50
		}
		h.step(start+30, began(black, start))
		h.step(start+31, ended(black, start+31))
	}
	c := h.newest().Conditions[0]
	if got := strings.Fields(spansOf(h.newest(), black)); len(got) != incident.MaxSpans || got[6] != "600-681" {
		t.Errorf("%d spans, the seventh is %s", len(got), got[6])
	}
	if c.Count != incident.MaxSpans+1 || c.Longest != 31*time.Second {
		t.Errorf("%d episodes, the longest %v", c.Count, c.Longest)
	}
}

func TestTheTroubleOfAnIncidentIsEverySpanOfEveryConditionOnce(t *testing.T) { // section 16.1
	h := newHistory(t)
	h.step(30, began(silent, 0))
	h.step(100, ended(silent, 100), began(black, 50))
	h.step(150, ended(black, 150))
	h.step(730, began(silent, 695))
	i := h.newest()
	for _, tt := range []struct {
		name  string
		spans []incident.Span
		want  time.Duration
		times int
	}{
		{"all", i.Conditions.Trouble(), 185 * time.Second, 2},
		{"silent", i.Conditions[0].Spans, 135 * time.Second, 2},
		{"none", nil, 0, 0},
	} {
		if got := incident.Total(tt.spans, at(730)); got != tt.want || len(tt.spans) != tt.times {
			t.Errorf("%s: %v in %d times, want %v in %d", tt.name, got, len(tt.spans), tt.want, tt.times)
		}
	}
}

func TestAConditionStoredWithoutSpansCanEnd(t *testing.T) { // its row was changed by hand
	i := &incident.Incident{State: incident.Open, Severity: 1, OpenedAt: at(0), Conditions: []incident.Condition{{Name: black, StartedAt: at(0), LastStartedAt: at(0), Count: 1}}}
	incident.NewTracker(i).Step(at(100), incident.MonitorEnded{At: at(100)})
	if c := i.Conditions[0]; c.Lasts() || c.Longest != 100*time.Second {
		t.Errorf("the condition is %+v", c)
	}
}
