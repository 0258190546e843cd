package registry

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Get reads a monitor. Errors: *monitor.Error NotFound.
func (s *Service) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	m, err := s.store.Get(ctx, id)
	if err != nil {
		return monitor.Monitor{}, fmt.Errorf("read a monitor: %w", err)
	}
	return m, nil
}

// List reads monitors, newest first, and how many there are in all. An empty
// status means every status; limit is 1 to MaxPage, offset 0 to MaxOffset
// (section 3.4, decision A7). Errors: *monitor.Error InvalidConfig.
func (s *Service) List(ctx context.Context, status monitor.Status, limit, offset int) ([]monitor.Monitor, int, error) {
	if err := checkPage(limit, offset); err != nil {
		return nil, 0, err
	}
	if status != "" {
		if _, err := monitor.ParseStatus(string(status)); err != nil {
			return nil, 0, err
		}
	}
	page, total, err := s.store.List(ctx, status, limit, offset)
	if err != nil {
		return nil, 0, fmt.Errorf("list monitors: %w", err)
	}
	return page, total, nil
}

// Events reads what happened to a monitor, newest first, with the state of
// each delivery (decision A8). Errors: *monitor.Error NotFound, InvalidConfig.
func (s *Service) Events(ctx context.Context, id monitor.ID, limit, offset int) ([]EventRecord, int, error) {
	if err := checkPage(limit, offset); err != nil {
		return nil, 0, err
	}
	page, total, err := s.store.Events(ctx, id, limit, offset)
	if err != nil {
		return nil, 0, fmt.Errorf("read the events of a monitor: %w", err)
	}
	return page, total, nil
}

// Redeliver has an event sent again (decision A8); the receiver sees the same
// event_id. Errors: *monitor.Error NotFound when the monitor has no such event.
func (s *Service) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	if !uuidForm.MatchString(eventID) {
		return monitor.Errorf(monitor.NotFound, "no event has the id %.60q: an event id is a UUID", eventID)
	}
	return settle(ctx, "redeliver an event", func(ctx context.Context) error {
		return s.store.Redeliver(ctx, id, strings.ToLower(eventID))
	})
}

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
