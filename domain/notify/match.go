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
)

// Match selects events and incidents. An empty field selects all; the others must all hold.
type Match struct {
	Events      []event.Type      `json:"events,omitempty"`       // an incident has the event types that begin its conditions
	Conditions  []incident.Name   `json:"conditions,omitempty"`   // at least one of them
	MinSeverity int               `json:"min_severity,omitempty"` // 0 to incident.MaxSeverity
	Monitors    []monitor.ID      `json:"monitors,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"` // by path, such as channel_name or labels.team; values are compared as text
}

// Subject is an event or an incident that a Match is compared with.
type Subject struct {
	EventType  event.Type // empty: an incident
	Conditions []incident.Name
	Severity   int
	MonitorID  monitor.ID
	Metadata   map[string]string // by path, as in Match
}

// SubjectOf returns the subject of an incident. It has every condition that the incident
// has had, so what matches once matches until the end.
func SubjectOf(i incident.Incident, id monitor.ID, metadata []byte) Subject {
	return subjectOf(i, id, FlattenMetadata(metadata))
}

func subjectOf(i incident.Incident, id monitor.ID, metadata map[string]string) Subject {
	s := Subject{Severity: i.Severity, MonitorID: id, Metadata: metadata}
	for _, c := range i.Conditions {
		s.Conditions = append(s.Conditions, c.Name)
	}
	return s
}

// Reason says for one criterion of a Match whether it holds.
type Reason struct {
	Criterion string // events, conditions, min_severity, monitors, or metadata. and a path
	Wanted    string
	Got       string // empty: the subject has nothing of that kind
	OK        bool
}

// Matches reports whether every criterion holds.
func (m Match) Matches(s Subject) bool {
	return !slices.ContainsFunc(m.Explain(s), func(r Reason) bool { return !r.OK })
}

// Explain returns a reason for each criterion; none for an empty Match.
func (m Match) Explain(s Subject) (all []Reason) {
	if len(m.Events) > 0 {
		all = append(all, oneOf("events", m.Events, s.events()))
	}
	if len(m.Conditions) > 0 {
		all = append(all, oneOf("conditions", m.Conditions, s.Conditions))
	}
	if m.MinSeverity > 0 {
		all = append(all, Reason{"min_severity", strconv.Itoa(m.MinSeverity), strconv.Itoa(s.Severity), s.Severity >= m.MinSeverity})
	}
	if len(m.Monitors) > 0 {
		all = append(all, oneOf("monitors", m.Monitors, []monitor.ID{s.MonitorID}))
	}
	for _, path := range slices.Sorted(maps.Keys(m.Metadata)) {
		got, ok := s.Metadata[path]
		all = append(all, Reason{"metadata." + path, m.Metadata[path], got, ok && got == m.Metadata[path]})
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
		switch c {
		case incident.Late:
			all = append(all, event.StreamDelayed)
		case incident.NoMedia:
			all = append(all, event.SegmentError)
		case incident.Blind, incident.Error:
			all = append(all, event.MonitorError)
		default:
			for _, d := range detector.Table {
				if incident.Name(d.Condition) == c {
					all = append(all, event.Type(d.Alert))
				}
			}
		}
	}
	return all
}

// Check returns what is wrong, as Destination.Check does. Fields begin with match.
func (m Match) Check() (problems []error) {
	problems = checkListed(problems, "match.events", m.Events, func(t event.Type) bool { return slices.Contains(event.Types(), t) })
	problems = checkListed(problems, "match.conditions", m.Conditions, func(n incident.Name) bool { return slices.Contains(incident.Names(), n) })
	problems = checkListed(problems, "match.monitors", m.Monitors, func(id monitor.ID) bool { _, err := monitor.ParseID(string(id)); return err == nil })
	if m.MinSeverity < 0 || m.MinSeverity > incident.MaxSeverity {
		problems = addProblem(problems, "match.min_severity is %d; accepted is 0 to %d", m.MinSeverity, incident.MaxSeverity)
	}
	if len(m.Metadata) > MaxListed {
		problems = addProblem(problems, "match.metadata has more than %d paths", MaxListed)
	}
	for _, path := range slices.Sorted(maps.Keys(m.Metadata)) {
		problems = checkText(problems, "a path of match.metadata", path, 1, MaxComment)
		problems = checkText(problems, fmt.Sprintf("match.metadata.%.60s", path), m.Metadata[path], 0, MaxComment)
	}
	return problems
}

func checkListed[T ~string](problems []error, field string, list []T, known func(T) bool) []error {
	if len(list) > MaxListed {
		return addProblem(problems, "%s has more than %d entries", field, MaxListed)
	}
	for _, v := range list {
		if !known(v) {
			problems = addProblem(problems, "%s has %.60q, which does not exist", field, v)
		}
	}
	return problems
}

func (m Match) isEmpty() bool {
	return len(m.Events)+len(m.Conditions)+m.MinSeverity+len(m.Monitors)+len(m.Metadata) == 0
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
