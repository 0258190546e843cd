package routingtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// destinationStore is a routing.DestinationReader and a routing.DestinationWriter.
type destinationStore struct{ db *database }

// Destinations implements routing.DestinationReader.
func (s destinationStore) Destinations(ctx context.Context) ([]routing.DestinationRecord, error) {
	return transaction(ctx, s.db, "Destinations", func() ([]routing.DestinationRecord, error) {
		byName := func(a, b routing.DestinationRecord) int { return cmp.Compare(a.Name, b.Name) }
		return slices.SortedFunc(slices.Values(s.db.destinations.all()), byName), nil
	})
}

// Destination implements routing.DestinationReader.
func (s destinationStore) Destination(ctx context.Context, id string) (routing.DestinationRecord, error) {
	return transaction(ctx, s.db, "Destination", func() (routing.DestinationRecord, error) { return s.db.destinations.get(id) })
}

// Traffic implements routing.DestinationReader.
func (s destinationStore) Traffic(ctx context.Context) (map[string]routing.Traffic, error) {
	return transaction(ctx, s.db, "Traffic", func() (map[string]routing.Traffic, error) { return maps.Clone(s.db.Counted), nil })
}

// CreateDestination implements routing.DestinationWriter.
func (s destinationStore) CreateDestination(ctx context.Context, d notify.Destination) (routing.DestinationRecord, error) {
	return transaction(ctx, s.db, "CreateDestination", func() (routing.DestinationRecord, error) {
		all := &s.db.destinations
		return all.insert(len(all.rows), routing.DestinationRecord{Destination: d, CreatedAt: s.db.Now, UpdatedAt: s.db.Now})
	})
}

// ChangeDestination implements routing.DestinationWriter.
func (s destinationStore) ChangeDestination(ctx context.Context, id string, change func(*notify.Destination) error) (routing.DestinationRecord, error) {
	return transaction(ctx, s.db, "ChangeDestination", func() (routing.DestinationRecord, error) {
		return s.db.destinations.change(id, func(r *routing.DestinationRecord) error {
			r.UpdatedAt = s.db.Now
			return change(&r.Destination)
		})
	})
}

// DeleteDestination implements routing.DestinationWriter.
func (s destinationStore) DeleteDestination(ctx context.Context, id string) error {
	_, err := transaction(ctx, s.db, "DeleteDestination", func() (any, error) {
		s.db.destinations.delete(id)
		for i, r := range s.db.routes.rows {
			s.db.routes.rows[i].Destinations = slices.DeleteFunc(slices.Clone(r.Destinations), func(d string) bool { return d == id })
		}
		return nil, nil
	})
	return err
}

// routeStore is a routing.RouteReader and a routing.RouteWriter.
type routeStore struct{ db *database }

// Routes implements routing.RouteReader.
func (s routeStore) Routes(ctx context.Context) ([]notify.Route, error) {
	return transaction(ctx, s.db, "Routes", func() ([]notify.Route, error) { return s.db.routes.all(), nil })
}

// Route implements routing.RouteReader.
func (s routeStore) Route(ctx context.Context, id string) (notify.Route, error) {
	return transaction(ctx, s.db, "Route", func() (notify.Route, error) { return s.db.routes.get(id) })
}

// CreateRoute implements routing.RouteWriter.
func (s routeStore) CreateRoute(ctx context.Context, r notify.Route) (notify.Route, error) {
	return transaction(ctx, s.db, "CreateRoute", func() (notify.Route, error) { return s.db.routes.insert(len(s.db.routes.rows)-1, r) })
}

// ChangeRoute implements routing.RouteWriter.
func (s routeStore) ChangeRoute(ctx context.Context, id string, change func(*notify.Route) error) (notify.Route, error) {
	return transaction(ctx, s.db, "ChangeRoute", func() (notify.Route, error) { return s.db.routes.change(id, change) })
}

// DeleteRoute implements routing.RouteWriter.
func (s routeStore) DeleteRoute(ctx context.Context, id string) error {
	_, err := transaction(ctx, s.db, "DeleteRoute", func() (any, error) {
		if id == DefaultRoute {
			return nil, monitor.Errorf(monitor.InvalidConfig, "the default route cannot be deleted")
		}
		s.db.routes.delete(id)
		return nil, nil
	})
	return err
}

// OrderRoutes implements routing.RouteWriter.
func (s routeStore) OrderRoutes(ctx context.Context, ids []string) ([]notify.Route, error) {
	return transaction(ctx, s.db, "OrderRoutes", func() ([]notify.Route, error) {
		all := &s.db.routes
		var ordered []notify.Route
		for _, id := range append(slices.Clone(ids), DefaultRoute) {
			r, err := all.get(id)
			if err != nil || id == DefaultRoute && len(ordered) != len(all.rows)-1 {
				return nil, monitor.Errorf(monitor.InvalidConfig, "routes has %d of %d routes", len(ids), len(all.rows)-1)
			}
			ordered = append(ordered, r)
		}
		all.rows = ordered
		all.changes++
		return all.all(), nil
	})
}

// silenceStore is a routing.SilenceReader and a routing.SilenceWriter.
type silenceStore struct{ db *database }

// Silences implements routing.SilenceReader.
func (s silenceStore) Silences(ctx context.Context) ([]notify.Silence, error) {
	return transaction(ctx, s.db, "Silences", func() ([]notify.Silence, error) {
		all := s.db.silences.all()
		slices.Reverse(all)
		return all, nil
	})
}

// Silence implements routing.SilenceReader.
func (s silenceStore) Silence(ctx context.Context, id string) (notify.Silence, error) {
	return transaction(ctx, s.db, "Silence", func() (notify.Silence, error) { return s.db.silences.get(id) })
}

// CurrentTime implements routing.SilenceWriter.
func (s silenceStore) CurrentTime(ctx context.Context) (time.Time, error) {
	return transaction(ctx, s.db, "CurrentTime", func() (time.Time, error) { return s.db.Now, nil })
}

// CreateSilence implements routing.SilenceWriter.
func (s silenceStore) CreateSilence(ctx context.Context, silence notify.Silence) (notify.Silence, error) {
	return transaction(ctx, s.db, "CreateSilence", func() (notify.Silence, error) {
		all := &s.db.silences
		if created, err := all.get(silence.ID); err == nil {
			return created, nil
		}
		return all.insert(len(all.rows), silence)
	})
}

// ChangeSilence implements routing.SilenceWriter.
func (s silenceStore) ChangeSilence(ctx context.Context, id string, change func(*notify.Silence) error) (notify.Silence, error) {
	return transaction(ctx, s.db, "ChangeSilence", func() (notify.Silence, error) {
		return s.db.silences.change(id, func(stored *notify.Silence) error {
			if !stored.EndedAt.IsZero() {
				return monitor.Errorf(monitor.InvalidConfig, "the silence has ended and cannot be changed; create another")
			}
			return change(stored)
		})
	})
}

// EndSilence implements routing.SilenceWriter.
func (s silenceStore) EndSilence(ctx context.Context, id string) (notify.Silence, error) {
	return transaction(ctx, s.db, "EndSilence", func() (notify.Silence, error) {
		if stored, err := s.db.silences.get(id); err != nil || !stored.EndedAt.IsZero() {
			return stored, err
		}
		return s.db.silences.change(id, func(stored *notify.Silence) error {
			stored.EndedAt = s.db.Now
			return nil
		})
	})
}
