package postgres

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// logUnreadable logs a row that the state leaves out. It does not change the epoch: the next
// state could not have the row either.
func (s *FeedStore) logUnreadable(table, id string, err error) {
	s.db.log.Warn("row left out of the state for the feed: report the defect with error", "table", table, "id", id, "error", err.Error())
}

// ReadState implements record.FeedStore. A row that cannot be read is logged and left
// out.
func (s *FeedStore) ReadState(ctx context.Context) (feed.State, feed.Position, error) {
	var state feed.State
	var position feed.Position
	err := s.db.inSnapshot(ctx, "read the state for the feed", func(tx *sqlx.Tx) (err error) {
		if err := tx.QueryRowxContext(ctx, `SELECT epoch, version FROM feed_head`).Scan(&position.Epoch, &position.Version); err != nil {
			return err
		}
		if state.Monitors, err = s.shownMonitors(ctx, tx); err != nil {
			return err
		}
		if state.Incidents, err = s.openIncidents(ctx, tx); err != nil {
			return err
		}
		if state.Deliveries, state.MoreDeliveries, err = undelivered(ctx, tx); err != nil {
			return err
		}
		state.Evidence, state.MoreEvidence, err = shownEvidence(ctx, tx)
		return err
	})
	return state, position, err
}

func (s *FeedStore) shownMonitors(ctx context.Context, tx *sqlx.Tx) ([]feed.Monitor, error) {
	var rows []monitorRow
	err := tx.SelectContext(ctx, &rows, `SELECT `+monitorColumns+fromMonitors+`
		WHERE m.`+activePredicate+` OR m.ended_at > now() - make_interval(secs => $1) ORDER BY m.seq`, feed.EndedShown.Seconds())
	shown := make([]feed.Monitor, 0, len(rows))
	for _, r := range rows {
		m, err := r.toMonitor()
		if err != nil {
			s.logUnreadable("monitors", r.ID, err)
			continue
		}
		shown = append(shown, feed.NewMonitor(m))
	}
	return shown, err
}

func (s *FeedStore) openIncidents(ctx context.Context, tx *sqlx.Tx) ([]feed.Incident, error) {
	var rows []incidentRow
	err := tx.SelectContext(ctx, &rows, `SELECT `+incidentColumns+` FROM incidents i WHERE `+goingOn+` ORDER BY i.seq`)
	open := make([]feed.Incident, 0, len(rows))
	for _, r := range rows {
		i, err := r.toIncident()
		if err != nil {
			s.logUnreadable("incidents", r.ID, err)
			continue
		}
		open = append(open, feed.NewIncident(r.MonitorID, *i))
	}
	return open, err
}

// undelivered reads one row more than it returns, to know whether there are more. Each of
// its two parts walks the newest end of an index.
func undelivered(ctx context.Context, tx *sqlx.Tx) (shown []feed.Delivery, more bool, err error) {
	const newest = `ORDER BY created_at DESC, id DESC LIMIT $2`
	var rows []deliveryChange
	err = tx.SelectContext(ctx, &rows, `
		SELECT `+deliveryColumns+` FROM (
			(SELECT `+deliveryColumns+` FROM monitor_events WHERE webhook_status = 'pending' `+newest+`)
			UNION ALL
			(SELECT `+deliveryColumns+` FROM monitor_events WHERE webhook_status = 'failed' AND created_at > now() - make_interval(secs => $1) `+newest+`)
		) AS undelivered `+newest, feed.FailedShown.Seconds(), feed.MaxStateDeliveries+1)
	rows, more = upTo(rows, feed.MaxStateDeliveries)
	shown = make([]feed.Delivery, 0, len(rows))
	for _, r := range rows {
		shown = append(shown, r.toDelivery())
	}
	return shown, more, err
}

// shownEvidence reads one row more than it returns, to know whether there are more.
func shownEvidence(ctx context.Context, tx *sqlx.Tx) (shown []feed.Evidence, more bool, err error) {
	var rows []evidenceRow
	err = tx.SelectContext(ctx, &rows, `
		SELECT `+evidenceColumns+` FROM evidence WHERE incident_id = ANY (ARRAY(
			SELECT i.id FROM incidents i WHERE `+goingOn+`
			UNION ALL
			SELECT id FROM incidents WHERE state = 'resolved' AND resolved_at > now() - make_interval(secs => $1)))
		ORDER BY created_at DESC, id DESC LIMIT $2`, feed.EndedShown.Seconds(), feed.MaxStateEvidence+1)
	if err != nil {
		return nil, false, err
	}
	rows, more = upTo(rows, feed.MaxStateEvidence)
	records, err := withFiles(ctx, tx, rows)
	shown = make([]feed.Evidence, 0, len(records))
	for _, r := range records {
		shown = append(shown, feed.NewEvidence(r))
	}
	return shown, more, err
}

// upTo returns the first rows, at most limit, and whether there are more.
func upTo[T any](rows []T, limit int) (first []T, more bool) {
	if len(rows) > limit {
		return rows[:limit], true
	}
	return rows, false
}
