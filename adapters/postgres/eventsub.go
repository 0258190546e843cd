package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"reflect"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// EventSubStore keeps what Twitch pushes, and what is known of the subscriptions (decision S28).
type EventSubStore struct{ db *database }

// AcceptMessage implements pushes.Store.
func (s *EventSubStore) AcceptMessage(ctx context.Context, m eventsub.Message, now time.Time) (first bool, err error) {
	err = s.db.inTx(ctx, "accept a message of EventSub", func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO eventsub_messages (id, kind, type, body, sent_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING`,
			m.ID, m.Kind, m.Type, m.Body, m.SentAt.UTC())
		if err != nil {
			return err
		}
		rows, err := result.RowsAffected()
		first = rows > 0
		url, state, tells := m.Stream()
		if err != nil || !first || !tells {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			WITH due AS (
				UPDATE channels SET next_at = LEAST(next_at, $3), pushed_at = CASE WHEN $2 = 'live' THEN $3 ELSE pushed_at END
				WHERE address = $1 AND stopped_at IS NULL)
			INSERT INTO official_states (monitor_id, status, asked_at, pushed_at)
			SELECT id, $2, now(), now() FROM monitors WHERE stream_url = $1 AND `+activePredicate+`
			ON CONFLICT (monitor_id) DO UPDATE SET status = excluded.status, asked_at = excluded.asked_at, pushed_at = excluded.pushed_at`,
			string(url), string(state), now.UTC())
		return err
	})
	return first, err
}

// EventSubTargets implements pushes.Store.
func (s *EventSubStore) EventSubTargets(ctx context.Context) (logins []string, err error) {
	err = s.db.inSnapshot(ctx, "read whose starts are pushed", func(tx *sqlx.Tx) error {
		logins = nil
		var url monitor.StreamURL
		return eachRow(ctx, tx, []any{&url}, func() {
			logins = append(logins, url.ID())
		}, `SELECT address FROM channels WHERE stopped_at IS NULL AND starts_with(address, $1)
			UNION SELECT stream_url FROM monitors WHERE starts_with(stream_url, $1) AND `+activePredicate+` ORDER BY 1`, monitor.Twitch.Row().Prefix)
	})
	return logins, err
}

// EventSubState implements pushes.Store.
func (s *EventSubStore) EventSubState(ctx context.Context) (state eventsub.State, err error) {
	var row struct {
		State   []byte       `db:"state"`
		Message sql.NullTime `db:"message_at"`
		Revoked sql.NullTime `db:"revoked_at"`
	}
	if err := s.db.GetContext(ctx, &row, `
		SELECT state, (SELECT max(received_at) FROM eventsub_messages WHERE kind = $1) AS message_at, (SELECT max(received_at) FROM eventsub_messages WHERE kind = $2) AS revoked_at
		FROM eventsub_state`, eventsub.Notification, eventsub.Revocation); err != nil {
		return state, wrapError(ctx, "read the state of EventSub", err)
	}
	err = json.Unmarshal(row.State, &state)
	state.MessageAt, state.RevokedAt = timeOrZero(row.Message), timeOrZero(row.Revoked)
	return state, err
}

// ChangeEventSubState implements pushes.Store.
func (s *EventSubStore) ChangeEventSubState(ctx context.Context, change func(*eventsub.State)) error {
	return s.db.inTx(ctx, "change the state of EventSub", func(tx *sqlx.Tx) error {
		var stored []byte
		if err := tx.GetContext(ctx, &stored, `SELECT state FROM eventsub_state FOR UPDATE`); err != nil {
			return err
		}
		var state eventsub.State
		if err := json.Unmarshal(stored, &state); err != nil {
			return err
		}
		before := state
		change(&state)
		if reflect.DeepEqual(before, state) {
			return nil
		}
		changed, err := json.Marshal(state)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE eventsub_state SET state = $1`, string(monitor.SanitizeJSON(changed)))
		return err
	})
}

// ExpireMessages implements pushes.Store.
func (s *EventSubStore) ExpireMessages(ctx context.Context, age time.Duration, limit int) error {
	_, err := s.db.ExecContext(ctx, `
		DELETE FROM eventsub_messages WHERE id = ANY (ARRAY(
			SELECT id FROM eventsub_messages WHERE received_at < now() - make_interval(secs => $1) LIMIT $2))`, age.Seconds(), limit)
	return wrapError(ctx, "delete expired messages of EventSub", err)
}
