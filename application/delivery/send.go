package delivery

import (
	"context"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func (d Delivery) key() string   { return d.EventID }
func (d Delivery) attempts() int { return d.Attempts }

func (d Delivery) withLeaseOf(other Delivery) Delivery {
	d.LeaseID = other.LeaseID
	return d
}

// deliver sends a delivery once and stores the attempt.
func (d *Dispatcher) deliver(ctx context.Context, f *inFlightDelivery[Delivery]) {
	delivery, _ := d.loop.inFlight.current(f)
	log := d.log.With("monitor_id", string(delivery.MonitorID), "event_id", delivery.EventID,
		"event_type", string(delivery.EventType), "receiver", origin(delivery.CallbackURL))

	delivery.Body = evidenceAdder{d.cfg.Evidence, d.cfg.Zone}.payload(ctx, delivery, log)
	attempt := d.sender.Send(ctx, delivery)
	if ctx.Err() != nil && !attempt.Accepted() {
		log.Info("webhook cut short by the shutdown, will be sent again")
		return
	}

	if attempt.Accepted() {
		d.loop.inFlight.markAccepted(f)
	}
	attempts := delivery.Attempts + 1
	decision := Decide(time.Now(), attempt, attempts, delivery.OnFailure, rand.Float64())
	var ended monitor.ID
	err := d.loop.record(ctx, f, decision.Sent, func(ctx context.Context, leased Delivery) (err error) {
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
	case decision.Sent:
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
