package message

import (
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Example is a message that could be sent.
type Example struct {
	Name  string // such as "black, opened"
	Facts Facts
	Step  notify.NextMessage
}

// exampleID is the incident of the examples.
const exampleID = "01900000-0000-7000-8000-000000000000"

// exampleCondition is what most examples are about.
func exampleCondition() incident.Name { return detector.Table[0].Condition }

// NewExample returns the message of an incident that a person sends to try a destination: it
// says that it is a test. kind is notify.Opened or notify.Recovered.
func NewExample(id string, kind notify.MessageKind, now time.Time) Example {
	e := exampleOf(exampleCondition(), kind, now)
	e.Name = "test of " + e.Name
	e.Facts.ID, e.Facts.ThreadID, e.Facts.Test = id, id, true
	return e
}

// examples returns one message of every kind about every condition, about a storm, the
// notices and the hints.
func examples(now time.Time) (all []Example) {
	kinds := []notify.MessageKind{
		notify.Opened, notify.Worse, notify.Reopened, notify.Acknowledged, notify.Recovered, notify.Repeated, notify.Updated,
	}
	for _, kind := range kinds {
		for _, name := range incident.Names() {
			all = append(all, exampleOf(name, kind, now))
		}
		all = append(all, stormOf(exampleCondition(), kind, now), stormOf(incident.Blind, kind, now))
	}
	for _, n := range []Notice{
		{Cause: Gone, LastError: "HTTP 410 Gone"},
		{Cause: FailedForDays, LastError: "no answer within 10s", FailingSince: now.Add(-5 * 24 * time.Hour)},
	} {
		n.Destination, n.At = "Operations", now
		all = append(all, Example{
			Name: "notice " + string(n.Cause), Step: notify.NextMessage{Kind: notify.Opened, Push: true},
			Facts: Facts{ID: exampleID, ThreadID: exampleID, Now: now, Notice: &n},
		})
	}
	explained := exampleOf(exampleCondition(), notify.Opened, now)
	explained.Name += ", explained"
	explained.Facts.Incident.Conditions[0].Alert = &incident.Alert{Cause: &ingest.Issue{Type: "noVideoStream", Severity: ingest.Error}}
	all = append(all, explained, Example{
		Name: "notice login", Step: notify.NextMessage{Kind: notify.Opened, Push: true},
		Facts: Facts{ID: exampleID, ThreadID: exampleID, Now: now, Notice: &Notice{Login: "studio", LastError: "HTTP 400: invalid_grant: Token has been expired or revoked.", At: now}},
	})
	for _, h := range []monitor.Hint{
		{Kind: monitor.Quieter, Numbers: map[string]float64{"db_per_minute": 6.2, "minutes": 5}},
		{Kind: monitor.Recurring, Condition: incident.NoMedia, Numbers: map[string]float64{"times": 3}},
		{Kind: monitor.LateStarts, Numbers: map[string]float64{"streams": 4, "min_late_sec": 250, "max_late_sec": 540}},
	} {
		h.Since = now.Add(-5 * time.Minute)
		all = append(all, Example{
			Name: "hint " + string(h.Kind), Step: notify.NextMessage{Kind: notify.Opened, Push: true},
			Facts: Facts{ID: exampleID, ThreadID: exampleID, Now: now, Notice: &Notice{At: h.Since, Hint: &Hint{
				Hint: h, Number: 7, StreamURL: "https://www.youtube.com/watch?v=dQw4w9WgXcQ", ChannelName: "Example Channel", StreamTitle: "Morning news",
			}}},
		})
	}
	for _, n := range channelExamples(now) {
		all = append(all, Example{
			Name: fmt.Sprintf("%s of %d", n.EventType, n.Count), Step: notify.NextMessage{Kind: notify.Opened, Push: true},
			Facts: Facts{ID: exampleID, ThreadID: exampleID, Now: now, Notice: &Notice{At: now, Channel: &n}},
		})
	}
	return append(all, NewExample(exampleID, notify.Opened, now), NewExample(exampleID, notify.Recovered, now))
}

// channelExamples returns notices of each kind about channels of streams.
func channelExamples(now time.Time) []ChannelNotice {
	stream := ChannelNews{
		ChannelID: exampleID, Channel: "Example Channel", StreamURL: "https://www.youtube.com/watch?v=dQw4w9WgXcQ", Stream: "Morning news",
		Start: now.Add(26 * time.Hour), Watched: true,
	}
	live, noRoom := stream, stream
	live.Stream, live.Start = "Breaking news", time.Time{}
	noRoom.Stream, noRoom.Watched, noRoom.NoRoom = "Evening news", false, true
	refused := noRoom
	refused.NoRoom, refused.Detail = false, "callback_url: leads to a private address"
	gap := ChannelNews{ChannelID: exampleID, Channel: "Example Channel", Since: now.Add(-time.Hour), Detail: "HTTP 429 Too Many Requests"}
	over := gap
	over.Until = now
	return []ChannelNotice{
		{EventType: event.StreamFound, Count: 1, Channels: []ChannelNews{stream}},
		{EventType: event.StreamFound, Count: 1, Channels: []ChannelNews{noRoom}},
		{EventType: event.StreamFound, Count: 12, Channels: []ChannelNews{stream, live, noRoom, refused}},
		{EventType: event.ChannelUnreadable, Count: 1, Channels: []ChannelNews{gap}},
		{EventType: event.ChannelUnreadable, Count: 500, Channels: []ChannelNews{gap, gap}},
		{EventType: event.ChannelReadable, Count: 1, Channels: []ChannelNews{over}},
	}
}

// situationOf returns the situation of a condition that began some minutes ago, and what a
// destination knows of it before a message of a kind.
func situationOf(name incident.Name, kind notify.MessageKind, now time.Time) (notify.Situation, notify.Notified) {
	opened := now.Add(-4*time.Minute - 12*time.Second)
	s := notify.Situation{Open: true, Severity: 2, SeverityNow: 2, Conditions: []incident.Name{name}, OpenedAt: opened}
	notified := notify.Notified{
		Opened: true, Open: true, Known: notify.Known{Severity: 2, Conditions: s.Conditions}, Sounds: notify.Sounds{Newest: opened},
	}
	switch kind {
	case notify.Opened:
		notified = notify.Notified{}
	case notify.Worse:
		notified.Known.Severity = 1
	case notify.Reopened:
		s.Reopened, notified.Open = 2, false
	case notify.Acknowledged:
		s.AcknowledgedBy, s.AcknowledgedSeverity = "A. Operator", 2
	case notify.Recovered:
		s.Open, s.ResolvedAt, s.Conditions, s.SeverityNow = false, now, nil, 0
	}
	return s, notified
}

func exampleOf(name incident.Name, kind notify.MessageKind, now time.Time) Example {
	s, notified := situationOf(name, kind, now)
	c := incident.Condition{Name: name, StartedAt: s.OpenedAt, LastStartedAt: s.OpenedAt, Count: 1, Spans: []incident.Span{{StartedAt: s.OpenedAt}}}
	state := incident.Open
	if !s.Open {
		state, c.EndedAt, c.Spans[0].EndedAt = incident.Resolved, now, now
	}
	if slices.Contains([]incident.Name{incident.NoMedia, incident.Blind, incident.Error}, name) {
		c.Alert = &incident.Alert{At: s.OpenedAt, Reason: string(name), Detail: "HTTP 503 Service Unavailable"}
	}
	return Example{Name: fmt.Sprintf("%s, %s", name, kind), Step: notify.NextMessage{Kind: kind, Push: pushes(kind)}, Facts: Facts{
		ID: exampleID, ThreadID: exampleID, DestinationID: exampleID, Situation: s, Notified: notified, Repeat: 10 * time.Minute, Now: now,
		Incident: &notify.StreamIncident{
			Incident: incident.Incident{
				ID: exampleID, State: state, Severity: s.Severity, Conditions: []incident.Condition{c}, StartedAt: s.OpenedAt,
				OpenedAt: s.OpenedAt, ResolvedAt: s.ResolvedAt, Reopened: s.Reopened, AcknowledgedBy: s.AcknowledgedBy,
			},
			Good:      []string{string(history.Video), string(history.Audio)},
			Number:    7,
			StreamURL: monitor.StreamURL("https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
			Metadata:  map[string]string{"channel_name": "Example Channel", "stream_title": "Morning news"},
		},
	}}
}

func stormOf(name incident.Name, kind notify.MessageKind, now time.Time) Example {
	s, notified := situationOf(name, kind, now)
	storm := &Storm{Streams: 37, Live: 180, Condition: name}
	if name == incident.Blind && s.Open {
		class, egress := monitor.Refused, ""
		storm.BlindSpot = &monitor.BlindSpot{Monitors: 37, Watched: 37, Since: s.OpenedAt.Add(-5 * time.Minute), Class: &class, Egress: &egress}
	}
	return Example{Name: fmt.Sprintf("storm of %s, %s", name, kind), Step: notify.NextMessage{Kind: kind, Push: pushes(kind)}, Facts: Facts{
		ID: exampleID, ThreadID: exampleID, DestinationID: exampleID, Situation: s, Notified: notified, Now: now,
		Storm: storm,
	}}
}

// pushes reports whether messages of a kind make a sound.
func pushes(kind notify.MessageKind) bool {
	return slices.Contains([]notify.MessageKind{notify.Opened, notify.Worse, notify.Reopened, notify.Repeated}, kind)
}
