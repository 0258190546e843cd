package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Secrets encrypts what nobody may read in the database. secretbox.Box implements it.
type Secrets interface {
	// Seal encrypts text for the row with the given id.
	Seal(text []byte, rowID string) ([]byte, error)

	// Open decrypts what Seal made for the same row. current is false if another key than
	// the one of Seal opened it. Errors name the setting that lacks the key.
	Open(sealed []byte, rowID string) (text []byte, current bool, err error)
}

// noSecrets stands for a SECRETS_KEY that is not configured.
type noSecrets struct{}

var errNoSecretsKey = errors.New("SECRETS_KEY is not configured")

// Seal implements Secrets.
func (noSecrets) Seal([]byte, string) ([]byte, error) { return nil, errNoSecretsKey }

// Open implements Secrets.
func (noSecrets) Open([]byte, string) ([]byte, bool, error) { return nil, false, errNoSecretsKey }

// routingCache reads the routing, and keeps what it has read last.
type routingCache struct {
	secrets Secrets
	log     *slog.Logger
	cached  atomic.Pointer[notify.Routing] // nil: none was read yet
}

// current returns the routing of the transaction: of its version, or of a newer one. It
// reads one number, and the tables only if another gateway or request has changed them.
// The caller must not change the result. A transaction that has itself changed the
// routing calls read: its version may be rolled back, and would stay in the cache.
func (c *routingCache) current(ctx context.Context, tx sqlx.QueryerContext) (notify.Routing, error) {
	var version int64
	if err := sqlx.GetContext(ctx, tx, &version, `SELECT version FROM routing_version`); err != nil {
		return notify.Routing{}, fmt.Errorf("read the version of the routing: %w", err)
	}
	if cached := c.cached.Load(); cached != nil && cached.Version == version {
		return *cached, nil
	}
	// A change that is committed after version was read has a higher version, so the cache
	// is then read again.
	r, err := c.read(ctx, tx, c.log)
	if err != nil {
		return notify.Routing{}, err
	}
	r.Version = version
	c.cached.Store(&r)
	return r, nil
}

// lostSecrets returns the destinations whose secrets this gateway cannot decrypt. It does not
// look for new ones, which readDeliveries finds. It looks whether those it knows are repaired.
func (c *routingCache) lostSecrets(ctx context.Context, q sqlx.QueryerContext) (ids []string, err error) {
	ids = []string{} // pq writes nil as NULL
	known := c.cached.Load()
	if known == nil || !slices.ContainsFunc(slices.Collect(maps.Values(known.Destinations)), secretsLost) {
		return ids, nil
	}
	present, err := c.current(ctx, q)
	for id, d := range present.Destinations {
		if secretsLost(d) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

func secretsLost(d notify.Destination) bool { return d.SecretsLost }

// read reads the routing as the transaction sees it, without its version. A row that this
// gateway cannot read is logged and left out: it must not keep an event from being stored.
func (c *routingCache) read(ctx context.Context, tx sqlx.QueryerContext, log *slog.Logger) (notify.Routing, error) {
	r := notify.Routing{Destinations: map[string]notify.Destination{}}
	var destinations []destinationRow
	if err := sqlx.SelectContext(ctx, tx, &destinations, selectDestinations); err != nil {
		return r, fmt.Errorf("read destinations: %w", err)
	}
	for _, row := range destinations {
		d, err := row.toRecord(c.secrets)
		if err != nil {
			logUnreadable(log, "destinations", row.ID, err)
			continue
		}
		if d.SecretsError != "" {
			logLostSecrets(log, row, d.SecretsError)
		}
		r.Destinations[row.ID] = d.Destination
	}
	var routes []routeRow
	if err := sqlx.SelectContext(ctx, tx, &routes, selectRoutes+orderOfRoutes); err != nil {
		return r, fmt.Errorf("read routes: %w", err)
	}
	for _, row := range routes {
		route, err := row.toRecord()
		if err != nil {
			logUnreadable(log, "routes", row.ID, err)
			continue
		}
		r.Routes = append(r.Routes, route.Route)
	}
	var silences []silenceRow
	if err := sqlx.SelectContext(ctx, tx, &silences, selectSilences+` WHERE `+silenceLasts); err != nil {
		return r, fmt.Errorf("read silences: %w", err)
	}
	for _, row := range silences {
		silence, err := row.toRecord()
		if err != nil {
			logUnreadable(log, "silences", row.ID, err)
			continue
		}
		if w := silence.Window; w != nil && w.Zone == nil {
			logUnreadable(log, "silences", row.ID, w.LoadZone(time.LoadLocation))
		}
		r.Silences = append(r.Silences, silence.Silence)
	}
	return r, nil
}

func logUnreadable(log *slog.Logger, table, id string, err error) {
	log.Error("a destination, route or silence cannot be read and has no effect: delete it and create it again", "table", table, "id", id, "error", err)
}

func logLostSecrets(log *slog.Logger, r destinationRow, problem string) {
	log.Error("the secrets of a destination cannot be decrypted, nothing can be sent there: add its key to SECRETS_KEY, or enter the secrets again",
		"destination_id", r.ID, "name", r.Name, "error", problem)
}

// changeRouting runs a change of destinations, routes or silences, gives the routing a new
// version, and wakes the dispatchers of destinations, which plan anew. Changes take place
// one after the other: the version's row is locked first. After a change that decides about
// no message, such as another name, the open incidents count as planned by the new version.
func (db *database) changeRouting(ctx context.Context, operation string, change func(*sqlx.Tx) error) error {
	quiet := slog.New(slog.DiscardHandler) // each gateway logs what is unreadable when it reads the new version
	return db.inTx(ctx, operation, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE routing_version SET version = version + 1`); err != nil {
			return err
		}
		before, err := db.routing.read(ctx, tx, quiet)
		if err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		after, err := db.routing.read(ctx, tx, quiet)
		if err != nil {
			return err
		}
		if reflect.DeepEqual(routingEffect(before), routingEffect(after)) {
			if _, err := tx.ExecContext(ctx, `UPDATE routing_version SET planned_version = version WHERE planned_version = version - 1`); err != nil {
				return err
			}
		}
		return wakeDestinations(ctx, tx)
	})
}

// routingEffect returns a routing without what decides about no message.
func routingEffect(r notify.Routing) notify.Routing {
	effect := notify.Routing{Destinations: map[string]notify.Destination{}}
	for id, d := range r.Destinations {
		d.Name, d.Fallback, d.DisabledReason, d.PreviousUntil, d.Owner = "", "", "", time.Time{}, ""
		effect.Destinations[id] = d
	}
	for _, route := range r.Routes {
		route.Name, route.Owner = "", ""
		effect.Routes = append(effect.Routes, route)
	}
	for _, s := range r.Silences {
		s.CreatedBy, s.Comment, s.Owner = "", "", ""
		effect.Silences = append(effect.Silences, s)
	}
	return effect
}
