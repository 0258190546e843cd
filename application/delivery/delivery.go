package delivery

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// SendTimeout bounds one attempt (section 4.4).
const SendTimeout = 10 * time.Second

// Delivery is a delivery under lease. It goes to a Callback or to a Destination; Policy says all in which
// these differ. Exactly one of Event, Incident, Storm and Notice is set; a callback gets events only.
type Delivery struct {
	ID          string              // a UUIDv7; of a callback's delivery that of its event
	LeaseID     string              // identifies the lease
	Policy      notify.Policy       // of the receiver
	Callback    monitor.CallbackURL // of a monitor; empty: it goes to Destination
	Destination notify.Destination  // with its secrets

	// All times are of the database, by whose clock they were decided.
	Tried        int           // attempts at the present message that were made before this one
	RoundBeganAt time.Time     // when the present message was first due; a new message has a new one
	FailingSince time.Time     // when the first of these attempts failed; zero: none has failed
	Age          time.Duration // since RoundBeganAt, of a callback since its event, when the delivery was leased
	Now          time.Time     // when the delivery was leased

	Event    *Event
	Incident *notify.StreamIncident // with its ID
	Storm    *message.Storm
	Notice   *message.Notice

	// Of Incident and Storm:
	Notified notify.Notified // what the destination knows
	Message  notify.Planned  // decided when it was leased, never empty
}

// Event is an event for a callback or a webhook.
type Event struct {
	EventID   string
	EventType event.Type
	MonitorID monitor.ID
	Body      []byte // the payload: as it was stored in a Delivery, with sequence and evidence for a WebhookSender
	Sequence  int64  // of the events of the monitor at the destination, from 1; a callback has none
}

// Outcome is the result of an attempt with what follows from it, by the clock of this process.
//
//	Delivered            an event or a notice is done; what is next in a thread is decided at its next lease
//	RetryAt              the same message is sent again then, unless another one is due by then
//	LeavesQueue, NextAt  the event behind it may be sent from NextAt on
//	Failed               a thread becomes due again by a change, all else by a replay
type Outcome struct {
	notify.Decision
	message.Result

	Notified *notify.Notified // of a thread, after a message that was delivered or got no answer
}

// isThread reports whether the delivery is of an incident or a storm.
func (d Delivery) isThread() bool { return d.Incident != nil || d.Storm != nil }

// threadID returns the ID that all messages about the same thing share.
func (d Delivery) threadID() string {
	if d.Incident != nil {
		return d.Incident.ID
	}
	return d.ID
}

// key names what is sent: an event, a notice, or one message of a thread.
func (d Delivery) key() string { return fmt.Sprintf("%s %d", d.ID, d.RoundBeganAt.UnixMicro()) }

// toProcessClock converts a time of the database's clock to this process's clock, whose time at the
// lease was began. A zero time stays zero.
func (d Delivery) toProcessClock(at, began time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return began.Add(at.Sub(d.Now))
}
