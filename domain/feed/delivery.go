package feed

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Delivery is the data of delivery.updated: how far an event is on its way to the
// receiver.
type Delivery struct {
	EventID          string     `json:"event_id" db:"id"`
	MonitorID        monitor.ID `json:"monitor_id" db:"monitor_id"`
	EventType        event.Type `json:"event_type" db:"event_type"`
	CreatedAt        time.Time  `json:"created_at" db:"created_at"`
	WebhookStatus    string     `json:"webhook_status" db:"webhook_status"`         // pending, sent, failed
	WebhookAttempts  int        `json:"webhook_attempts" db:"webhook_attempts"`     // since it was stored, or last delivered again
	WebhookLastError *string    `json:"webhook_last_error" db:"webhook_last_error"` // null: none
	NextAttemptAt    *time.Time `json:"next_attempt_at" db:"next_attempt_at"`       // null unless pending
	SentAt           *time.Time `json:"sent_at" db:"sent_at"`                       // null unless sent
}

// NewDelivery returns d with its times in UTC, to the millisecond.
func NewDelivery(d Delivery) Delivery {
	d.CreatedAt = wire.Time(d.CreatedAt, time.UTC)
	if d.NextAttemptAt != nil {
		d.NextAttemptAt = wire.TimeOrNull(*d.NextAttemptAt, time.UTC)
	}
	if d.SentAt != nil {
		d.SentAt = wire.TimeOrNull(*d.SentAt, time.UTC)
	}
	return d
}

// Type implements Data.
func (Delivery) Type() Type { return DeliveryUpdated }
