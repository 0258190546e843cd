package channel

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
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

func (c Channel) found(now time.Time, f Found) Event {
	return Event{Type: event.StreamFound, At: now, Stream: &StreamFound{
		f.URL, f.Title, f.State, wire.TimeOrNull(f.ScheduledStart, time.UTC), f.Standing, f.Why, f.Detail, f.Monitor.ID, f.Monitor.Adopted,
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
