package routingtest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// DefaultRoute is the ID of the default route.
const DefaultRoute = "01900000-0000-7000-8000-000000000001"

// Store is a routing.Store in memory. It may be used concurrently.
type Store struct {
	*database
	destinationStore
	routeStore
	silenceStore
}

var _ routing.Store = (*Store)(nil)

// database is what the parts of a Store share.
type database struct {
	// Fail, if set, is called first by every method of routing.Store; its error is the
	// method's. op is the method's name.
	Fail func(ctx context.Context, op string) error

	// Now is the time of all changes.
	Now time.Time

	// Counted is what Traffic returns.
	Counted map[string]routing.Traffic

	mu           sync.Mutex
	destinations table[routing.DestinationRecord]
	routes       table[notify.Route]   // the default route is last
	silences     table[notify.Silence] // oldest first
}

// NewStore returns a Store with the default route.
func NewStore(now time.Time) *Store {
	db := &database{Now: now}
	db.destinations = table[routing.DestinationRecord]{
		notFound: routing.DestinationNotFound,
		names:    func(r routing.DestinationRecord) (id, name string) { return r.ID, r.Name },
		clone: func(r routing.DestinationRecord) routing.DestinationRecord {
			r.Config, r.Secrets = maps.Clone(r.Config), maps.Clone(r.Secrets)
			return r
		},
	}
	db.routes = table[notify.Route]{
		rows:     []notify.Route{{ID: DefaultRoute, Name: "default", Destinations: []string{}, Default: true}},
		notFound: routing.RouteNotFound,
		names:    func(r notify.Route) (id, name string) { return r.ID, r.Name },
		clone:    func(r notify.Route) notify.Route { return r },
	}
	db.silences = table[notify.Silence]{
		notFound: routing.SilenceNotFound,
		names:    func(s notify.Silence) (id, name string) { return s.ID, s.ID }, // it has no name
		clone:    func(s notify.Silence) notify.Silence { return s },
	}
	return &Store{db, destinationStore{db}, routeStore{db}, silenceStore{db}}
}

// Changes returns how many changes were stored.
func (db *database) Changes() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.destinations.changes + db.routes.changes + db.silences.changes
}

// Update changes the record of a destination, as deliveries do.
func (db *database) Update(id string, change func(*routing.DestinationRecord)) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for i := range db.destinations.rows {
		if r := &db.destinations.rows[i]; r.ID == id {
			change(r)
		}
	}
}

// Routing implements routing.RoutingReader.
func (db *database) Routing(ctx context.Context) (notify.Routing, error) {
	return transaction(ctx, db, "Routing", func() (notify.Routing, error) {
		r := notify.Routing{Destinations: map[string]notify.Destination{}, Routes: db.routes.all()}
		for _, d := range db.destinations.all() {
			r.Destinations[d.ID] = d.Destination
		}
		r.Silences = slices.DeleteFunc(db.silences.all(), func(s notify.Silence) bool { return !s.EndedAt.IsZero() })
		return r, nil
	})
}

// transaction runs the method op of a port.
func transaction[R any](ctx context.Context, db *database, op string, run func() (R, error)) (none R, err error) {
	if db.Fail != nil {
		if err := db.Fail(ctx, op); err != nil {
			return none, err
		}
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	return run()
}
