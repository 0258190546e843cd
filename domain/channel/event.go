package channel

import (
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Event is something that happened to a channel. Destinations are told it by routes, and no callback.
type Event struct {
	Type event.Type // event.StreamFound, event.ChannelUnreadable or event.ChannelReadable
	At   time.Time

	Stream *StreamFound // of StreamFound
	Gap    *Gap         // of the others
}

// StreamFound is the data of channel.stream_found.
type StreamFound struct {
	StreamURL      monitor.StreamURL `json:"stream_url"`
	Broadcast      string            `json:"broadcast_id,omitempty"` // as that of a Stream
	Title          string            `json:"title"`
	State          State             `json:"state"`
	ScheduledStart *time.Time        `json:"scheduled_start_time"` // null: not known
	Standing       Standing          `json:"standing"`             // watched, or wanted and Why says why it is not
	Why            Why               `json:"why,omitempty"`
	Detail         string            `json:"detail,omitempty"`
	MonitorID      monitor.ID        `json:"monitor_id,omitempty"`
	Adopted        bool              `json:"adopted"`
}

// Gap is the data of channel.unreadable and of channel.readable: a time in which the channel could not be read.
type Gap struct {
	Since   time.Time   `json:"since"`
	Until   *time.Time  `json:"until,omitempty"` // of channel.readable
	Failure FailureKind `json:"failure"`
	Detail  string      `json:"error_details"`
}

// payload is what a webhook gets of an Event.
type payload struct {
	EventID    string          `json:"event_id"`
	EventType  event.Type      `json:"event_type"`
	ChannelID  string          `json:"channel_id"`
	ChannelURL Address         `json:"channel_url"`
	Timestamp  time.Time       `json:"timestamp"`
	Data       any             `json:"data"`
	Metadata   json.RawMessage `json:"metadata"` // of the template, as are the labels
	Labels     monitor.Labels  `json:"labels,omitempty"`
}

// Payload returns the body of the webhooks of an event with an ID, a UUIDv7. Its times are in a zone.
func (e Event) Payload(id string, c Channel, zone *time.Location) ([]byte, error) {
	p := payload{id, e.Type, c.ID, c.Address, wire.Time(e.At, zone), nil, c.Template.Metadata, c.Template.Labels}
	switch {
	case e.Stream != nil:
		found := *e.Stream
		if at := found.ScheduledStart; at != nil {
			found.ScheduledStart = wire.TimeOrNull(*at, zone)
		}
		p.Data = found
	case e.Gap != nil:
		gap := *e.Gap
		gap.Since = wire.Time(gap.Since, zone)
		if gap.Until != nil {
			gap.Until = wire.TimeOrNull(*gap.Until, zone)
		}
		p.Data = gap
	}
	return wire.Encode(p)
}

// severityUnreadable is that of a stream that cannot be checked for as long.
const severityUnreadable = 2

// Subject returns what routes are compared with: metadata are those that a stream of the channel is registered with. Without
// Stream no stream has a title.
func (c Channel) Subject(e Event) notify.Subject {
	f := Found{}
	s := notify.Subject{EventType: e.Type, ChannelID: c.ID, Labels: c.Template.Labels}
	if e.Stream != nil {
		f.Title = e.Stream.Title
	}
	if e.Type != event.StreamFound {
		s.Severity = severityUnreadable
	}
	s.Metadata = notify.FlattenMetadata(c.metadataOf(f))
	return s
}

func (c Channel) found(now time.Time, f Found) Event {
	return Event{Type: event.StreamFound, At: now, Stream: &StreamFound{
		f.URL, f.Broadcast, f.Title, f.State, wire.TimeOrNull(f.ScheduledStart, time.UTC), f.Standing, f.Why, f.Detail, f.Monitor.ID, f.Monitor.Adopted,
	}}
}

func (c Channel) unreadable(now time.Time) Event {
	return Event{Type: event.ChannelUnreadable, At: now, Gap: &Gap{Since: c.Reading.UnreadableSince, Failure: c.Reading.LastFailure, Detail: c.Reading.LastError}}
}

func (c Channel) readableAgain(now time.Time) Event {
	return Event{Type: event.ChannelReadable, At: now, Gap: &Gap{
		Since: c.Reading.UnreadableSince, Until: &now, Failure: c.Reading.LastFailure, Detail: c.Reading.LastError,
	}}
}
