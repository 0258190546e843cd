package delivery

import (
	"context"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// carry sends one letter once and stores what came of it.
func (d *Dispatcher) deliver(ctx context.Context, f *inFlight) {
	l, _ := d.current(f)
	log := d.log.With("monitor_id", string(l.MonitorID), "event_id", l.EventID,
		"event_type", string(l.EventType), "receiver", origin(l.CallbackURL))

	a := d.sender.Send(ctx, l)
	if ctx.Err() != nil && !a.Delivered() {
		log.Info("webhook cut short by the shutdown, will be sent again")
		return
	}

	if a.Delivered() {
		d.markDelivered(f)
	}
	attempts := l.Attempts + 1
	v := Decide(time.Now(), a, attempts)
	ended, err := d.record(ctx, f, a, v)
	if err != nil {
		log.Error("outcome of a webhook could not be stored, it will be sent again",
			"error", err.Error(), "delivered", a.Delivered())
		return
	}

	log = log.With("attempt", attempts, "status", a.Status)
	switch {
	case v.Sent:
		log.Info("webhook delivered")
	case v.Failed:
		log.Error("webhook failed for good", "error", a.Error)
	default:
		log.Warn("webhook failed, will be retried", "error", a.Error, "retry_at", v.RetryAt.Format(time.RFC3339Nano))
	}
	if ended != "" {
		log.Error("monitor ended: its callback failed", "reason", "callback_failed")
		d.cfg.OnMonitorFailed(ended)
	}
}

// record stores a verdict, again and again: a failure while the letter is still
// ours, and that it was sent until ctx ends, since nobody else knows. The attempt
// was made, so it is tried once even when ctx ends meanwhile.
func (d *Dispatcher) record(ctx context.Context, f *inFlight, a Attempt, v Decision) (monitor.ID, error) {
	for failures := 1; ; failures++ {
		l, _ := d.current(f)
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		ended, err := d.outbox.RecordAttempt(once, l, a, v)
		cancel()
		if err == nil {
			return ended, nil
		}
		wait := backoff(failures)
		if _, until := d.current(f); !v.Sent && !time.Now().Add(wait).Before(until) {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(wait):
		}
	}
}

// receiver names a callback URL in the log: its path and query may hold
// secrets of the receiver's.
func origin(u monitor.CallbackURL) string {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return "unreadable"
	}
	return parsed.Scheme + "://" + parsed.Host
}
