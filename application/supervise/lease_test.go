package supervise

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Decision O3: three reports, 30 s; looked at every 5 s.
func TestLeases(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(sec int) time.Time { return start.Add(time.Duration(sec) * time.Second) }
	standing := func(updated time.Time, idle time.Duration) Standing {
		return Standing{Monitor: monitor.Monitor{ID: "mon-a", Generation: 1, UpdatedAt: updated}, Idle: idle}
	}
	type look struct {
		at     int // s
		m      Standing
		inView bool
		silent bool
	}
	hour := time.Hour
	for _, c := range []struct {
		name  string
		looks []look
	}{
		{"one that reports is not silent", []look{
			{0, standing(start, 0), true, false}, {10, standing(at(9), 0), true, false}, {20, standing(at(19), 0), true, false},
			{30, standing(at(29), 0), true, false}, {40, standing(at(39), 0), true, false},
		}},
		{"one that stopped reporting is silent after 30 s, not before", []look{
			{0, standing(start, 0), true, false}, {15, standing(start, 0), true, false},
			{29, standing(start, 0), true, false}, {30, standing(start, 0), true, true},
		}},
		{"a step of the database's clock ends no lease, and begins one", []look{
			{0, standing(start, 0), true, false}, {10, standing(start, hour), true, false}, {20, standing(start, hour), true, false},
			{25, standing(at(25).Add(-hour), 0), true, false}, {35, standing(at(25).Add(-hour), 0), true, false},
			{50, standing(at(25).Add(-hour), 0), true, false}, {55, standing(at(25).Add(-hour), 0), true, true},
		}},
		{"at first sight the database's word counts for one that is out of view", []look{
			{0, standing(start, 20*time.Second), false, false}, {9, standing(start, 29*time.Second), false, false},
			{10, standing(start, 30*time.Second), false, true},
		}},
		{"and not for one in view: nobody may have been there to report to", []look{
			{0, standing(start, hour), true, false}, {15, standing(start, hour), true, false}, {29, standing(start, hour), true, false},
			{30, standing(start, hour), true, true},
		}},
		{"a gap between looks is nobody's silence", []look{
			{0, standing(start, 0), true, false}, {14, standing(start, 0), true, false},
			{60, standing(start, 0), true, false}, {75, standing(start, 0), true, false}, {89, standing(start, 0), true, false},
			{90, standing(start, 0), true, true},
		}},
		{"nor is one in which it was first seen out of view", []look{
			{0, Standing{Monitor: monitor.Monitor{ID: "mon-b"}}, true, false},
			{60, standing(start, hour), false, false}, {75, standing(start, hour), false, false},
		}},
		{"a launch begins a lease", []look{
			{0, standing(start, 0), true, false}, {15, standing(start, 0), true, false},
			{29, Standing{Monitor: monitor.Monitor{ID: "mon-a", Generation: 2, UpdatedAt: start}}, true, false},
			{40, Standing{Monitor: monitor.Monitor{ID: "mon-a", Generation: 2, UpdatedAt: start}}, true, false},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLeases(30*time.Second, 5*time.Second)
			for _, k := range c.looks {
				l.look(at(k.at))
				if got := l.silent(k.m, k.inView); got != k.silent {
					t.Errorf("at %d s: silent is %v, want %v", k.at, got, k.silent)
				}
			}
		})
	}

	t.Run("who has ended is forgotten", func(t *testing.T) {
		l := newLeases(30*time.Second, 5*time.Second)
		l.look(at(0))
		l.silent(standing(start, 0), true)
		l.keep(nil)
		if len(l.signs) != 0 {
			t.Error("remembered")
		}
	})
}
