package postgres

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ExpiryStore deletes ended monitors with their events and incidents. Each batch is a
// transaction of its own. It locks the rows that it deletes, and no others.
type ExpiryStore struct{ db *database }

// ExpiringMonitors implements histories.MonitorExpiryStore.
func (s *ExpiryStore) ExpiringMonitors(ctx context.Context, age time.Duration, after histories.EndedMonitor, limit int) ([]histories.EndedMonitor, error) {
	var rows []struct {
		ID      monitor.ID `db:"id"`
		EndedAt time.Time  `db:"ended_at"`
	}
	err := s.db.SelectContext(ctx, &rows, `
		SELECT id, ended_at FROM monitors
		WHERE ended_at < now() - make_interval(secs => $1) AND (ended_at, id) > ($2, $3)
		ORDER BY ended_at, id LIMIT $4`, age.Seconds(), after.EndedAt.UTC(), after.ID, limit)
	page := make([]histories.EndedMonitor, 0, len(rows))
	for _, r := range rows {
		page = append(page, histories.EndedMonitor{ID: r.ID, EndedAt: r.EndedAt})
	}
	return page, wrapError(ctx, "find monitors whose events expire", err)
}

// isStillDelivered is the condition of a row that an enabled destination has yet to get. column
// refers to it in deliveries.
func isStillDelivered(column, id string) string {
	return `EXISTS (SELECT FROM deliveries x JOIN destinations d ON d.id = x.destination_id
		WHERE x.` + column + ` = ` + id + ` AND x.state = 'pending' AND d.enabled)`
}

// DeleteEvents implements histories.MonitorExpiryStore.
func (s *ExpiryStore) DeleteEvents(ctx context.Context, id monitor.ID, age time.Duration, limit int) (int, error) {
	n, err := s.remove(ctx, `
		DELETE FROM monitor_events WHERE id = ANY (ARRAY(
			SELECT e.id FROM monitor_events e
			WHERE e.monitor_id = $1 AND e.created_at < now() - make_interval(secs => $2) AND e.webhook_status <> 'pending'
			  AND NOT `+isStillDelivered("event_id", "e.id")+`
			LIMIT $3 FOR UPDATE SKIP LOCKED))`, id, age, limit)
	return n, wrapError(ctx, "delete expired events of "+string(id), err)
}

// expiredIncident selects the incidents of a monitor that are deleted. Evidence needs
// its incident.
var expiredIncident = `i.monitor_id = $1 AND i.state = 'resolved' AND i.resolved_at < now() - make_interval(secs => $2)
	AND NOT EXISTS (SELECT FROM evidence e WHERE e.incident_id = i.id)
	AND NOT ` + isStillDelivered("incident_id", "i.id")

// DeleteIncidents implements histories.MonitorExpiryStore. The log goes first: it may be long, and
// deleting an incident deletes its whole log.
func (s *ExpiryStore) DeleteIncidents(ctx context.Context, id monitor.ID, age time.Duration, limit int) (incidents, lines int, err error) {
	lines, err = s.remove(ctx, `
		DELETE FROM incident_log WHERE id = ANY (ARRAY(
			SELECT l.id FROM incidents i JOIN incident_log l ON l.incident_id = i.id WHERE `+expiredIncident+`
			LIMIT $3 FOR UPDATE OF l SKIP LOCKED))`, id, age, limit)
	if err == nil {
		incidents, err = s.remove(ctx, `
			DELETE FROM incidents WHERE id = ANY (ARRAY(
				SELECT i.id FROM incidents i WHERE `+expiredIncident+` AND NOT EXISTS (SELECT FROM incident_log l WHERE l.incident_id = i.id)
				LIMIT $3 FOR UPDATE SKIP LOCKED))`, id, age, limit)
	}
	return incidents, lines, wrapError(ctx, "delete expired incidents of "+string(id), err)
}

// DeleteNotifications implements history.MonitorExpiryStore. A storm is deleted when its incidents are.
func (s *ExpiryStore) DeleteNotifications(ctx context.Context, age time.Duration, limit int) (int, error) {
	var deleted int
	err := s.db.GetContext(ctx, &deleted, `
		WITH silent AS (DELETE FROM silences WHERE id = ANY (ARRAY(
				SELECT id FROM silences WHERE LEAST(ended_at, ends_at) < now() - make_interval(secs => $1) LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1),
		     noticed AS (DELETE FROM deliveries WHERE id = ANY (ARRAY(
				SELECT x.id FROM deliveries x
				WHERE event_id IS NULL AND incident_id IS NULL AND created_at < now() - make_interval(secs => $1)
				  AND (state <> 'pending' OR NOT EXISTS (SELECT FROM destinations d WHERE d.id = x.destination_id AND d.enabled))
				  AND NOT EXISTS (SELECT FROM deliveries member WHERE member.storm_id = x.id)
				LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1)
		SELECT GREATEST((SELECT count(*) FROM silent), (SELECT count(*) FROM noticed))`, age.Seconds(), limit)
	return deleted, wrapError(ctx, "delete expired silences, storms and notices", err)
}

// DeleteMonitor implements histories.MonitorExpiryStore.
func (s *ExpiryStore) DeleteMonitor(ctx context.Context, id monitor.ID) error {
	return s.db.inTx(ctx, "delete expired monitor "+string(id), func(tx *sqlx.Tx) error {
		var empty []monitor.ID
		err := tx.SelectContext(ctx, &empty, `
			SELECT id FROM monitors WHERE id = $1 AND ended_at IS NOT NULL
				AND NOT EXISTS (SELECT FROM monitor_events WHERE monitor_id = $1)
				AND NOT EXISTS (SELECT FROM incidents WHERE monitor_id = $1)
				AND NOT EXISTS (SELECT FROM evidence WHERE monitor_id = $1)
				AND NOT EXISTS (SELECT FROM history_spans WHERE monitor_id = $1)
				AND NOT EXISTS (SELECT FROM history_minutes WHERE monitor_id = $1)
				AND NOT EXISTS (SELECT FROM history_ten_minutes WHERE monitor_id = $1)
			FOR UPDATE SKIP LOCKED`, id)
		if err != nil || len(empty) == 0 {
			return err
		}
		for _, statement := range []string{
			`DELETE FROM monitor_stats WHERE monitor_id = $1`,
			`DELETE FROM idempotency_keys WHERE monitor_id = $1`,
			`DELETE FROM history_lanes WHERE monitor_id = $1`,
			`DELETE FROM reference_images WHERE monitor_id = $1`,
			`DELETE FROM monitors WHERE id = $1`,
		} {
			if _, err := tx.ExecContext(ctx, statement, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *ExpiryStore) remove(ctx context.Context, statement string, id monitor.ID, age time.Duration, limit int) (int, error) {
	result, err := s.db.ExecContext(ctx, statement, id, age.Seconds(), limit)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}
