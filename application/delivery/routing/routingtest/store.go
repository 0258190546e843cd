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
	routes       []notify.Route
	silences     []notify.Silence // oldest first
}

var _ routing.Store = (*Store)(nil)

// NewStore returns a Store with the default route.
func NewStore(now time.Time) *Store {
	return &Store{Now: now, routes: []notify.Route{{ID: DefaultRoute, Name: "default", Destinations: []string{}, Default: true}}}
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
func routeID(r notify.Route) string                    { return r.ID }
func silenceID(r notify.Silence) string                { return r.ID }

func cloneDestination(r routing.DestinationRecord) routing.DestinationRecord {
	r.Config, r.Secrets = maps.Clone(r.Config), maps.Clone(r.Secrets)
	return r
}

// Routing implements routing.Store.
func (s *Store) Routing(ctx context.Context) (notify.Routing, error) {
	end, err := s.begin(ctx, "Routing")
	if err != nil {
		return notify.Routing{}, err
	}
	defer end()
	r := notify.Routing{Destinations: map[string]notify.Destination{}, Routes: slices.Clone(s.routes)}
	for _, d := range s.destinations {
		r.Destinations[d.ID] = cloneDestination(d).Destination
	}
	for _, silence := range s.silences {
		if silence.EndedAt.IsZero() {
			r.Silences = append(r.Silences, silence)
		}
	}
	return r, nil
}

// Destinations implements routing.Store.
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

// Destination implements routing.Store.
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

// CreateDestination implements routing.Store.
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

// ChangeDestination implements routing.Store.
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

// DeleteDestination implements routing.Store.
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

// Traffic implements routing.Store.
func (s *Store) Traffic(ctx context.Context) (map[string]routing.Traffic, error) {
	end, err := s.begin(ctx, "Traffic")
	if err != nil {
		return nil, err
	}
	defer end()
	return maps.Clone(s.Counted), nil
}

// Routes implements routing.Store.
func (s *Store) Routes(ctx context.Context) ([]notify.Route, error) {
	end, err := s.begin(ctx, "Routes")
	if err != nil {
		return nil, err
	}
	defer end()
	return slices.Clone(s.routes), nil
}

// Route implements routing.Store.
func (s *Store) Route(ctx context.Context, id string) (notify.Route, error) {
	end, err := s.begin(ctx, "Route")
	if err != nil {
		return notify.Route{}, err
	}
	defer end()
	i, err := find(s.routes, id, routeID, routing.RouteNotFound)
	if err != nil {
		return notify.Route{}, err
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

// CreateRoute implements routing.Store.
func (s *Store) CreateRoute(ctx context.Context, r notify.Route) (notify.Route, error) {
	end, err := s.begin(ctx, "CreateRoute")
	if err != nil {
		return notify.Route{}, err
	}
	defer end()
	if err := s.nameOfRouteIsFree(r); err != nil {
		return notify.Route{}, err
	}
	s.routes = slices.Insert(s.routes, len(s.routes)-1, r)
	s.changes++
	return r, nil
}

// ChangeRoute implements routing.Store.
func (s *Store) ChangeRoute(ctx context.Context, id string, change func(*notify.Route) error) (notify.Route, error) {
	end, err := s.begin(ctx, "ChangeRoute")
	if err != nil {
		return notify.Route{}, err
	}
	defer end()
	i, err := find(s.routes, id, routeID, routing.RouteNotFound)
	if err != nil {
		return notify.Route{}, err
	}
	r := s.routes[i]
	if err := change(&r); err != nil {
		return notify.Route{}, err
	}
	if err := s.nameOfRouteIsFree(r); err != nil {
		return notify.Route{}, err
	}
	s.routes[i] = r
	s.changes++
	return r, nil
}

// DeleteRoute implements routing.Store.
func (s *Store) DeleteRoute(ctx context.Context, id string) error {
	end, err := s.begin(ctx, "DeleteRoute")
	if err != nil {
		return err
	}
	defer end()
	if id == DefaultRoute {
		return monitor.Errorf(monitor.InvalidConfig, "the default route cannot be deleted")
	}
	s.routes = slices.DeleteFunc(s.routes, func(r notify.Route) bool { return r.ID == id })
	s.changes++
	return nil
}

// OrderRoutes implements routing.Store.
func (s *Store) OrderRoutes(ctx context.Context, ids []string) ([]notify.Route, error) {
	end, err := s.begin(ctx, "OrderRoutes")
	if err != nil {
		return nil, err
	}
	defer end()
	var ordered []notify.Route
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

// Silences implements routing.Store.
func (s *Store) Silences(ctx context.Context) ([]notify.Silence, error) {
	end, err := s.begin(ctx, "Silences")
	if err != nil {
		return nil, err
	}
	defer end()
	all := slices.Clone(s.silences)
	slices.Reverse(all)
	return all, nil
}

// Silence implements routing.Store.
func (s *Store) Silence(ctx context.Context, id string) (notify.Silence, error) {
	end, err := s.begin(ctx, "Silence")
	if err != nil {
		return notify.Silence{}, err
	}
	defer end()
	i, err := find(s.silences, id, silenceID, routing.SilenceNotFound)
	if err != nil {
		return notify.Silence{}, err
	}
	return s.silences[i], nil
}

// CurrentTime implements routing.Store.
func (s *Store) CurrentTime(ctx context.Context) (time.Time, error) {
	end, err := s.begin(ctx, "CurrentTime")
	if err != nil {
		return time.Time{}, err
	}
	defer end()
	return s.Now, nil
}

// CreateSilence implements routing.Store.
func (s *Store) CreateSilence(ctx context.Context, silence notify.Silence) (notify.Silence, error) {
	end, err := s.begin(ctx, "CreateSilence")
	if err != nil {
		return notify.Silence{}, err
	}
	defer end()
	if i, err := find(s.silences, silence.ID, silenceID, routing.SilenceNotFound); err == nil {
		return s.silences[i], nil
	}
	s.silences = append(s.silences, silence)
	s.changes++
	return silence, nil
}

// ChangeSilence implements routing.Store.
func (s *Store) ChangeSilence(ctx context.Context, id string, change func(*notify.Silence) error) (notify.Silence, error) {
	end, err := s.begin(ctx, "ChangeSilence")
	if err != nil {
		return notify.Silence{}, err
	}
	defer end()
	i, err := find(s.silences, id, silenceID, routing.SilenceNotFound)
	if err != nil {
		return notify.Silence{}, err
	}
	r := s.silences[i]
	if !r.EndedAt.IsZero() {
		return notify.Silence{}, monitor.Errorf(monitor.InvalidConfig, "the silence has ended and cannot be changed; create another")
	}
	if err := change(&r); err != nil {
		return notify.Silence{}, err
	}
	s.silences[i] = r
	s.changes++
	return r, nil
}

// EndSilence implements routing.Store.
func (s *Store) EndSilence(ctx context.Context, id string) (notify.Silence, error) {
	end, err := s.begin(ctx, "EndSilence")
	if err != nil {
		return notify.Silence{}, err
	}
	defer end()
	i, err := find(s.silences, id, silenceID, routing.SilenceNotFound)
	if err != nil {
		return notify.Silence{}, err
	}
	if s.silences[i].EndedAt.IsZero() {
		s.silences[i].EndedAt = s.Now
		s.changes++
	}
	return s.silences[i], nil
}
