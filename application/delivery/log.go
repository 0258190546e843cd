package delivery

import (
	"log/slog"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// logOutcome logs an outcome that was stored.
func logOutcome(log *slog.Logger, d Delivery, o Outcome, r Recorded) {
	toCallback := d.Callback != ""
	if !o.Delivered {
		log = log.With("error", o.Error)
	}
	retryAt := o.RetryAt.Format(time.RFC3339Nano)
	switch {
	case o.Delivered && toCallback:
		log.Info("webhook delivered")
	case o.Delivered:
		log.Info("delivered to a destination")
	case o.Failed && toCallback:
		log.Error("webhook failed for good, its event stays failed: repair the receiver, then redeliver the event")
	case o.Failed:
		log.Error("delivery to a destination failed for good: correct what the error names, then replay the delivery")
	case o.LeavesQueue && toCallback:
		log.Warn("webhook failed, its monitor goes on and later events are sent before it", "retry_at", retryAt)
	case toCallback:
		log.Warn("webhook failed, will be retried", "retry_at", retryAt)
	default:
		log.Warn("delivery to a destination failed, will be retried", "retry_at", retryAt)
	}
	if r.Disabled != "" {
		log.Error("destination disabled, nothing is sent there any more: repair it, then enable it again", "reason", r.Disabled)
	}
	if r.EndedMonitor != "" {
		log.Error("monitor ended: its callback failed, the stream is not watched any more; repair the receiver and register the stream again",
			"reason", "callback_failed")
	}
}

// attributes returns what the log says of a delivery.
func (d Delivery) attributes() (all []any) {
	if d.Callback != "" {
		all = append(all, "receiver", origin(d.Callback))
	} else {
		all = append(all, "delivery_id", d.ID, "destination_id", d.Destination.ID, "destination", d.Destination.Name, "kind", string(d.Destination.Kind))
	}
	switch {
	case d.Event != nil:
		all = append(all, "monitor_id", string(d.Event.MonitorID), "event_id", d.Event.EventID, "event_type", string(d.Event.EventType))
	case d.Incident != nil:
		all = append(all, "monitor_id", string(d.Incident.MonitorID), "incident_id", d.Incident.ID)
	case d.Storm != nil:
		all = append(all, "storm_id", d.ID)
	}
	if d.Message.Kind != "" {
		all = append(all, "message", string(d.Message.Kind))
	}
	return all
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
