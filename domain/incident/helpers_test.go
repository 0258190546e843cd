package incident_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

var eight = time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)

// at is a time in seconds after eight.
func at(sec float64) time.Time { return eight.Add(time.Duration(sec * float64(time.Second))) }

// began is an episode that is detected 30 s after its onset.
func began(name incident.Name, sec float64) incident.Began {
	return incident.Began{Condition: name, StartedAt: at(sec), At: at(sec + 30)}
}

func ended(name incident.Name, sec float64) incident.Ended {
	return incident.Ended{Condition: name, EndedAt: at(sec)}
}

const (
	black  = incident.Name("black")
	silent = incident.Name("silent")
)

// history is the incidents of one monitor, as a store keeps them.
type history struct {
	t       testing.TB
	tracker *incident.Tracker
	all     []*incident.Incident
	log     []incident.EntryKind // but SeverityRaised
	rises   []rise
}

// rise is a line of the log that says that the severity has risen.
type rise struct {
	sec      float64
	severity int
}

func newHistory(t testing.TB) *history {
	return &history{t: t, tracker: incident.NewTracker(nil)}
}

// step takes in inputs at a time and returns how many changes they made.
func (h *history) step(sec float64, inputs ...incident.Input) (changes int) {
	h.t.Helper()
	for _, in := range inputs {
		for _, c := range h.tracker.Step(at(sec), in) {
			changes++
			if c.ID == "" {
				h.all = append(h.all, c.Incident)
				c.ID = fmt.Sprintf("incident-%d", len(h.all))
			}
			for _, e := range c.Log {
				if e.Kind == incident.SeverityRaised {
					h.rises = append(h.rises, rise{e.At.Sub(eight).Seconds(), e.Severity})
				} else {
					h.log = append(h.log, e.Kind)
				}
			}
		}
	}
	return changes
}

func (h *history) take(sec float64, events []event.Event, signals []monitor.Signal) (changes int) {
	h.t.Helper()
	for _, found := range incident.Inputs(events, signals) {
		changes += h.step(sec, found.Input)
	}
	return changes
}

// sweep lets time pass as the gateway does: a tick whenever one is due.
func (h *history) sweep(until float64) {
	for len(h.all) > 0 {
		due := h.newest().DueAt()
		if due.IsZero() || due.After(at(until)) {
			return
		}
		h.step(due.Sub(eight).Seconds(), incident.Tick{})
		if next := h.newest().DueAt(); !next.IsZero() && !next.After(due) {
			h.t.Fatalf("a tick at %v left the incident due at %v", due, next)
		}
	}
}

func (h *history) newest() *incident.Incident { return h.all[len(h.all)-1] }

// describe is an incident on one line, such as "open 2 black+silent-".
func describe(i *incident.Incident) string {
	if i == nil {
		return "none"
	}
	var names []string
	for _, c := range i.Conditions {
		name := string(c.Name)
		if c.Count > 1 {
			name += fmt.Sprintf("×%d", c.Count)
		}
		if c.Lasts() {
			name += "+"
		} else {
			name += "-"
		}
		names = append(names, name)
	}
	text := fmt.Sprintf("%s %d %s", i.State, i.Severity, strings.Join(names, " "))
	if i.Reopened > 0 {
		text += fmt.Sprintf(" reopened %d", i.Reopened)
	}
	if i.AcknowledgedBy != "" {
		text += " ack"
	}
	if i.FalsePositive != nil {
		text += fmt.Sprintf(" false=%v", *i.FalsePositive)
	}
	return text
}

func (h *history) expect(want string) {
	h.t.Helper()
	got := "none"
	if len(h.all) > 0 {
		got = describe(h.newest())
	}
	if got != want {
		h.t.Errorf("the newest incident is %q, want %q", got, want)
	}
}

func alertOf(name detector.Name, sec float64) event.Event {
	d := detector.Table[detector.Index(name)]
	return event.Event{Type: event.Type(d.Alert), At: at(sec + 30), Data: event.Alert{StartedAt: at(sec), DurationSec: 30}}
}

func recoveryOf(name detector.Name, sec, end float64) event.Event {
	d := detector.Table[detector.Index(name)]
	return event.Event{Type: event.Type(d.Recovered), At: at(end), Data: event.Recovered{StartedAt: at(sec), RecoveredAt: at(end)}}
}

func signal(c trouble.Name, start, end float64) monitor.Signal {
	s := monitor.Signal{Condition: c, StartedAt: at(start)}
	if end > 0 {
		s.EndedAt = at(end)
	}
	return s
}
