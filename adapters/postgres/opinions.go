package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// OpinionStore keeps second opinions about alerts (section 19.9), in the rows of their incidents.
type OpinionStore struct{ db *database }

// ClaimQuestions implements opinions.Store. It passes over incidents that another transaction is changing: that of another
// gateway which claims them, or a report, after which they are still due.
func (s *OpinionStore) ClaimQuestions(ctx context.Context, coolDown time.Duration, limit int) (questions []opinions.Question, err error) {
	err = s.db.inTx(ctx, "claim questions about alerts", func(tx *sqlx.Tx) error {
		questions = nil
		var rows []incidentRow
		err := tx.SelectContext(ctx, &rows, `
			SELECT `+incidentColumns+`, m.stream_url FROM incidents i JOIN monitors m ON m.id = i.monitor_id
			WHERE i.opinion_due_at <= now() ORDER BY i.opinion_due_at LIMIT $1 FOR UPDATE OF i SKIP LOCKED`, limit)
		if err != nil || len(rows) == 0 {
			return err
		}
		var now time.Time
		if err := tx.GetContext(ctx, &now, `SELECT clock_timestamp()`); err != nil {
			return err
		}
		asked, unreadable := s.db.letTimePass(rows, now.UTC(), incident.Ask{CoolDown: coolDown})
		if _, err := tx.ExecContext(ctx, `UPDATE incidents SET opinion_due_at = NULL WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(unreadable)); err != nil {
			return err
		}
		var changes []feedChange
		for _, steps := range asked {
			questions, changes = append(questions, steps.questions(rows)...), append(changes, steps.feedChanges()...)
		}
		if err := storeIncidents(ctx, tx, asked...); err != nil {
			return err
		}
		if err := readAskedEvents(ctx, tx, questions); err != nil {
			return err
		}
		return addToFeed(ctx, tx, changes...)
	})
	if err != nil {
		return nil, err
	}
	return questions, nil
}

// questions returns what steps with an Ask have found to ask about. rows has the row of their incident.
func (s *incidentSteps) questions(rows []incidentRow) (all []opinions.Question) {
	of := s.tracker.Newest()
	row := rows[slices.IndexFunc(rows, func(r incidentRow) bool { return r.ID == of.ID })]
	for _, c := range of.AskedNow(s.now) {
		all = append(all, opinions.Question{
			EventID: c.Alert.EventID, IncidentID: of.ID, MonitorID: s.monitorID, StreamURL: row.StreamURL, Condition: c.Name, AskedAt: s.now,
		})
	}
	return all
}

// readAskedEvents adds to questions the events that they are about.
func readAskedEvents(ctx context.Context, tx *sqlx.Tx, questions []opinions.Question) error {
	ids := make([]string, len(questions))
	for n, q := range questions {
		ids[n] = q.EventID
	}
	var events []struct {
		ID   string `db:"id"`
		Type string `db:"event_type"`
		Body []byte `db:"body"`
	}
	if err := tx.SelectContext(ctx, &events, `SELECT id, event_type, body FROM monitor_events WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids)); err != nil {
		return err
	}
	for n := range questions {
		for _, e := range events {
			if e.ID == questions[n].EventID {
				questions[n].EventType, questions[n].Event = e.Type, e.Body
			}
		}
	}
	return nil
}

// StoreOpinion implements opinions.Store. An answer counts from when it is stored, by the clock of the database. It concerns
// each incident that has the alert: one that has ended since the question, and one that has taken the condition over.
func (s *OpinionStore) StoreOpinion(ctx context.Context, id monitor.ID, eventID string, o incident.Opinion) error {
	return s.db.inTx(ctx, "store a second opinion about "+string(id), func(tx *sqlx.Tx) error {
		var rows []incidentRow
		err := tx.SelectContext(ctx, &rows, `
			SELECT `+incidentColumns+` FROM incidents i WHERE i.monitor_id = $1 AND i.opinion_due_at IS NOT NULL ORDER BY i.seq FOR UPDATE`, id)
		if err != nil {
			return err
		}
		var answered []*incidentSteps
		var changes []feedChange
		for _, row := range rows {
			locked, err := row.toIncident()
			if err != nil {
				return err
			}
			steps, err := stepsFrom(ctx, tx, id, locked)
			if err != nil {
				return err
			}
			steps.changes = steps.tracker.Step(steps.now, incident.Answered{EventID: eventID, Opinion: o})
			answered, changes = append(answered, steps), append(changes, steps.feedChanges()...)
		}
		if err := storeIncidents(ctx, tx, answered...); err != nil {
			return err
		}
		return addToFeed(ctx, tx, changes...)
	})
}
