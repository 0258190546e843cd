package destination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/internal/loop"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// leaseDuration is how long a delivery belongs to the dispatcher. One attempt with its
// picture, and two tries to record it, must end within it.
const leaseDuration = 30 * time.Second

// maxLeased limits the deliveries in one Lease call: MaxPerDestination for many destinations.
const maxLeased = 128

// Config configures a Dispatcher; the zero value is usable.
type Config struct {
	// MaxInFlight is how many deliveries may be in flight, default 800. A destination has at
	// most MaxPerDestination. With a slot for each of them, destinations that hang delay no
	// other one.
	MaxInFlight int

	// GracePeriod is how long deliveries in flight may take after Run's context is
	// done, default 15 s.
	GracePeriod time.Duration

	// Now is the clock that measures how much time has passed, default time.Now.
	Now func() time.Time

	Log *slog.Logger // default: nothing is logged
}

// Dispatcher sends the deliveries to destinations. Any number of gateways may run one on
// the same outbox.
type Dispatcher struct {
	outbox Outbox
	sender *Sender
	now    func() time.Time
	log    *slog.Logger
	loop   *loop.Loop[Delivery]
}

// New returns a dispatcher. wake receives a value when the outbox has
// something new; it may be nil, and if its owner closes it, the dispatcher only polls.
// Errors: a value of cfg is out of its range.
func New(outbox Outbox, sender *Sender, wake <-chan struct{}, cfg Config) (*Dispatcher, error) {
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = 800
	}
	if cfg.GracePeriod == 0 {
		cfg.GracePeriod = 15 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case cfg.MaxInFlight < 0:
		return nil, fmt.Errorf("destination: MaxInFlight is %d; accepted is 1 or more", cfg.MaxInFlight)
	case cfg.GracePeriod < 0:
		return nil, errors.New("destination: GracePeriod must not be negative")
	}
	d := &Dispatcher{outbox: outbox, sender: sender, now: cfg.Now, log: cfg.Log.With("component", "destinations")}
	d.loop = loop.New(outbox, d.deliver, wake, loop.Config{
		MaxInFlight: cfg.MaxInFlight, MaxLeased: maxLeased, LeaseDuration: leaseDuration, PollInterval: time.Second, GracePeriod: cfg.GracePeriod,
	}, d.log)
	return d, nil
}

// Run sends deliveries until ctx is done. It then waits for those in flight, for
// Config.GracePeriod at most, and cancels the rest. A cancelled delivery does not count as an
// attempt: its lease expires, and a dispatcher sends it again. Run is called once.
func (d *Dispatcher) Run(ctx context.Context) { d.loop.Run(ctx) }

// deliver sends a delivery once, or finds that no message is due, and stores what
// came of it. Incidents, silences and earlier messages have times of the database, so it
// decides by the database's clock.
func (d *Dispatcher) deliver(ctx context.Context, e *loop.Entry[Delivery]) {
	leased := d.loop.Current(e)
	log := d.log.With(leased.attributes()...)
	began := d.now()

	step := notify.NextMessage{Kind: notify.Opened, Push: true} // of a notice
	thread := leased.thread()
	if thread != nil {
		step = notify.Next(leased.Now, thread.Situation, thread.Notified, thread.Policy)
		if step.Kind == "" {
			_, _ = d.record(ctx, e, Outcome{DueAt: leased.toProcessClock(step.At, began)}, log)
			return
		}
		log = log.With("message", string(step.Kind))
	}

	result := d.sender.send(ctx, leased, step, log)
	accepted := result.Accepted()
	if ctx.Err() != nil && !accepted {
		log.Info("delivery to a destination cut short by the shutdown, will be sent again")
		return
	}
	if accepted {
		d.loop.MarkAccepted(e)
	}

	now, attempts := d.now(), leased.Attempts+1
	channel, _ := notify.ChannelOf(leased.Destination.Kind)
	decision := channel.Decide(notify.Attempted{
		At: now, RoundBeganAt: began.Add(-leased.Age), Number: attempts, Class: result.Class, RetryAfter: result.RetryAfter,
	}, rand.Float64())
	outcome := Outcome{
		Attempt:   &delivery.Attempt{At: result.At, Status: result.Status, Error: result.Error, RetryAfter: result.RetryAfter, Exchange: result.Exchange},
		Class:     result.Class,
		Delivered: decision.Delivered, Failed: decision.Failed, DisableDestination: decision.DisableDestination, DueAt: decision.RetryAt,
		EditedAndPushed: result.EditedAndPushed,
	}
	if accepted && thread != nil {
		sentAt := leased.Now.Add(now.Sub(began))
		notified := thread.Notified.After(thread.Situation, step, sentAt, result.Ref)
		outcome.Notified, outcome.DueAt = &notified, leased.toProcessClock(nextDue(sentAt, *thread, notified), began)
	}
	if !accepted && thread != nil && result.Status == 0 {
		notified := thread.Notified.Unanswered(step)
		outcome.Notified = &notified
	}
	disabled, stored := d.record(ctx, e, outcome, log)
	if stored {
		d.logOutcome(log.With("attempt", attempts, "status", result.Status), result, outcome, disabled)
	}
}

