package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// readyDestination is a destination for which something is due.
type readyDestination struct {
	destinationRow

	InFlight int          `db:"in_flight"`
	Changed  bool         `db:"changed"` // it is to be decided what a thread tells
	Tokens   float64      `db:"tokens"`
	TokensAt sql.NullTime `db:"tokens_at"`
	Now      time.Time    `db:"now"`

	destination notify.Destination
	channel     notify.Channel   // of the destination
	free        int              // so many deliveries may be sent to it
	left        notify.Allowance // before they are
	opensAt     time.Time        // when it may get more, if it may get nothing now and time alone decides; zero: it does not
}

// selectReady reads those of the destinations $1 that are enabled and have something that is due. With
// min() it reads one entry of an index whatever the statistics say, which EXISTS does not.
const selectReady = `
	SELECT id, failures, failing_since, circuit_open_until, tokens, tokens_at, clock_timestamp() AS now,
	       (SELECT count(*) FROM deliveries x WHERE x.destination_id = d.id AND ` + inFlight + `) AS in_flight,
	       COALESCE((SELECT min(x.due_at) FROM deliveries x WHERE x.destination_id = d.id AND x.changed) <= now(), false) AS changed
	FROM destinations d
	WHERE id = ANY (CAST($1 AS uuid[])) AND enabled AND deleted_at IS NULL AND (SELECT min(x.due_at) FROM deliveries x WHERE x.destination_id = d.id) <= now()
	ORDER BY id`

// readReady reads those of destinations for which something is due. It leaves out those whose secrets
// this gateway cannot decrypt.
func readReady(ctx context.Context, q sqlx.QueryerContext, routing notify.Routing, ids []string) (due []*readyDestination, err error) {
	var rows []*readyDestination
	if err := sqlx.SelectContext(ctx, q, &rows, selectReady, pq.Array(ids)); err != nil {
		return nil, err
	}
	for _, r := range rows {
		var known bool
		if r.destination, known = routing.Destinations[r.ID]; !known || r.destination.SecretsLost {
			continue // the routing has logged why
		}
		r.channel, _ = notify.ChannelOf(r.destination.Kind)
		r.free, r.left, r.opensAt = r.channel.Allowed(r.Now.UTC(), r.health(), notify.Allowance{Tokens: r.Tokens, TokensAt: timeOrZero(r.TokensAt)}, r.InFlight)
		due = append(due, r)
	}
	return due, nil
}
