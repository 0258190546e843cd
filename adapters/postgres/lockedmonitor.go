package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lockedMonitor is a monitor whose row the transaction has locked.
type lockedMonitor struct {
	id         monitor.ID
	status     monitor.Status
	reason     string
	generation int
	runtimeID  string // where the newest generation was launched
	reserved   bool
	blind      bool      // blindness was alerted and is not over (decision S15)
	reportedAt time.Time // of the newest report of this generation; zero: none
	streamURL  string
	metadata   []byte
}

// lockMonitor locks a monitor's row until the transaction ends. Errors:
// *monitor.Error NotFound.
func lockMonitor(ctx context.Context, tx *sqlx.Tx, id monitor.ID) (lockedMonitor, error) {
	m := lockedMonitor{id: id}
	var metadata sql.NullString
	var reportedAt sql.NullTime
	err := tx.QueryRowxContext(ctx, `
		SELECT status, reason, generation, place, reserved_until IS NOT NULL, blind_since IS NOT NULL, reported_at, stream_url, metadata_text
		FROM monitors WHERE id = $1 FOR UPDATE`, id).
		Scan(&m.status, &m.reason, &m.generation, &m.runtimeID, &m.reserved, &m.blind, &reportedAt, &m.streamURL, &metadata)
	if errors.Is(err, sql.ErrNoRows) {
		return m, monitorNotFound(id)
	}
	m.metadata, m.reportedAt = []byte(metadata.String), timeOrZero(reportedAt)
	return m, err
}

// requireGeneration returns nil if the monitor is active and generation is its
// newest. Errors: *monitor.Error NotFound; monitor.ErrSuperseded.
func (m lockedMonitor) requireGeneration(generation int) error {
	switch {
	case !m.status.Active():
		return monitor.Errorf(monitor.NotFound, "monitor %s is not active: its status is %s", m.id, m.status)
	case m.generation != generation:
		return fmt.Errorf("%s has generation %d, not %d: %w", m.id, m.generation, generation, monitor.ErrSuperseded)
	}
	return nil
}

// callbackFailed reports whether the monitor ended because a webhook could not be
// delivered (decision W4).
func (m lockedMonitor) callbackFailed() bool { return m.reason == event.ReasonCallbackFailed }

// endMonitor stores the end of a monitor that the caller has locked and found
// active. It also ends a reservation and blindness: nobody tries to see any more.
func endMonitor(ctx context.Context, tx *sqlx.Tx, id monitor.ID, to monitor.Status, reason string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE monitors SET status = $2, reason = $3, ended_at = $4, reserved_until = NULL, blind_since = NULL, updated_at = now() WHERE id = $1`,
		id, to, reason, at.UTC())
	return err
}

func monitorNotFound(id monitor.ID) error {
	return monitor.Errorf(monitor.NotFound, "no monitor has the id %.60q", id)
}
