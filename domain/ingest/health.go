package ingest

import (
	"cmp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

const (
	// Life is how long after its question a Health says something of the present.
	Life = 10 * time.Minute

	// signalLife is how long after its own time the judgement of a signal says something.
	signalLife = 10 * time.Minute

	maxIssues = 20 // of a signal
)

// Severity says how bad an issue is. It is stored and shown.
type Severity string

// The severities, in the words of YouTube.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Issue is something that the source finds wrong with a signal. Its JSON is stored.
type Issue struct {
	Type        string   `json:"type"` // NoData or one of Types; others may come
	Severity    Severity `json:"severity"`
	Reason      string   `json:"reason,omitempty"`      // the source's short text, in English
	Description string   `json:"description,omitempty"` // its long one, with the numbers of this signal
}

// Health is what the source says of the signal of a broadcast. Its JSON is stored. Words that are not listed may come.
type Health struct {
	Broadcast string    `json:"broadcast"`          // lifeCycleStatus: created, ready, testStarting, testing, liveStarting, live, complete, revoked
	Stream    string    `json:"stream"`             // streamStatus: created, ready, active (data arrive), inactive (none do), error
	Signal    string    `json:"signal"`             // healthStatus: good, ok (warnings at most), bad, noData (nothing is known), revoked
	JudgedAt  time.Time `json:"judged_at,omitzero"` // when the source judged the signal; zero: unknown
	Issues    []Issue   `json:"issues,omitempty"`   // the worst first, at most maxIssues
	AskedAt   time.Time `json:"asked_at,omitzero"`  // by the clock of the store
	LoginID   string    `json:"-"`                  // the owner's login that sees it
}

// NoData reports whether the broadcast is live, and the encoder sends it nothing.
func (h Health) NoData() bool {
	return h.Broadcast == "live" && (h.Stream == "inactive" || h.Stream != "active" && h.Signal == "noData")
}

// Shown returns the issues, with NoData before them.
func (h Health) Shown() []Issue {
	if h.NoData() {
		return append([]Issue{{Type: NoData, Severity: Error}}, h.Issues...)
	}
	return h.Issues
}

// Cause returns the likely cause of a condition at a time; nil: the signal explains nothing. That data are missing explains most, then
// the worst of the issues that may cause it. Issues of a type that is not known are named last, and only errors.
func (h Health) Cause(c trouble.Name, at time.Time) *Issue {
	if h.AskedAt.Before(at.Add(-Life)) || !slices.Contains(explained, c) {
		return nil
	}
	if h.NoData() {
		return &Issue{Type: NoData, Severity: Error}
	}
	if !h.JudgedAt.IsZero() && h.JudgedAt.Before(at.Add(-signalLife)) {
		return nil
	}
	var unknown *Issue
	for _, issue := range h.Issues {
		known, is := kinds[issue.Type]
		switch {
		case slices.Contains(known.causes, c):
			return &issue
		case !is && issue.Severity == Error && unknown == nil:
			unknown = &issue
		}
	}
	return unknown
}

// Broadcast is a broadcast of the owner that has not ended, as liveBroadcasts.list tells it.
type Broadcast struct {
	VideoID  string // the broadcast's id
	Status   string // status.lifeCycleStatus
	StreamID string // contentDetails.boundStreamId; empty: none is bound
}

// Signal is the signal of a stream of the owner, as liveStreams.list tells it. The stream key is no part of it.
type Signal struct {
	StreamID string
	Health   Health // without Broadcast
}

// Match returns the Health of each broadcast by its video. One whose signal the source does not tell has an empty Stream.
func Match(broadcasts []Broadcast, signals []Signal) map[string]Health {
	all := make(map[string]Health, len(broadcasts))
	for _, b := range broadcasts {
		h := Health{}
		for _, s := range signals {
			if s.StreamID == b.StreamID && s.StreamID != "" {
				h = s.Health
			}
		}
		h.Broadcast = b.Status
		all[b.VideoID] = h.sorted()
	}
	return all
}

// sorted returns the health with the worst issues first, each with a severity that is known.
func (h Health) sorted() Health {
	h.Issues = slices.DeleteFunc(slices.Clone(h.Issues), func(i Issue) bool { return i.Type == "" })
	for n, i := range h.Issues {
		if !slices.Contains(severities, i.Severity) {
			h.Issues[n].Severity = cmp.Or(kinds[i.Type].severity, Warning)
		}
	}
	slices.SortStableFunc(h.Issues, func(a, b Issue) int {
		return cmp.Or(slices.Index(severities, a.Severity)-slices.Index(severities, b.Severity), rank(a.Type)-rank(b.Type))
	})
	h.Issues = h.Issues[:min(len(h.Issues), maxIssues)]
	return h
}

// severities are all, the worst first.
var severities = []Severity{Error, Warning, Info}
