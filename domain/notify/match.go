package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Match selects events and incidents, or hints if it names their kinds. Any other empty field selects all; those
// that are given must all hold.
type Match struct {
	Events      []event.Type      `json:"events"`                 // an incident has the event types that begin its conditions
	Conditions  []incident.Name   `json:"conditions"`             // at least one of them
	MinSeverity int               `json:"min_severity"`           // 0 to incident.MaxSeverity
	MaxSeverity *int              `json:"max_severity,omitempty"` // of a silence alone: what gets worse is told; nil: any
	Monitors    []monitor.ID      `json:"monitors"`
	Metadata    map[string]string `json:"metadata"` // by path, such as channel_name or venue.city; values are compared as text
	Labels      monitor.Labels    `json:"labels"`

	// Hints are the kinds of hints that it selects. Then it selects no event and no incident, and without
	// it no hint.
	Hints []monitor.HintKind `json:"hints,omitempty"`
}

// MarshalJSON implements json.Marshaler. An empty list is written as one, never as null.
func (m Match) MarshalJSON() ([]byte, error) {
	type fields Match
	m.Events, m.Conditions, m.Monitors = append([]event.Type{}, m.Events...), append([]incident.Name{}, m.Conditions...), append([]monitor.ID{}, m.Monitors...)
	if m.Metadata == nil {
		m.Metadata = map[string]string{}
	}
	return wire.Encode(fields(m))
}

// Subject is an event, an incident or a hint that a Match is compared with.
type Subject struct {
	EventType  event.Type       // empty: an incident or a hint
	Hint       monitor.HintKind // empty: an event or an incident
	EventID    string           // empty: no event that is stored
	IncidentID string           // of the incident, or the one that the event belongs to; empty: none that is stored
	Conditions []incident.Name
	Severity   int
	Began      []int // for each of Conditions the severity with which it began, which its event has; nil: not known
	MonitorID  monitor.ID
	ChannelID  string            // of an event of a channel of streams; empty: of none that is stored
	Metadata   map[string]string // by path, as in Match
	Labels     monitor.Labels
}

// Reason says for one criterion of a Match whether it holds.
type Reason struct {
	Criterion string `json:"criterion"` // windows, hints, events, conditions, min_severity, max_severity, monitors, metadata. and a path, or labels. and a name
	Wanted    string `json:"wanted"`
	Got       string `json:"got"` // empty: the subject has nothing of that kind
	OK        bool   `json:"ok"`
}

// Matches reports whether every criterion holds.
func (m Match) Matches(s Subject) bool {
	return !slices.ContainsFunc(m.Explain(s), func(r Reason) bool { return !r.OK })
}

// Explain returns a reason for each criterion; none for an empty Match, unless the subject is a hint.
func (m Match) Explain(s Subject) (all []Reason) {
	if len(m.Hints) > 0 || s.Hint != "" {
		all = append(all, oneOf("hints", m.Hints, []monitor.HintKind{s.Hint}))
	}
	if len(m.Events) > 0 {
		all = append(all, oneOf("events", m.Events, s.events()))
	}
	if len(m.Conditions) > 0 {
		all = append(all, oneOf("conditions", m.Conditions, s.Conditions))
	}
	if m.MinSeverity > 0 {
		all = append(all, Reason{"min_severity", strconv.Itoa(m.MinSeverity), strconv.Itoa(s.Severity), s.Severity >= m.MinSeverity})
	}
	if m.MaxSeverity != nil {
		all = append(all, Reason{"max_severity", strconv.Itoa(*m.MaxSeverity), strconv.Itoa(s.Severity), s.Severity <= *m.MaxSeverity})
	}
	if len(m.Monitors) > 0 {
		all = append(all, oneOf("monitors", m.Monitors, []monitor.ID{s.MonitorID}))
	}
	all = append(all, eachText("metadata.", m.Metadata, s.Metadata)...)
	return append(all, eachText("labels.", m.Labels, s.Labels)...)
}

// eachText returns a reason for each text that is wanted, by name.
func eachText(prefix string, wanted, has map[string]string) (all []Reason) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		got, ok := has[name]
		all = append(all, Reason{prefix + name, wanted[name], got, ok && got == wanted[name]})
	}
	return all
}

func oneOf[T ~string](criterion string, wanted, got []T) Reason {
	text := func(list []T) string {
		var words []string
		for _, v := range list {
			words = append(words, string(v))
		}
		return strings.Join(words, ", ")
	}
	ok := slices.ContainsFunc(got, func(v T) bool { return slices.Contains(wanted, v) })
	return Reason{criterion, text(wanted), text(got), ok}
}

