package delivery

import (
	"context"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// deliver sends a delivery once and stores the attempt.
func (d *Dispatcher) deliver(ctx context.Context, f *inFlight) {
	sent, _ := d.inFlight.current(f)
	log := d.log.With("monitor_id", string(sent.MonitorID), "event_id", sent.EventID,
		"event_type", string(sent.EventType), "receiver", origin(sent.CallbackURL))

	attempt := d.sender.Send(ctx, sent)
	if ctx.Err() != nil && !attempt.Delivered() {
		log.Info("webhook cut short by the shutdown, will be sent again")
		return
	}

	if attempt.Delivered() {
		d.inFlight.markDelivered(f)
	}
	attempts := sent.Attempts + 1
	decision := Decide(time.Now(), attempt, attempts)
	ended, err := d.record(ctx, f, attempt, decision)
	if err != nil {
		log.Error("outcome of a webhook could not be stored, it will be sent again",
			"error", err.Error(), "delivered", attempt.Delivered())
		return
	}

	log = log.With("attempt", attempts, "status", attempt.Status)
	switch {
	case decision.Sent:
		log.Info("webhook delivered")
	case decision.Failed:
		log.Error("webhook failed for good", "error", attempt.Error)
	default:
		log.Warn("webhook failed, will be retried", "error", attempt.Error, "retry_at", decision.RetryAt.Format(time.RFC3339Nano))
	}
	if ended != "" {
		log.Error("monitor ended: its callback failed", "reason", "callback_failed")
		d.cfg.OnMonitorFailed(ended)
	}
}

// record stores an attempt and retries after an error. It retries a failed attempt
// until the lease expires. It retries a success until ctx is done, because only this
// process knows of it. It tries once even if ctx is done.
func (d *Dispatcher) record(ctx context.Context, f *inFlight, a Attempt, decision Decision) (ended monitor.ID, err error) {
	for failures := 1; ; failures++ {
		leased, _ := d.inFlight.current(f)
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		ended, err = d.outbox.RecordAttempt(once, leased, a, decision)
		cancel()
		if err == nil {
			return ended, nil
		}
		delay := backoff(failures)
		if _, leasedUntil := d.inFlight.current(f); !decision.Sent && !time.Now().Add(delay).Before(leasedUntil) {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(delay):
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
