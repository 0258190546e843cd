package monitors

import (
	"context"
	"fmt"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// EventService reads the events of monitors and their deliveries, and has events delivered
// again. It may be used concurrently.
type EventService struct{ store EventStore }

// Events reads the events of a monitor, newest first, with the state of each delivery
// (decision A8). Errors: *monitor.Error NotFound, InvalidConfig.
func (s *EventService) Events(ctx context.Context, id monitor.ID, limit, offset int) ([]EventRecord, int, error) {
	if err := checkPage(limit, offset); err != nil {
		return nil, 0, err
	}
	page, total, err := s.store.Events(ctx, id, limit, offset)
	if err != nil {
		return nil, 0, fmt.Errorf("read the events of a monitor: %w", err)
	}
	return page, total, nil
}

// Redeliver makes the dispatcher send an event again (decision A8). The receiver gets the
// same event_id. Errors: *monitor.Error NotFound when the monitor has no such event.
func (s *EventService) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	if !monitor.IsUUID(eventID) {
		return monitor.Errorf(monitor.NotFound, "no event has the id %.60q: an event id is a UUID", eventID)
	}
	return settle(ctx, "redeliver an event", func(ctx context.Context) error {
		return s.store.Redeliver(ctx, id, strings.ToLower(eventID))
	})
}
