package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// maxNumbered is how many changes one transaction turns into entries at most.
const maxNumbered = 500

// NumberFeed implements feeds.Store. If it ends before its commit, the changes stay in the inbox, for
// any gateway.
func (s *FeedStore) NumberFeed(ctx context.Context) (more bool, err error) {
	var waiting bool // without a transaction: nothing is, after most wakes
	if err := s.db.GetContext(ctx, &waiting, `SELECT EXISTS (SELECT FROM feed_inbox)`); err != nil || !waiting {
		return false, wrapError(ctx, "look into the inbox of the feed", err)
	}
	err = s.db.inTx(ctx, "number the feed", func(tx *sqlx.Tx) error {
		var head int64
		switch err := tx.GetContext(ctx, &head, `SELECT version FROM feed_head FOR UPDATE SKIP LOCKED`); {
		case errors.Is(err, sql.ErrNoRows):
			more = true // another gateway is at it: look again, in case it is halted or has died
			return nil
		case err != nil:
			return err
		}
		changes, err := takeFromInbox(ctx, tx)
		if err != nil {
			return err
		}
		more = len(changes) == maxNumbered
		return s.appendEntries(ctx, tx, changes)
	})
	return more, err
}

// takeFromInbox deletes the oldest changes from the inbox, and returns them in order.
func takeFromInbox(ctx context.Context, tx *sqlx.Tx) ([]feedChange, error) {
	var changes []feedChange
	err := tx.SelectContext(ctx, &changes, `
		WITH taken AS (
			DELETE FROM feed_inbox WHERE seq = ANY (ARRAY(SELECT seq FROM feed_inbox ORDER BY seq LIMIT $1)) RETURNING seq, type, id)
		SELECT type, id FROM taken ORDER BY seq`, maxNumbered)
	return changes, err
}

// feedEntry is a new row of the feed.
type feedEntry struct {
	Type feed.Type `json:"type"`
	Data string    `json:"data"`
}

// appendEntries appends an entry for each object that has changed and still exists. If a row
// cannot be read, a new epoch makes the readers read the whole state, which leaves it out.
func (s *FeedStore) appendEntries(ctx context.Context, tx *sqlx.Tx, changes []feedChange) error {
	objects := feedObjects{tx: tx, routing: s.db.routing, log: s.db.log}
	changed, err := objects.changed(ctx, changes)
	if err != nil {
		return err
	}
	entries := make([]feedEntry, 0, len(changes))
	for _, c := range changes {
		data, ok := changed[c]
		if !ok {
			continue
		}
		delete(changed, c) // changed more than once: this entry has all of it
		encoded, err := feed.Encode(data)
		if err != nil {
			objects.leaveOut(string(c.Type), c.ID, err)
			continue
		}
		entries = append(entries, feedEntry{c.Type, string(encoded)})
	}
	encoded, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		WITH head AS (
			UPDATE feed_head SET version = version + $2, epoch = CASE WHEN $3 THEN gen_random_uuid() ELSE epoch END RETURNING version - $2 AS base),
		appended AS (
			INSERT INTO feed (version, type, at, data)
			SELECT head.base + entry.n, entry.type, clock_timestamp(), entry.data
			FROM head, ROWS FROM (json_to_recordset($1) AS (type text, data text)) WITH ORDINALITY AS entry (type, data, n))
		SELECT pg_notify('`+feedChannel+`', '')`, string(encoded), len(entries), objects.leftOut > 0)
	return err
}

// changed reads the objects that have changed, as they are now. Those that were deleted
// since are missing.
func (o *feedObjects) changed(ctx context.Context, changes []feedChange) (map[feedChange]feed.Data, error) {
	ids := map[feed.Type][]string{}
	for _, c := range changes {
		ids[c.Type] = append(ids[c.Type], c.ID)
	}
	changed := map[feedChange]feed.Data{}
	if of := ids[feed.MonitorUpdated]; of != nil {
		all, err := o.monitors(ctx, `m.id = ANY ($1)`, pq.Array(of))
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			changed[monitorChange(m.MonitorID)] = m
		}
	}
	if of := ids[feed.IncidentUpdated]; of != nil {
		all, err := o.incidents(ctx, `i.id = ANY (CAST($1 AS uuid[]))`, pq.Array(of))
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			changed[incidentChange(i.IncidentID)] = i
		}
	}
	if of := ids[feed.DeliveryUpdated]; of != nil {
		all, err := o.deliveries(ctx, selectDeliveries+` WHERE e.id = ANY (CAST($1 AS uuid[]))`, pq.Array(of))
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			changed[deliveryChange(d.EventID)] = d
		}
	}
	if of := ids[feed.EvidenceAdded]; of != nil {
		all, err := o.evidence(ctx, `id = ANY (CAST($1 AS uuid[]))`, pq.Array(of))
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			changed[feedChange{feed.EvidenceAdded, e.EvidenceID}] = e
		}
	}
	return changed, nil
}
