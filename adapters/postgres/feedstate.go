package postgres

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// ReadState implements feeds.Store.
func (s *FeedStore) ReadState(ctx context.Context) (feed.State, feed.Position, error) {
	var state feed.State
	var position feed.Position
	err := s.db.inSnapshot(ctx, "read the state for the feed", func(tx *sqlx.Tx) (err error) {
		if err := tx.QueryRowxContext(ctx, `SELECT epoch, version FROM feed_head`).Scan(&position.Epoch, &position.Version); err != nil {
			return err
		}
		objects := feedObjects{tx: tx, routing: s.db.routing, log: s.db.log}
		if state.Monitors, err = objects.monitors(ctx, `m.`+activePredicate+` OR m.ended_at > now() - make_interval(secs => $1) ORDER BY m.seq`, feed.EndedShown.Seconds()); err != nil {
			return err
		}
		if state.Incidents, err = objects.incidents(ctx, goingOn+` ORDER BY i.seq`); err != nil {
			return err
		}
		// One more than is shown, to know whether there are more.
		if state.Deliveries, err = objects.deliveries(ctx, undelivered, feed.FailedShown.Seconds(), feed.MaxStateDeliveries+1); err != nil {
			return err
		}
		state.Deliveries, state.MoreDeliveries = upTo(state.Deliveries, feed.MaxStateDeliveries)
		state.Evidence, err = objects.evidence(ctx, ofShownIncidents, feed.EndedShown.Seconds(), feed.MaxStateEvidence+1)
		state.Evidence, state.MoreEvidence = upTo(state.Evidence, feed.MaxStateEvidence)
		return err
	})
	return state, position, err
}

// undelivered selects deliveries. It walks the newest end of an index of those that failed. All
// that are pending are read and sorted; there are many only while a receiver is down.
const (
	newestDeliveries = `ORDER BY created_at DESC, id DESC LIMIT $2`

	undelivered = `
		SELECT * FROM (
			(` + selectDeliveries + ` WHERE e.webhook_status = 'pending' ` + newestDeliveries + `)
			UNION ALL
			(` + selectDeliveries + ` WHERE x.state = 'failed' AND x.destination_id IS NULL AND x.created_at > now() - make_interval(secs => $1) ORDER BY x.created_at DESC, x.id DESC LIMIT $2)
		) AS undelivered ` + newestDeliveries
)

// ofShownIncidents selects the newest evidence.
const ofShownIncidents = `
	incident_id IN (
		SELECT i.id FROM incidents i WHERE ` + goingOn + `
		UNION ALL
		SELECT id FROM incidents WHERE state = 'resolved' AND resolved_at > now() - make_interval(secs => $1))
	ORDER BY created_at DESC, id DESC LIMIT $2`

// upTo returns the first rows, at most limit, and whether there are more.
func upTo[T any](rows []T, limit int) (first []T, more bool) {
	if len(rows) > limit {
		return rows[:limit], true
	}
	return rows, false
}
