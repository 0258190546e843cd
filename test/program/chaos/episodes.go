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

// episode is a stretch of black or silence: as it was, or as it was told.
type episode struct {
	condition string // blackout, silence
	from, to  time.Time
}

// told is the episodes that a monitor's events tell, in order, and what is
// wrong with the telling: alerts and recoveries alternate.
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
			problems = append(problems, fmt.Sprintf("%s was told: %s", event.eventType, event.body))
		case recovered && open[condition] == nil:
			problems = append(problems, fmt.Sprintf("%s without an alert before it: %s", event.eventType, event.body))
		case recovered:
			e := open[condition]
			if !e.from.Equal(body.Data.StartedAt) {
				problems = append(problems, fmt.Sprintf("%s counts from %s, its alert from %s", event.eventType, formatTime(body.Data.StartedAt), formatTime(e.from)))
			}
			e.to = body.Data.RecoveredAt
			episodes = append(episodes, *e)
			open[condition] = nil
		case open[condition] != nil:
			problems = append(problems, fmt.Sprintf("%s was told twice without a recovery between: %s", event.eventType, event.body))
		default:
			open[condition] = &episode{condition: condition, from: body.Data.StartedAt}
		}
	}
	for _, e := range open {
		if e != nil {
			episodes = append(episodes, *e)
			problems = append(problems, fmt.Sprintf("no recovery from the %s of %s was told", e.condition, formatTime(e.from)))
		}
	}
	return episodes, problems
}

// story: a monitor tells what happened to its stream, once each.
func (a *audit) checkMonitor(m *monitorRecord, c *counters) (findings []string) {
	say := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }
	for _, f := range m.decreases {
		say("its statistics went backwards: %s", f)
	}
	if m.status != "completed" {
		say("it is %s at the end", m.status)
	}
	for kind, at := range map[string]int{"stream.started": 0, "stream.ended": len(m.events) - 1} {
		n := 0
		for i, event := range m.events {
			if event.eventType != kind {
				continue
			}
			n++
			if i != at {
				say("%s is event %d of %d", kind, i+1, len(m.events))
			}
		}
		if n != 1 {
			say("%s was told %d times", kind, n)
		}
	}
	for _, event := range m.events {
		if event.eventType == "monitor.error" {
			say("it was told of an error: %s", event.body)
		}
	}
	told, problems := m.reportedEpisodes()
	findings = append(findings, problems...)
	for _, condition := range []string{"blackout", "silence"} {
		findings = append(findings, a.checkEpisodes(m, condition, told, c)...)
	}
	for name, n := range map[string]float64{"blackout_events": 0, "silence_events": 0} {
		for _, event := range m.events {
			if event.eventType+"_events" == "alert."+name {
				n++
			}
		}
		if m.statistics[name] != n {
			say("its statistics say %s %v, and %v were told", name, m.statistics[name], n)
		}
	}
	findings = append(findings, a.checkCoverage(m)...)
	return findings
}

// compare holds the episodes that were told against those that were.
func (a *audit) checkEpisodes(m *monitorRecord, condition string, told []episode, c *counters) (findings []string) {
	var truth []episode
	for _, e := range m.expected {
		if e.condition == condition {
			truth = append(truth, e)
		}
	}
	slices.SortFunc(truth, func(x, y episode) int { return x.from.Compare(y.from) })
	c.episodes += len(truth)
	matched := make([]bool, len(truth))
	for _, e := range told {
		if e.condition != condition {
			continue
		}
		first := slices.IndexFunc(truth, func(k episode) bool { return k.from.Sub(e.from).Abs() <= tolerance })
		if first < 0 { // the watch may have begun within it
			first = slices.IndexFunc(truth, func(k episode) bool {
				return k.from.Before(e.from) && k.to.After(e.from) && !a.observed(m, m.liveAt.Add(-playlistWindow), k.from)
			})
		}
		if first < 0 {
			findings = append(findings, fmt.Sprintf("a %s from %s to %s was told, and there was none%s", condition, formatTime(e.from), formatTime(e.to), nearest(truth, e)))
			continue
		}
		last := first
		// What nobody could see between two episodes makes them one.
		for last+1 < len(truth) && e.to.Sub(truth[last].to).Abs() > tolerance && !a.observed(m, truth[last].to, truth[last+1].from) {
			last++
		}
		if d := e.to.Sub(truth[last].to); d.Abs() > tolerance {
			findings = append(findings, fmt.Sprintf("the %s from %s was told to end at %s, and ended at %s", condition, formatTime(e.from), formatTime(e.to), formatTime(truth[last].to)))
		}
		for i := first; i <= last; i++ {
			if matched[i] {
				findings = append(findings, fmt.Sprintf("the %s from %s was told twice", condition, formatTime(truth[i].from)))
			}
			matched[i] = true
		}
	}
	for i, k := range truth {
		switch {
		case matched[i]:
		case !a.observed(m, k.from, k.to) || !a.observed(m, m.liveAt.Add(-playlistWindow), k.from):
			c.unobserved++
		default:
			c.lost++
			findings = append(findings, fmt.Sprintf("lost: the %s from %s to %s was watched, and not told", condition, formatTime(k.from), formatTime(k.to)))
		}
	}
	return findings
}

// nearest says which episode may have been meant.
func nearest(truth []episode, e episode) string {
	if len(truth) == 0 {
		return ""
	}
	k := slices.MinFunc(truth, func(x, y episode) int {
		return cmp.Compare(x.from.Sub(e.from).Abs(), y.from.Sub(e.from).Abs())
	})
	return fmt.Sprintf(" (the nearest was from %s to %s)", formatTime(k.from), formatTime(k.to))
}
