package delivery

import (
	"context"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// deliver sends a delivery once and stores the attempt.
func (d *Dispatcher) deliver(ctx context.Context, f *inFlightDelivery) {
	delivery, _ := d.inFlight.current(f)
	log := d.log.With("monitor_id", string(delivery.MonitorID), "event_id", delivery.EventID,
		"event_type", string(delivery.EventType), "receiver", origin(delivery.CallbackURL))

	delivery.Body = d.payload(ctx, delivery, log)
	attempt := d.sender.Send(ctx, delivery)
	if ctx.Err() != nil && !attempt.Accepted() {
		log.Info("webhook cut short by the shutdown, will be sent again")
		return
	}

	if attempt.Accepted() {
		d.inFlight.markAccepted(f)
	}
	attempts := delivery.Attempts + 1
	decision := Decide(time.Now(), attempt, attempts)
	ended, err := d.record(ctx, f, attempt, decision)
	if err != nil {
		log.Error("result of a webhook could not be stored, the gateway will send the webhook again",
			"error", err.Error(), "delivered", attempt.Accepted())
		return
	}

	log = log.With("attempt", attempts, "status", attempt.Status)
	switch {
	case decision.Sent:
		log.Info("webhook delivered")
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

// record stores an attempt and retries after an error. It retries until the lease
// expires. For an accepted delivery it retries until ctx is done, because only this
// process knows of the success. It tries once even if ctx is done.
func (d *Dispatcher) record(ctx context.Context, f *inFlightDelivery, a Attempt, decision Decision) (ended monitor.ID, err error) {
	for failures := 1; ; failures++ {
		leased, _ := d.inFlight.current(f)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		ended, err = d.outbox.RecordAttempt(limited, leased, a, decision)
		cancel()
		if err == nil {
			return ended, nil
		}
		delay := outboxBackoff.Delay(failures)
		if _, leasedUntil := d.inFlight.current(f); !decision.Sent && !time.Now().Add(delay).Before(leasedUntil) {
			return "", err
		}
		if !wait.For(ctx, delay) {
			return "", err
		}
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