// nextDue returns when the next message of a thread is due; zero: after a change.
func nextDue(now time.Time, thread ThreadFacts, notified notify.Notified) time.Time {
	next := notify.Next(now, thread.Situation, notified, thread.Policy)
	if next.Kind != "" {
		return now
	}
	return next.At
}

func (d *Dispatcher) record(ctx context.Context, e *loop.Entry[Delivery], o Outcome, log *slog.Logger) (disabled string, stored bool) {
	err := d.loop.Record(ctx, e, o.Delivered, func(ctx context.Context, leased Delivery) (err error) {
		disabled, err = d.outbox.RecordAttempt(ctx, leased, o)
		return err
	})
	if err != nil {
		log.Error("result of a delivery to a destination could not be stored, the gateway will send it again",
			"error", err.Error(), "delivered", o.Delivered)
	}
	return disabled, err == nil
}

func (d *Dispatcher) logOutcome(log *slog.Logger, r message.Result, o Outcome, disabled string) {
	switch {
	case o.Delivered:
		log.Info("delivered to a destination")
	case o.Failed:
		log.Error("delivery to a destination failed for good: correct what the error names, then replay the delivery", "error", r.Error)
	default:
		log.Warn("delivery to a destination failed, will be retried", "error", r.Error, "retry_at", o.DueAt.Format(time.RFC3339Nano))
	}
	if disabled != "" {
		log.Error("destination disabled, nothing is sent there any more: repair it, then enable it again", "reason", disabled)
	}
}

// toProcessClock converts a time of the database's clock to this process's clock, whose time at the
// lease was began. A zero time stays zero.
func (d Delivery) toProcessClock(at, began time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return began.Add(at.Sub(d.Now))
}

// Key names a delivery and its message: when a message was sent, the next one of the same
// thread is another one.
func (d Delivery) Key() string { return fmt.Sprintf("%s %d", d.ID, d.FirstDueAt.UnixMicro()) }

// AttemptsMade returns how often the message was sent before.
func (d Delivery) AttemptsMade() int { return d.Attempts }

// WithLeaseOf returns the delivery under the lease of another one with its key. The message is
// still of the situation at the first lease.
func (d Delivery) WithLeaseOf(other Delivery) Delivery {
	d.LeaseID = other.LeaseID
	return d
}

// thread returns what decides about the next message; nil: this is an event or a notice.
func (d Delivery) thread() *ThreadFacts {
	switch {
	case d.Incident != nil:
		return &d.Incident.ThreadFacts
	case d.Storm != nil:
		return &d.Storm.ThreadFacts
	}
	return nil
}

// threadID returns the ID that all messages about the same thing share.
func (d Delivery) threadID() string {
	switch {
	case d.Incident != nil:
		return d.Incident.Incident.ID
	case d.Storm != nil:
		return d.Storm.ID
	}
	return d.ID
}

// attributes returns what the log says of a delivery.
func (d Delivery) attributes() []any {
	attrs := []any{"delivery_id", d.ID, "destination_id", d.Destination.ID, "destination", d.Destination.Name, "kind", string(d.Destination.Kind)}
	switch {
	case d.Event != nil:
		attrs = append(attrs, "monitor_id", string(d.Event.MonitorID), "event_id", d.Event.EventID, "event_type", string(d.Event.EventType))
	case d.Incident != nil:
		attrs = append(attrs, "monitor_id", string(d.Incident.MonitorID), "incident_id", d.Incident.Incident.ID)
	case d.Storm != nil:
		attrs = append(attrs, "storm_id", d.Storm.ID)
	}
	return attrs
}
