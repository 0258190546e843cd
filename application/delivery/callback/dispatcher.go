package callback

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/internal/loop"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Dispatcher sends the deliveries of an outbox. Any number of gateways may run a
// Dispatcher on the same outbox.
type Dispatcher struct {
	outbox Outbox
	sender Sender
	cfg    Config
	log    *slog.Logger
	loop   *loop.Loop[Delivery]
}

// New returns a dispatcher. wake receives a value when the outbox has a new
// event; it may be nil, and if its owner closes it, the dispatcher only polls.
// Errors: a value of cfg is out of its range.
func New(outbox Outbox, sender Sender, wake <-chan struct{}, cfg Config) (*Dispatcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{outbox: outbox, sender: sender, cfg: cfg, log: cfg.Log.With("component", "dispatcher")}
	d.loop = loop.New(outbox, d.deliver, wake, loop.Config{
		MaxInFlight: cfg.MaxInFlight, MaxLeased: maxLeased, LeaseDuration: cfg.LeaseDuration, PollInterval: cfg.PollInterval, GracePeriod: cfg.GracePeriod,
	}, d.log)
	return d, nil
}

// Run sends deliveries until ctx is done. It then waits for those in flight, for
// Config.GracePeriod at most, and cancels the rest. It returns when all its goroutines
// have ended. A cancelled delivery does not count as an attempt: its lease expires, and
// a dispatcher sends it again. Run is called once.
func (d *Dispatcher) Run(ctx context.Context) { d.loop.Run(ctx) }

// Key names the event.
func (d Delivery) Key() string { return d.EventID }

// AttemptsMade returns how often the event was sent before.
func (d Delivery) AttemptsMade() int { return d.Attempts }

// WithLeaseOf returns the delivery under the lease of another one of its event.
func (d Delivery) WithLeaseOf(other Delivery) Delivery {
	d.LeaseID = other.LeaseID
	return d
}

// deliver sends a delivery once and stores the attempt.
func (d *Dispatcher) deliver(ctx context.Context, e *loop.Entry[Delivery]) {
	leased := d.loop.Current(e)
	log := d.log.With("monitor_id", string(leased.MonitorID), "event_id", leased.EventID,
		"event_type", string(leased.EventType), "receiver", origin(leased.CallbackURL))

	leased.Body = delivery.EvidenceAdder{Finder: d.cfg.Evidence, Zone: d.cfg.Zone}.Add(ctx, delivery.Payload{
		EventID: leased.EventID, EventType: leased.EventType, MonitorID: leased.MonitorID, Body: leased.Body, Attempts: leased.Attempts, Age: leased.Age,
	}, log)
	attempt := d.sender.Send(ctx, leased)
	if ctx.Err() != nil && !attempt.Accepted() {
		log.Info("webhook cut short by the shutdown, will be sent again")
		return
	}

	if attempt.Accepted() {
		d.loop.MarkAccepted(e)
	}
	attempts := leased.Attempts + 1
	decision := Decide(time.Now(), attempt, attempts, leased.OnFailure, rand.Float64())
	var ended monitor.ID
	err := d.loop.Record(ctx, e, decision.Delivered, func(ctx context.Context, leased Delivery) (err error) {
		ended, err = d.outbox.RecordAttempt(ctx, leased, attempt, decision)
		return err
	})
	if err != nil {
		log.Error("result of a webhook could not be stored, the gateway will send the webhook again",
			"error", err.Error(), "delivered", attempt.Accepted())
		return
	}

	log = log.With("attempt", attempts, "status", attempt.Status)
	switch {
	case decision.Delivered:
		log.Info("webhook delivered")
	case decision.LongSchedule:
		log.Warn("webhook failed, its monitor goes on and later events are sent before it", "error", attempt.Error, "retry_at", decision.RetryAt.Format(time.RFC3339Nano))
	case decision.Failed:
		log.Error("webhook failed for good, its event stays failed: repair the receiver, then redeliver the event",
			"error", attempt.Error)
	default:
		log.Warn("webhook failed, will be retried", "error", attempt.Error, "retry_at", decision.RetryAt.Format(time.RFC3339Nano))
	}
	if ended != "" {
		log.Error("monitor ended: its callback failed, the stream is not watched any more; repair the receiver and register the stream again",
			"reason", "callback_failed")
		d.cfg.OnMonitorFailed(ended)
	}
}

// origin returns scheme and host of a callback URL, for the log: path and query
// may hold the receiver's secrets.
func origin(u monitor.CallbackURL) string {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return "unreadable"
	}
	return parsed.Scheme + "://" + parsed.Host
}
