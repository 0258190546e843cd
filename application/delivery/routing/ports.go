package routing

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Codes of refused requests. All other mistakes in a request have monitor.InvalidConfig.
const (
	DestinationNotFound monitor.Code = "DESTINATION_NOT_FOUND"
	RouteNotFound       monitor.Code = "ROUTE_NOT_FOUND"
	SilenceNotFound     monitor.Code = "SILENCE_NOT_FOUND"
	OverrideNotFound    monitor.Code = "OVERRIDE_NOT_FOUND"
)

// Limits of what a Store holds. Every gateway keeps all of it in memory.
const (
	MaxDestinations  = 200
	MaxRoutes        = 200
	MaxSilences      = 1000 // that have not ended
	MaxEndedSilences = 200  // that Silences lists: the newest
)

// Store keeps destinations, routes, silences and who is on duty. Every method blocks for one transaction
// and may be called concurrently, by several gateways. A change takes effect for the next
// event, and for incidents that are open. Methods of the store do not check what the Check methods of notify do.
//
// After an error every method may be repeated. The creation of an id that exists changes
// nothing, and the deletion of one that is gone is no error.
type Store interface {
	RoutingReader
	DestinationReader
	DestinationWriter
	RouteReader
	RouteWriter
	SilenceReader
	SilenceWriter
	DutyStore
}

// RoutingReader reads all that decides who is told what.
type RoutingReader interface {
	// Routing reads it as it is now. The caller must not change it.
	Routing(ctx context.Context) (notify.Routing, error)
}

// DestinationReader reads destinations.
type DestinationReader interface {
	// Destinations reads all destinations, by name.
	Destinations(ctx context.Context) ([]DestinationRecord, error)

	// Destination reads one. Errors: *monitor.Error DestinationNotFound.
	Destination(ctx context.Context, id string) (DestinationRecord, error)

	// Traffic counts the deliveries of all destinations, by ID. A destination without
	// any is not in the map.
	Traffic(ctx context.Context) (map[string]Traffic, error)
}

// DestinationWriter changes destinations, and encrypts their secrets.
type DestinationWriter interface {
	// CreateDestination stores a new destination. Errors: *monitor.Error NameTaken;
	// InvalidConfig for an unknown fallback, and when there are MaxDestinations.
	CreateDestination(ctx context.Context, d notify.Destination) (DestinationRecord, error)

	// ChangeDestination locks a destination and stores what change makes of it: ID stays.
	// change may run several times; its error is returned and nothing is stored. change
	// gets no secrets if SecretsError is set. A change of Config, Secrets or Enabled
	// also closes the circuit, so the next attempt is made at once. Errors:
	// *monitor.Error DestinationNotFound, NameTaken; InvalidConfig for an unknown fallback.
	ChangeDestination(ctx context.Context, id string, change func(*notify.Destination) error) (DestinationRecord, error)

	// DeleteDestination also removes the destination from routes and fallbacks. Its name is
	// free, and nothing is sent to it any more. Its deliveries are deleted later.
	DeleteDestination(ctx context.Context, id string) error
}

// DestinationRecord is a stored destination.
type DestinationRecord struct {
	notify.Destination

	// SecretsError says why Secrets is missing: no key of SECRETS_KEY opens them. Empty:
	// they were read. A change that sets the secrets anew repairs it.
	SecretsError string

	notify.Health

	LastError   string    // of the newest failure; empty: there was none, or a success has followed
	DeliveredAt time.Time // of the newest success; zero: there was none
	CreatedAt   time.Time
	UpdatedAt   time.Time

	Traffic Traffic // that DestinationService adds
}

// Traffic counts the deliveries of one destination.
type Traffic struct {
	Pending   int
	Delivered [24]int // attempts that were accepted, by hour: the last is the hour until now
	Failed    [24]int // the others
}

// RouteReader reads routes.
type RouteReader interface {
	// Routes reads all routes in their order: the default route is last.
	Routes(ctx context.Context) ([]notify.Route, error)

	// Route reads one. Errors: *monitor.Error RouteNotFound.
	Route(ctx context.Context, id string) (notify.Route, error)
}

// RouteWriter changes routes.
type RouteWriter interface {
	RouteOrderer

	// CreateRoute stores a new route, just before the default route. Errors: *monitor.Error
	// NameTaken; InvalidConfig for an unknown destination, and when there are MaxRoutes.
	CreateRoute(ctx context.Context, r notify.Route) (notify.Route, error)

	// ChangeRoute locks a route and stores what change makes of it: ID and Default stay.
	// change may run several times; its error is returned and nothing is stored. Errors:
	// *monitor.Error RouteNotFound, NameTaken; InvalidConfig for an unknown destination.
	ChangeRoute(ctx context.Context, id string, change func(*notify.Route) error) (notify.Route, error)

	// DeleteRoute deletes a route. Errors: *monitor.Error InvalidConfig for the default route.
	DeleteRoute(ctx context.Context, id string) error
}

// RouteOrderer changes the order of the routes.
type RouteOrderer interface {
	// OrderRoutes puts the routes into the order of ids, which names each once except the
	// default route. It returns all. Errors: *monitor.Error InvalidConfig, which says what
	// ids lacks or has too much.
	OrderRoutes(ctx context.Context, ids []string) ([]notify.Route, error)
}

// SilenceReader reads silences.
type SilenceReader interface {
	// Silences reads the silences that nobody has ended and whose time is not over, and the
	// newest MaxEndedSilences of the others; newest first.
	Silences(ctx context.Context) ([]notify.Silence, error)

	// Silence reads one. Errors: *monitor.Error SilenceNotFound.
	Silence(ctx context.Context, id string) (notify.Silence, error)
}

// SilenceWriter changes silences.
type SilenceWriter interface {
	// CurrentTime reads the clock of the store, by which silences begin and end.
	CurrentTime(ctx context.Context) (time.Time, error)

	// CreateSilence stores a new silence. Errors: *monitor.Error InvalidConfig when
	// MaxSilences have not ended.
	CreateSilence(ctx context.Context, s notify.Silence) (notify.Silence, error)

	// ChangeSilence locks a silence and stores what change makes of it: ID stays. change may
	// run several times; its error is returned and nothing is stored. Errors: *monitor.Error
	// SilenceNotFound; InvalidConfig for one that has ended.
	ChangeSilence(ctx context.Context, id string, change func(*notify.Silence) error) (notify.Silence, error)

	// EndSilence ends a silence now. One that has ended already stays as it is. Errors:
	// *monitor.Error SilenceNotFound.
	EndSilence(ctx context.Context, id string) (notify.Silence, error)
}

// DutyStore keeps who is on duty.
type DutyStore interface {
	// Duty reads it.
	Duty(ctx context.Context) (notify.Duty, error)

	// ChangeDuty locks it and stores what change makes of it; now is the clock of the store. change may run several times; its error is
	// returned and nothing is stored. Errors: *monitor.Error InvalidConfig for an unknown destination.
	ChangeDuty(ctx context.Context, change func(d *notify.Duty, now time.Time) error) (notify.Duty, error)
}
