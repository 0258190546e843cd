package routingtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// DefaultRoute is the ID of the default route.
const DefaultRoute = "01900000-0000-7000-8000-000000000001"

// Store is a routing.Store in memory. It has the default route. It may be used concurrently.
type Store struct {
	// Fail, if set, is called first by every method; its error is the method's. op is
	// the method's name.
	Fail func(ctx context.Context, op string) error

	// Now is the time of all changes.
	Now time.Time

	// Counted is what Traffic returns.
	Counted map[string]routing.Traffic

	mu           sync.Mutex
	changes      int
	destinations []routing.DestinationRecord
	routes       []routing.RouteRecord
	silences     []routing.SilenceRecord // oldest first
}

var _ routing.Store = (*Store)(nil)

// NewStore returns a Store with the default route.
func NewStore(now time.Time) *Store {
	return &Store{Now: now, routes: []routing.RouteRecord{{Route: notify.Route{ID: DefaultRoute, Name: "default", Default: true}}}}
}

// Changes returns how many changes were stored.
func (s *Store) Changes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// Update changes the record of a destination, as deliveries do.
func (s *Store) Update(id string, change func(*routing.DestinationRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.destinations {
		if s.destinations[i].ID == id {
			change(&s.destinations[i])
		}
	}
}

func (s *Store) begin(ctx context.Context, op string) (end func(), err error) {
	if s.Fail != nil {
		if err := s.Fail(ctx, op); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// find returns the place of the element with an id.
func find[R any](all []R, id string, idOf func(R) string, code monitor.Code) (int, error) {
	if i := slices.IndexFunc(all, func(r R) bool { return idOf(r) == id }); i >= 0 {
		return i, nil
	}
	return 0, monitor.Errorf(code, "nothing has the id %.60q", id)
}

func destinationID(r routing.DestinationRecord) string { return r.ID }
func routeID(r routing.RouteRecord) string             { return r.ID }
func silenceID(r routing.SilenceRecord) string         { return r.ID }

func cloneDestination(r routing.DestinationRecord) routing.DestinationRecord {
	r.Config, r.Secrets = maps.Clone(r.Config), maps.Clone(r.Secrets)
	return r
}

// Destinations implements routing.DestinationStore.
func (s *Store) Destinations(ctx context.Context) ([]routing.DestinationRecord, error) {
	end, err := s.begin(ctx, "Destinations")
	if err != nil {
		return nil, err
	}
	defer end()
	var all []routing.DestinationRecord
	for _, r := range s.destinations {
		all = append(all, cloneDestination(r))
	}
	slices.SortFunc(all, func(a, b routing.DestinationRecord) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Destination implements routing.DestinationStore.
func (s *Store) Destination(ctx context.Context, id string) (routing.DestinationRecord, error) {
	end, err := s.begin(ctx, "Destination")
	if err != nil {
		return routing.DestinationRecord{}, err
	}
	defer end()
	i, err := find(s.destinations, id, destinationID, routing.DestinationNotFound)
	if err != nil {
		return routing.DestinationRecord{}, err
	}
	return cloneDestination(s.destinations[i]), nil
}

func (s *Store) nameOfDestinationIsFree(d notify.Destination) error {
	for _, other := range s.destinations {
		if other.Name == d.Name && other.ID != d.ID {
			return monitor.Errorf(routing.NameTaken, "another destination has the name %q", d.Name)
		}
	}
	return nil
}

// CreateDestination implements routing.DestinationStore.
func (s *Store) CreateDestination(ctx context.Context, d notify.Destination) (routing.DestinationRecord, error) {
	end, err := s.begin(ctx, "CreateDestination")
	if err != nil {
		return routing.DestinationRecord{}, err
	}
	defer end()
	if err := s.nameOfDestinationIsFree(d); err != nil {
		return routing.DestinationRecord{}, err
	}
	r := routing.DestinationRecord{Destination: d, CreatedAt: s.Now, UpdatedAt: s.Now}
	s.destinations = append(s.destinations, cloneDestination(r))
	s.changes++
	return r, nil
}

// ChangeDestination implements routing.DestinationStore.
func (s *Store) ChangeDestination(ctx context.Context, id string, change func(*notify.Destination) error) (routing.DestinationRecord, error) {
	end, err := s.begin(ctx, "ChangeDestination")
	if err != nil {
		return routing.DestinationRecord{}, err
	}
	defer end()
	i, err := find(s.destinations, id, destinationID, routing.DestinationNotFound)
	if err != nil {
		return routing.DestinationRecord{}, err
	}
	r := cloneDestination(s.destinations[i])
	if err := change(&r.Destination); err != nil {
		return routing.DestinationRecord{}, err
	}
	if err := s.nameOfDestinationIsFree(r.Destination); err != nil {
		return routing.DestinationRecord{}, err
	}
	r.UpdatedAt = s.Now
	s.destinations[i] = cloneDestination(r)
	s.changes++
	return r, nil
}

// DeleteDestination implements routing.DestinationStore.
func (s *Store) DeleteDestination(ctx context.Context, id string) error {
	end, err := s.begin(ctx, "DeleteDestination")
	if err != nil {
		return err
	}
	defer end()
	s.destinations = slices.DeleteFunc(s.destinations, func(r routing.DestinationRecord) bool { return r.ID == id })
	for i := range s.routes {
		s.routes[i].Destinations = slices.DeleteFunc(slices.Clone(s.routes[i].Destinations), func(d string) bool { return d == id })
	}
	s.changes++
	return nil
}

// Traffic implements routing.DestinationStore.
func (s *Store) Traffic(ctx context.Context) (map[string]routing.Traffic, error) {
	end, err := s.begin(ctx, "Traffic")
	if err != nil {
		return nil, err
	}
	defer end()
	return maps.Clone(s.Counted), nil
}

// Routes implements routing.RouteStore.
func (s *Store) Routes(ctx context.Context) ([]routing.RouteRecord, error) {
	end, err := s.begin(ctx, "Routes")
	if err != nil {
		return nil, err
	}
	defer end()
	return slices.Clone(s.routes), nil
}

// Route implements routing.RouteStore.
func (s *Store) Route(ctx context.Context, id string) (routing.RouteRecord, error) {
	end, err := s.begin(ctx, "Route")
	if err != nil {
		return routing.RouteRecord{}, err
	}
	defer end()
	i, err := find(s.routes, id, routeID, routing.RouteNotFound)
	if err != nil {
		return routing.RouteRecord{}, err
	}
	return s.routes[i], nil
}

func (s *Store) nameOfRouteIsFree(r notify.Route) error {
	for _, other := range s.routes {
		if other.Name == r.Name && other.ID != r.ID {
			return monitor.Errorf(routing.NameTaken, "another route has the name %q", r.Name)
		}
	}
	return nil
}

// CreateRoute implements routing.RouteStore.
func (s *Store) CreateRoute(ctx context.Context, r notify.Route) (routing.RouteRecord, error) {
	end, err := s.begin(ctx, "CreateRoute")
	if err != nil {
		return routing.RouteRecord{}, err
	}
	defer end()
	if err := s.nameOfRouteIsFree(r); err != nil {
		return routing.RouteRecord{}, err
	}
	record := routing.RouteRecord{Route: r, CreatedAt: s.Now, UpdatedAt: s.Now}
	s.routes = slices.Insert(s.routes, len(s.routes)-1, record)
	s.changes++
	return record, nil
}

// ChangeRoute implements routing.RouteStore.
func (s *Store) ChangeRoute(ctx context.Context, id string, change func(*notify.Route) error) (routing.RouteRecord, error) {
	end, err := s.begin(ctx, "ChangeRoute")
	if err != nil {
		return routing.RouteRecord{}, err
	}
	defer end()
	i, err := find(s.routes, id, routeID, routing.RouteNotFound)
	if err != nil {
		return routing.RouteRecord{}, err
	}
	r := s.routes[i]
	if err := change(&r.Route); err != nil {
		return routing.RouteRecord{}, err
	}
	if err := s.nameOfRouteIsFree(r.Route); err != nil {
		return routing.RouteRecord{}, err
	}
	r.UpdatedAt = s.Now
	s.routes[i] = r
	s.changes++
	return r, nil
}

// DeleteRoute implements routing.RouteStore.
func (s *Store) DeleteRoute(ctx context.Context, id string) error {
	end, err := s.begin(ctx, "DeleteRoute")
	if err != nil {
		return err
	}
	defer end()
	if id == DefaultRoute {
		return monitor.Errorf(monitor.InvalidConfig, "the default route cannot be deleted")
	}
	s.routes = slices.DeleteFunc(s.routes, func(r routing.RouteRecord) bool { return r.ID == id })
	s.changes++
	return nil
}

// OrderRoutes implements routing.RouteStore.
func (s *Store) OrderRoutes(ctx context.Context, ids []string) ([]routing.RouteRecord, error) {
	end, err := s.begin(ctx, "OrderRoutes")
	if err != nil {
		return nil, err
	}
	defer end()
	var ordered []routing.RouteRecord
	for _, id := range ids {
		i, err := find(s.routes[:len(s.routes)-1], id, routeID, monitor.InvalidConfig)
		if err != nil {
			return nil, err
		}
		ordered = append(ordered, s.routes[i])
	}
	if len(ordered) != len(s.routes)-1 {
		return nil, monitor.Errorf(monitor.InvalidConfig, "routes has %d of %d routes", len(ordered), len(s.routes)-1)
	}
	s.routes = slices.Concat(ordered, s.routes[len(s.routes)-1:])
	s.changes++
	return slices.Clone(s.routes), nil
}

// Silences implements routing.SilenceStore.
func (s *Store) Silences(ctx context.Context) ([]routing.SilenceRecord, error) {
	end, err := s.begin(ctx, "Silences")
	if err != nil {
		return nil, err
	}
	defer end()
	all := slices.Clone(s.silences)
	slices.Reverse(all)
	return all, nil
}

// Silence implements routing.SilenceStore.
func (s *Store) Silence(ctx context.Context, id string) (routing.SilenceRecord, error) {
	end, err := s.begin(ctx, "Silence")
	if err != nil {
		return routing.SilenceRecord{}, err
	}
	defer end()
	i, err := find(s.silences, id, silenceID, routing.SilenceNotFound)
	if err != nil {
		return routing.SilenceRecord{}, err
	}
	return s.silences[i], nil
}

// CurrentTime implements routing.SilenceStore.
func (s *Store) CurrentTime(ctx context.Context) (time.Time, error) {
	end, err := s.begin(ctx, "CurrentTime")
	if err != nil {
		return time.Time{}, err
	}
	defer end()
	return s.Now, nil
}

// CreateSilence implements routing.SilenceStore.
func (s *Store) CreateSilence(ctx context.Context, silence notify.Silence) (routing.SilenceRecord, error) {
	end, err := s.begin(ctx, "CreateSilence")
	if err != nil {
		return routing.SilenceRecord{}, err
	}
	defer end()
	if i, err := find(s.silences, silence.ID, silenceID, routing.SilenceNotFound); err == nil {
		return s.silences[i], nil
	}
	r := routing.SilenceRecord{Silence: silence, CreatedAt: s.Now, UpdatedAt: s.Now}
	s.silences = append(s.silences, r)
	s.changes++
	return r, nil
}

// ChangeSilence implements routing.SilenceStore.
func (s *Store) ChangeSilence(ctx context.Context, id string, change func(*notify.Silence) error) (routing.SilenceRecord, error) {
	end, err := s.begin(ctx, "ChangeSilence")
	if err != nil {
		return routing.SilenceRecord{}, err
	}
	defer end()
	i, err := find(s.silences, id, silenceID, routing.SilenceNotFound)
	if err != nil {
		return routing.SilenceRecord{}, err
	}
	r := s.silences[i]
	if !r.EndedAt.IsZero() {
		return routing.SilenceRecord{}, monitor.Errorf(monitor.InvalidConfig, "the silence has ended and cannot be changed; create another")
	}
	if err := change(&r.Silence); err != nil {
		return routing.SilenceRecord{}, err
	}
	r.UpdatedAt = s.Now
	s.silences[i] = r
	s.changes++
	return r, nil
}

// EndSilence implements routing.SilenceStore.
func (s *Store) EndSilence(ctx context.Context, id string) (routing.SilenceRecord, error) {
	end, err := s.begin(ctx, "EndSilence")
	if err != nil {
		return routing.SilenceRecord{}, err
	}
	defer end()
	i, err := find(s.silences, id, silenceID, routing.SilenceNotFound)
	if err != nil {
		return routing.SilenceRecord{}, err
	}
	if s.silences[i].EndedAt.IsZero() {
		s.silences[i].EndedAt, s.silences[i].UpdatedAt = s.Now, s.Now
		s.changes++
	}
	return s.silences[i], nil
}
