package postgres

import (
	"context"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// feedChannel is notified by every transaction that adds to the inbox of the feed, and by
// every one that gives versions.
const feedChannel = "feed"

// feedChange names an object that a transaction has changed. Its entry is made of the object
// as it is when it gets its version.
type feedChange struct {
	Type feed.Type `db:"type"`
	ID   string    `db:"id"`
}

func monitorChange(id monitor.ID) feedChange { return feedChange{feed.MonitorUpdated, string(id)} }

func incidentChange(id string) feedChange { return feedChange{feed.IncidentUpdated, id} }

func deliveryChange(eventID string) feedChange { return feedChange{feed.DeliveryUpdated, eventID} }

func evidenceChange(id evidence.ID) feedChange { return feedChange{feed.EvidenceAdded, string(id)} }

// addToFeed puts changes into the inbox of the feed, in order, and wakes the gateways. They
// give the versions after the commit, see FeedStore.NumberFeed.
func addToFeed(ctx context.Context, tx *sqlx.Tx, changes ...feedChange) error {
	if len(changes) == 0 {
		return nil
	}
	types, ids := make([]string, len(changes)), make([]string, len(changes))
	for i, c := range changes {
		types[i], ids[i] = string(c.Type), c.ID
	}
	_, err := tx.ExecContext(ctx, `
		WITH added AS (INSERT INTO feed_inbox (type, id) SELECT type, id FROM unnest(CAST($1 AS text[]), CAST($2 AS text[])) AS change (type, id))
		SELECT pg_notify('`+feedChannel+`', '')`, pq.Array(types), pq.Array(ids))
	return err
}