// events returns the type of the event, or the types that begin the conditions of the incident.
func (s Subject) events() (all []event.Type) {
	if s.EventType != "" {
		return []event.Type{s.EventType}
	}
	for _, c := range s.Conditions {
		if t := beginsWith(c); t != "" {
			all = append(all, t)
		}
	}
	return all
}

// beginsWith returns the type of the event that begins a condition; empty: this program does not have its detector.
func beginsWith(c incident.Name) event.Type {
	switch c {
	case incident.Late:
		return event.StreamDelayed
	case incident.NoMedia:
		return event.SegmentError
	case incident.Blind, incident.Error:
		return event.MonitorError
	}
	d, _ := detector.Of(c)
	return event.Type(d.Alert)
}

// beginnings returns the events that begin the conditions of an incident, or the event itself. Each has the severity with which its
// condition began; where that is not known, conditions of an incident begin one after the other, at their least severity.
func (s Subject) beginnings() (all []Subject) {
	for n, c := range s.Conditions {
		t := beginsWith(c)
		if t == "" || s.EventType != "" && s.EventType != t {
			continue
		}
		of := s
		of.EventType = t
		if len(s.Began) > n {
			of.Severity = s.Began[n]
		} else if s.EventType == "" {
			of.Severity = min(s.Severity, incident.FirstSeverity(s.Conditions[:n+1]...))
		}
		all = append(all, of)
	}
	if len(all) == 0 && s.EventType != "" {
		all = append(all, s) // it begins nothing
	}
	return all
}

// Check returns what is wrong, as Destination.Check does. Fields begin with match.
func (m Match) Check() (problems []error) {
	problems = checkListed(problems, "match.events", m.Events, func(t event.Type) bool { return t.OfChannel() || slices.Contains(event.Types(), t) })
	problems = checkListed(problems, "match.conditions", m.Conditions, func(n incident.Name) bool { return slices.Contains(incident.Names(), n) })
	problems = checkListed(problems, "match.hints", m.Hints, func(k monitor.HintKind) bool { return slices.Contains(monitor.HintKinds(), k) })
	problems = checkListed(problems, "match.monitors", m.Monitors, func(id monitor.ID) bool { _, err := monitor.ParseID(string(id)); return err == nil })
	if len(m.Hints) > 0 && (len(m.Events) > 0 || m.MinSeverity > 0) {
		problems = addProblem(problems, "match.hints", "is given with events or min_severity; a hint has neither")
	}
	if m.MinSeverity < 0 || m.MinSeverity > incident.MaxSeverity {
		problems = addProblem(problems, "match.min_severity", "is %d; accepted is 0 to %d", m.MinSeverity, incident.MaxSeverity)
	}
	if m.MaxSeverity != nil && (*m.MaxSeverity < m.MinSeverity || *m.MaxSeverity > incident.MaxSeverity) {
		problems = addProblem(problems, "match.max_severity", "is %d; accepted is %d to %d", *m.MaxSeverity, max(m.MinSeverity, 0), incident.MaxSeverity)
	}
	if len(m.Metadata) > MaxListed {
		problems = addProblem(problems, "match.metadata", "has more than %d paths", MaxListed)
	}
	for _, path := range slices.Sorted(maps.Keys(m.Metadata)) {
		problems = checkText(problems, "a path of match.metadata", path, 1, MaxComment)
		problems = checkText(problems, fmt.Sprintf("match.metadata.%.60s", path), m.Metadata[path], 0, MaxComment)
	}
	return append(problems, m.Labels.Check("match.labels")...)
}

func checkListed[T ~string](problems []error, field string, list []T, known func(T) bool) []error {
	if len(list) > MaxListed {
		return addProblem(problems, field, "has more than %d entries", MaxListed)
	}
	for _, v := range list {
		if !known(v) {
			problems = addProblem(problems, field, "has %.60q, which does not exist", v)
		}
	}
	return problems
}

func (m Match) isEmpty() bool {
	return len(m.Hints)+len(m.Events)+len(m.Conditions)+m.MinSeverity+len(m.Monitors)+len(m.Metadata)+len(m.Labels) == 0 && m.MaxSeverity == nil
}

// FlattenMetadata returns the texts, numbers and booleans of a JSON object by path, such
// as labels.team. It leaves out arrays and nulls.
func FlattenMetadata(raw []byte) map[string]string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // 1e3 stays 1e3, and long IDs keep their digits
	var object map[string]any
	if decoder.Decode(&object) != nil {
		return nil
	}
	flat := map[string]string{}
	flatten(flat, "", object)
	return flat
}

func flatten(flat map[string]string, prefix string, object map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch v := object[key].(type) {
		case map[string]any:
			flatten(flat, prefix+key+".", v)
		case string, json.Number, bool:
			flat[prefix+key] = fmt.Sprint(v)
		}
	}
}
