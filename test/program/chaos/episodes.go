//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// episode is a blackout or a silence, as expected or as reported.
type episode struct {
	condition string // blackout, silence
	from, to  time.Time
}

// reportedEpisodes returns the episodes that a monitor's events report, in
// order. problems lists violations: alerts and recoveries must alternate.
func (m *monitorRecord) reportedEpisodes() (episodes []episode, problems []string) {
	open := map[string]*episode{}
	for _, event := range m.events {
		var body struct {
			Data struct {
				StartedAt   time.Time `json:"started_at"`
				RecoveredAt time.Time `json:"recovered_at"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(event.body), &body); err != nil {
			problems = append(problems, fmt.Sprintf("event %s: %v", event.id, err))
			continue
		}
		condition, isAlert := strings.CutPrefix(event.eventType, "alert.")
		condition, recovered := strings.CutSuffix(condition, "_recovered")
		switch {
		case !isAlert:
		case condition != "blackout" && condition != "silence":
			problems = append(problems, fmt.Sprintf("unexpected %s: %s", event.eventType, event.body))
		case recovered && open[condition] == nil:
			problems = append(problems, fmt.Sprintf("%s without an alert before it: %s", event.eventType, event.body))
		case recovered:
			e := open[condition]
			if !e.from.Equal(body.Data.StartedAt) {
				problems = append(problems, fmt.Sprintf("%s has started_at %s, its alert %s", event.eventType, formatTime(body.Data.StartedAt), formatTime(e.from)))
			}
			e.to = body.Data.RecoveredAt
			episodes = append(episodes, *e)
			open[condition] = nil
		case open[condition] != nil:
			problems = append(problems, fmt.Sprintf("%s was sent twice without a recovery in between: %s", event.eventType, event.body))
		default:
			open[condition] = &episode{condition: condition, from: body.Data.StartedAt}
		}
	}
	for _, e := range open {
		if e != nil {
			episodes = append(episodes, *e)
			problems = append(problems, fmt.Sprintf("the %s of %s has no recovery", e.condition, formatTime(e.from)))
		}
	}
	return episodes, problems
}

// checkMonitor compares a monitor's events with its stream: one start, one end,
// every episode once, and statistics that match.
func (a *audit) checkMonitor(m *monitorRecord, c *counters) (findings []string) {
	add := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }
	for _, f := range m.decreases {
		add("its statistics decreased: %s", f)
	}
	if m.status != "completed" {
		add("its final status is %s", m.status)
	}
	for eventType, at := range map[string]int{"stream.started": 0, "stream.ended": len(m.events) - 1} {
		n := 0
		for i, event := range m.events {
			if event.eventType != eventType {
				continue
			}
			n++
			if i != at {
				add("%s is event %d of %d", eventType, i+1, len(m.events))
			}
		}
		if n != 1 {
			add("%s was sent %d times", eventType, n)
		}
	}
	for _, event := range m.events {
		if event.eventType == "monitor.error" {
			add("it sent monitor.error: %s", event.body)
		}
	}
	findings = append(findings, m.checkEvidence()...)
	reported, problems := m.reportedEpisodes()
	findings = append(findings, problems...)
	for _, condition := range []string{"blackout", "silence"} {
		findings = append(findings, a.checkEpisodes(m, condition, reported, c)...)
	}
	for name, n := range map[string]float64{"blackout_events": 0, "silence_events": 0} {
		for _, event := range m.events {
			if event.eventType+"_events" == "alert."+name {
				n++
			}
		}
		if m.statistics[name] != n {
			add("its statistics count %s %v, and %v were sent", name, m.statistics[name], n)
		}
	}
	findings = append(findings, a.checkCoverage(m)...)
	return findings
}

// checkEpisodes compares the reported episodes of one condition with the
// expected ones.
func (a *audit) checkEpisodes(m *monitorRecord, condition string, reported []episode, c *counters) (findings []string) {
	var expected []episode
	for _, got := range m.expected {
		if got.condition == condition {
			expected = append(expected, got)
		}
	}
	slices.SortFunc(expected, func(x, y episode) int { return x.from.Compare(y.from) })
	c.episodes += len(expected)
	matched := make([]bool, len(expected))
	for _, got := range reported {
		if got.condition != condition {
			continue
		}
		first := slices.IndexFunc(expected, func(want episode) bool { return want.from.Sub(got.from).Abs() <= tolerance })
		if first < 0 { // watching may have begun during the episode
			first = slices.IndexFunc(expected, func(want episode) bool {
				return want.from.Before(got.from) && want.to.After(got.from) && !a.observed(m, m.liveAt.Add(-playlistWindow), want.from)
			})
		}
		if first < 0 {
			findings = append(findings, fmt.Sprintf("a %s from %s to %s was reported, and there was none%s", condition, formatTime(got.from), formatTime(got.to), nearest(expected, got)))
			continue
		}
		last := first
		// Two episodes are one if nothing between them was observed.
		for last+1 < len(expected) && got.to.Sub(expected[last].to).Abs() > tolerance && !a.observed(m, expected[last].to, expected[last+1].from) {
			last++
		}
		if d := got.to.Sub(expected[last].to); d.Abs() > tolerance {
			findings = append(findings, fmt.Sprintf("the %s from %s was reported to end at %s, and ended at %s", condition, formatTime(got.from), formatTime(got.to), formatTime(expected[last].to)))
		}
		for i := first; i <= last; i++ {
			if matched[i] {
				findings = append(findings, fmt.Sprintf("the %s from %s was reported twice", condition, formatTime(expected[i].from)))
			}
			matched[i] = true
		}
	}
	for i, want := range expected {
		switch {
		case matched[i]:
		case !a.observed(m, want.from, want.to) || !a.observed(m, m.liveAt.Add(-playlistWindow), want.from):
			c.unobserved++
		default:
			c.lost++
			findings = append(findings, fmt.Sprintf("lost: the %s from %s to %s was observed and not reported", condition, formatTime(want.from), formatTime(want.to)))
		}
	}
	return findings
}

// nearest describes the expected episode that begins closest to a reported one.
func nearest(expected []episode, got episode) string {
	if len(expected) == 0 {
		return ""
	}
	want := slices.MinFunc(expected, func(x, y episode) int {
		return cmp.Compare(x.from.Sub(got.from).Abs(), y.from.Sub(got.from).Abs())
	})
	return fmt.Sprintf(" (the nearest was from %s to %s)", formatTime(want.from), formatTime(want.to))
}
