package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// queuedSent is an event that was sent, which is to be stored.
type queuedSent struct {
	queueItem

	row sentRow
}

func newQueuedSent(ctx context.Context, d callback.Delivery, attempt string) *queuedSent {
	return &queuedSent{newQueueItem(ctx, d.EventID), sentRow{d.EventID, attempt}}
}

// sentRow is an event that was sent, with the attempt that succeeded.
type sentRow struct {
	ID      string `json:"event_id"`
	Attempt string `json:"attempt"` // a JSON array of one
}

// storeSent stores that the pending events $1 were sent. It passes over those that another
// transaction has locked: two that waited for each other's events would fail.
const storeSent = `
	WITH sent AS MATERIALIZED (SELECT event_id, CAST(attempt AS jsonb) AS attempt FROM json_to_recordset($1) AS n (event_id uuid, attempt text)),
	unlocked AS MATERIALIZED (
		SELECT e.id AS event_id FROM monitor_events e
		WHERE e.id = ANY (ARRAY(SELECT event_id FROM sent)) AND e.webhook_status IS NOT DISTINCT FROM 'pending'
		FOR NO KEY UPDATE SKIP LOCKED)
	UPDATE monitor_events e SET
		webhook_status = 'sent', webhook_attempts = e.webhook_attempts + 1, attempts = e.attempts || sent.attempt,
		sent_at = now(), leased_until = NULL, lease = NULL
	FROM sent
	WHERE e.id = ANY (ARRAY(SELECT event_id FROM unlocked)) AND sent.event_id = e.id AND NOT e.attempts @> sent.attempt
	RETURNING ` + deliveryColumns

// storeSentGroup stores successes in one transaction, and sets which of them are to be stored
// alone. These are all if the server has refused anything. Else they are those that are stored
// already, or that another transaction has locked.
func (o *Outbox) storeSentGroup(ctx context.Context, group []*queuedSent) {
	rows := make([]sentRow, 0, len(group))
	for _, s := range group {
		s.alone = true
		rows = append(rows, s.row)
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return
	}
	var changed []deliveryChange
	err = o.db.runTx(ctx, func(tx *sqlx.Tx) error {
		if err := tx.SelectContext(ctx, &changed, storeSent, string(encoded)); err != nil {
			return err
		}
		changes := make([]feed.Data, 0, len(changed))
		for _, c := range changed {
			changes = append(changes, c.toDelivery())
		}
		return o.db.feed.appendAndCommit(ctx, tx, changes...)
	})
	if err != nil {
		return
	}
	for _, s := range group {
		s.alone = !slices.ContainsFunc(changed, func(c deliveryChange) bool { return c.ID == s.row.ID })
	}
}
