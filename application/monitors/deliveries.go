package monitors

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of a page of deliveries. A page has the bodies of its webhooks, so it is shorter
// than other pages.
const (
	DefaultDeliveryPage = 50
	MaxDeliveryPage     = 100
)

// DeliveryState is the progress of an event's webhook.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryFailed    DeliveryState = "failed"
	DeliveryDropped   DeliveryState = "dropped" // by a second opinion (section 19.9)
)

// DeliveryQuery selects a page of deliveries (section 17.1). Its filters are combined. The
// zero value of a filter selects every delivery.
type DeliveryQuery struct {
	MonitorID  monitor.ID
	EventID    string // a UUID, as are IncidentID and DestinationID
	IncidentID string
	State      DeliveryState

	DestinationID string
	Before        DeliveryPlace // only deliveries after this one in the list; zero: from the newest on
	Limit         int           // 1 to MaxDeliveryPage
}

// DeliveryPlace is the place of a delivery in their list.
type DeliveryPlace struct {
	CreatedAt time.Time
	ID        string // of the delivery to a destination, or of the event
}

// DeliveryRecord is a delivery to the callback of a monitor, or to a destination
// (section 19.4). A message has neither event nor body; one about channels of streams has the type of the events. Its JSON
// is that of the API, which adds attempts.
type DeliveryRecord struct {
	DeliveryID    *string              `json:"delivery_id" db:"delivery_id"` // a UUID; null: to the callback
	Destination   *DeliveryDestination `json:"destination" db:"-"`           // null: to the callback
	EventID       *string              `json:"event_id" db:"event_id"`
	EventType     *event.Type          `json:"event_type" db:"event_type"`
	MonitorID     *monitor.ID          `json:"monitor_id" db:"monitor_id"` // null: of a storm, a notice, or channels
	StreamURL     *monitor.StreamURL   `json:"stream_url" db:"stream_url"`
	ChannelID     *string              `json:"channel_id" db:"channel_id"`   // a UUID; null: about no channel, or several
	ChannelURL    *string              `json:"channel_url" db:"channel_url"` // null without ChannelID, or once the channel was deleted
	IncidentID    *string              `json:"incident_id" db:"incident_id"` // null: it belongs to none
	StormID       *string              `json:"storm_id" db:"storm_id"`       // null: it is not about a storm
	Sequence      *int64               `json:"sequence" db:"sequence"`       // of the event at a webhook destination; null: it has none
	CreatedAt     time.Time            `json:"created_at" db:"created_at"`
	State         DeliveryState        `json:"state" db:"state"`
	Tried         int                  `json:"tried" db:"tried"`                     // attempts since the event was stored, or last delivered again
	NextAttemptAt *time.Time           `json:"next_attempt_at" db:"next_attempt_at"` // null unless pending
	DeliveredAt   *time.Time           `json:"delivered_at" db:"delivered_at"`
	LastError     *string              `json:"last_error" db:"last_error"`                 // null: none
	LongSchedule  bool                 `json:"long_schedule,omitempty" db:"long_schedule"` // as in EventRecord
	Body          string               `json:"body" db:"body"`
	Attempts      []event.Attempt      `json:"-" db:"-"`
}

// DeliveryDestination names a destination (section 19.1).
type DeliveryDestination struct {
	ID   string `json:"destination_id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// ID returns what orders deliveries of the same time.
func (r DeliveryRecord) ID() string {
	if r.DeliveryID != nil {
		return *r.DeliveryID
	}
	return *r.EventID
}

// Deliveries reads a page of deliveries, newest first, and the place after which the next
// page begins; zero: this is the last. Errors: *monitor.Error InvalidConfig that names
// every wrong filter.
func (s *EventService) Deliveries(ctx context.Context, q DeliveryQuery) (page []DeliveryRecord, next DeliveryPlace, err error) {
	if err := q.check(); err != nil {
		return nil, next, err
	}
	limit := q.Limit
	q.Limit++ // one more shows whether there is a next page
	q.EventID, q.IncidentID, q.DestinationID = strings.ToLower(q.EventID), strings.ToLower(q.IncidentID), strings.ToLower(q.DestinationID)
	page, err = s.store.Deliveries(ctx, q)
	if err != nil {
		return nil, next, fmt.Errorf("list deliveries: %w", err)
	}
	if len(page) > limit {
		page = page[:limit]
		next = DeliveryPlace{page[limit-1].CreatedAt, page[limit-1].ID()}
	}
	return page, next, nil
}

func (q DeliveryQuery) check() error {
	var wrong []error
	refuse := func(format string, args ...any) {
		wrong = append(wrong, monitor.Errorf(monitor.InvalidConfig, format, args...))
	}
	if q.MonitorID != "" {
		if _, err := monitor.ParseID(string(q.MonitorID)); err != nil {
			refuse("monitor_id is %.60q; accepted is mon- and 32 hexadecimal digits", q.MonitorID)
		}
	}
	for _, f := range []struct{ name, id string }{{"event_id", q.EventID}, {"incident_id", q.IncidentID}, {"destination_id", q.DestinationID}} {
		if f.id != "" && !monitor.IsUUID(f.id) {
			refuse("%s is %.60q; accepted is a UUID", f.name, f.id)
		}
	}
	switch q.State {
	case "", DeliveryPending, DeliveryDelivered, DeliveryFailed, DeliveryDropped:
	default:
		refuse("state is %.40q; accepted are pending, delivered, failed, dropped", q.State)
	}
	return monitor.Join(append(wrong, monitor.ValidLimit(q.Limit, MaxDeliveryPage))...)
}
