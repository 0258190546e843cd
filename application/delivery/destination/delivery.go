package destination

import (
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Delivery is a delivery to a destination under lease. Exactly one of Event,
// Incident, Storm and Notice is set.
type Delivery struct {
	ID          string             // a UUIDv7
	LeaseID     string             // identifies the lease
	Destination notify.Destination // with its secrets
	Attempts    int                // made at the present message before this one
	FirstDueAt  time.Time          // of the database: when the present message was first due; a new message has a new one
	Age         time.Duration      // since FirstDueAt, when the delivery was leased
	Now         time.Time          // of the database, when the delivery was leased; all times of ThreadFacts are of its clock

	Event    *Event
	Incident *Incident
	Storm    *Storm
	Notice   *message.Notice
}

// Event is an event for a webhook.
type Event struct {
	EventID   string
	EventType event.Type
	MonitorID monitor.ID
	Body      []byte // the payload: as it was stored in a Delivery, with sequence and evidence for a WebhookSender
	Sequence  int64  // of the events of the monitor at the destination, from 1
}

// ThreadFacts holds the facts that decide about the next message of an incident or a storm at a
// destination. Situation and Plan are those of the time of the lease.
type ThreadFacts struct {
	Situation notify.Situation
	Notified  notify.Notified
	Policy    notify.ThreadPolicy
}

// Incident is an incident that a destination may have to be notified of.
type Incident struct {
	ThreadFacts

	Incident  incident.Incident // with its ID
	MonitorID monitor.ID
	Good      []string // lanes of the history that are good now
	Number    int      // of the stream
	StreamURL monitor.StreamURL
	Metadata  json.RawMessage // of the registration; {}: none
}

// Storm is a storm that a destination may have to be notified of.
type Storm struct {
	ThreadFacts

	ID    string
	Storm message.Storm
}

// Outcome is the next state of a delivery to a destination.
//
//	Attempt  Delivered  Failed  Notified  DueAt  state
//	nil      false      false   nil       zero   idle: no message is due, a change makes it due
//	nil      false      false   nil       set    pending: a message is due at DueAt, in a new round
//	set      true       false   nil       zero   delivered: an event or a notice
//	set      true       false   set       zero   delivered, a change makes it due again
//	set      true       false   set       set    pending: the next message is due at DueAt, in a new round
//	set      false      false   nil       set    pending: the same message is retried at DueAt
//	set      false      true    nil       zero   failed; a thread becomes due again by a change
//
// A round holds the attempts at one message: a new one begins at its DueAt with 0 attempts.
type Outcome struct {
	Attempt   *delivery.Attempt   // nil: nothing was sent
	Class     notify.FailureClass // of the attempt
	Delivered bool
	Failed    bool
	Notified  *notify.Notified // of a thread, after a message that was delivered or got no answer
	DueAt     time.Time        // by the clock of this process; zero: nothing is due

	// EditedAndPushed is set if two requests were made, so the rate limit counts the attempt twice.
	EditedAndPushed bool

	// DisableDestination is set if the destination does not exist any more.
	DisableDestination bool
}
