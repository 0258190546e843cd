package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// feedChannel is notified by every transaction that appends to the feed.
const feedChannel = "feed"

// appendEntries numbers the entries %[2]s by the one row of feed_head, which stays locked
// until the transaction ends. So versions are committed in order and without gaps.
const appendEntries = `
	WITH head AS (UPDATE feed_head SET version = version + %[1]d RETURNING version - %[1]d AS base)
	INSERT INTO feed (version, type, at, data)
	SELECT head.base + entry.n, entry.type, clock_timestamp(), entry.data
	FROM head, (VALUES %[2]s) AS entry (n, type, data);
	NOTIFY ` + feedChannel

// feedWriter appends to the feed.
type feedWriter struct {
	log        *slog.Logger
	incomplete atomic.Bool // a change was left out of the feed, and its epoch is still the same
}

// appendAndCommit appends data to the feed, in order, notifies its readers, and commits the
// transaction, all in one message. So no halted gateway keeps the others waiting for
// feed_head. If there is nothing to append, it leaves the commit to inTx. Either
// way it must be the last call of a transaction.
//
// It logs and leaves out what the server refuses, so that no report is refused for it.
// The readers then get a new epoch, and with it the whole state.
func (w *feedWriter) appendAndCommit(ctx context.Context, tx *sqlx.Tx, changes ...feed.Data) error {
	statement := w.statement(changes)
	if statement == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, beginOptional+"; "+statement+commitSuffix)
	if err == nil {
		return nil
	}
	if err := undo(ctx, tx, err, undoOptional+commitSuffix); err != nil {
		return fmt.Errorf("append to the feed and commit, outcome unknown: %w", err)
	}
	w.log.Warn("changes left out of the feed, its readers get the whole state instead: check the database", "changes", len(changes), "error", err.Error())
	w.incomplete.Store(true)
	return nil
}

// statement returns the statement that appends changes; empty: none can be encoded.
func (w *feedWriter) statement(changes []feed.Data) string {
	var entries []string
	for _, change := range changes {
		encoded, err := feed.Encode(change)
		if err != nil {
			w.leaveOut(change.Type(), "", err)
			continue
		}
		entries = append(entries, fmt.Sprintf("(%d, %s, %s)", len(entries)+1, pq.QuoteLiteral(string(change.Type())), pq.QuoteLiteral(string(encoded))))
	}
	if len(entries) == 0 {
		return ""
	}
	return fmt.Sprintf(appendEntries, len(entries), strings.Join(entries, ", "))
}

// leaveOut logs a change whose data cannot be read or encoded. The readers get the whole
// state instead.
func (w *feedWriter) leaveOut(change feed.Type, id monitor.ID, err error) {
	w.log.Warn("change left out of the feed, its readers get the whole state instead: report the defect with error",
		"type", string(change), "monitor_id", string(id), "error", err.Error())
	w.incomplete.Store(true)
}

// monitorChanges returns the data of monitor.updated: the monitors as the transaction
// leaves them. A row that cannot be read is logged and gives none, so that its reports
// are still accepted.
func (w *feedWriter) monitorChanges(ctx context.Context, tx *sqlx.Tx, ids ...monitor.ID) ([]feed.Data, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []monitorRow
	if err := tx.SelectContext(ctx, &rows, `SELECT `+monitorColumns+fromMonitors+` WHERE m.id = ANY ($1)`, pq.Array(ids)); err != nil {
		return nil, err
	}
	var changes []feed.Data
	for _, row := range rows {
		m, err := row.toMonitor()
		if err != nil {
			w.leaveOut(feed.MonitorUpdated, monitor.ID(row.ID), err)
			continue
		}
		changes = append(changes, feed.NewMonitor(m))
	}
	return changes, nil
}

// appendMonitor appends monitor.updated and then the other changes, as appendAndCommit does.
func (w *feedWriter) appendMonitor(ctx context.Context, tx *sqlx.Tx, id monitor.ID, others ...feed.Data) error {
	changes, err := w.monitorChanges(ctx, tx, id)
	if err != nil {
		return err
	}
	return w.appendAndCommit(ctx, tx, append(changes, others...)...)
}

// deliveryColumns are what a statement returns of the deliveries that it changed.
const deliveryColumns = `id, monitor_id, event_type, created_at, webhook_status, webhook_attempts, webhook_last_error, next_attempt_at, sent_at`

// deliveryChange is a row of deliveryColumns.
type deliveryChange struct {
	ID            string     `db:"id"`
	MonitorID     monitor.ID `db:"monitor_id"`
	EventType     event.Type `db:"event_type"`
	CreatedAt     time.Time  `db:"created_at"`
	Status        string     `db:"webhook_status"`
	Attempts      int        `db:"webhook_attempts"`
	LastError     *string    `db:"webhook_last_error"`
	NextAttemptAt *time.Time `db:"next_attempt_at"`
	SentAt        *time.Time `db:"sent_at"`
}

func (r deliveryChange) toDelivery() feed.Delivery {
	if r.Status != "pending" {
		r.NextAttemptAt = nil
	}
	return feed.NewDelivery(feed.Delivery{
		EventID:          r.ID,
		MonitorID:        r.MonitorID,
		EventType:        r.EventType,
		CreatedAt:        r.CreatedAt,
		WebhookStatus:    r.Status,
		WebhookAttempts:  r.Attempts,
		WebhookLastError: r.LastError,
		NextAttemptAt:    r.NextAttemptAt,
		SentAt:           r.SentAt,
	})
}

// changeDeliveries runs a statement that returns deliveryColumns, and returns the
// data of delivery.updated for each row.
func changeDeliveries(ctx context.Context, tx *sqlx.Tx, statement string, args ...any) ([]feed.Data, error) {
	var rows []deliveryChange
	if err := tx.SelectContext(ctx, &rows, statement+` RETURNING `+deliveryColumns, args...); err != nil {
		return nil, err
	}
	changes := make([]feed.Data, 0, len(rows))
	for _, r := range rows {
		changes = append(changes, r.toDelivery())
	}
	return changes, nil
}
