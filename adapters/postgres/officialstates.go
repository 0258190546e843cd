package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// OfficialStore keeps what the official APIs of sources say of streams, and the accounts of their use (decision S23).
type OfficialStore struct{ db *database }

// youngOfficialState is the column of the monitor.OfficialState of a row of monitors, as JSON; NULL without a young one.
var youngOfficialState = fmt.Sprintf(`(
	SELECT json_build_object('status', o.status, 'asked_at', o.asked_at, 'age_sec', EXTRACT(EPOCH FROM now() - o.asked_at))
	FROM official_states o WHERE o.monitor_id = monitors.id AND o.asked_at > now() - make_interval(secs => %d))`, int(monitor.OfficialStateLife.Seconds()))

// OfficialAccount implements officialstates.Store.
func (s *OfficialStore) OfficialAccount(ctx context.Context, source monitor.SourceName) (a officialstate.Account, err error) {
	var stored []byte
	if err := s.db.GetContext(ctx, &stored, `SELECT COALESCE(account -> $1, '{}') FROM official_account`, string(source)); err != nil {
		return a, wrapError(ctx, "read the account of an official API", err)
	}
	return a, json.Unmarshal(stored, &a)
}

// ChangeOfficialAccount implements officialstates.Store.
func (s *OfficialStore) ChangeOfficialAccount(ctx context.Context, source monitor.SourceName, change func(*officialstate.Account)) error {
	return s.db.inTx(ctx, "change the account of an official API", func(tx *sqlx.Tx) error {
		var stored []byte
		if err := tx.GetContext(ctx, &stored, `SELECT COALESCE(account -> $1, '{}') FROM official_account FOR UPDATE`, string(source)); err != nil {
			return err
		}
		var a officialstate.Account
		if err := json.Unmarshal(stored, &a); err != nil {
			return err
		}
		change(&a)
		changed, err := json.Marshal(a)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE official_account SET account = jsonb_set(account, ARRAY[$1], $2)`, string(source), string(changed))
		return err
	})
}

// OfficialStreams implements officialstates.Store.
func (s *OfficialStore) OfficialStreams(ctx context.Context, source monitor.SourceName) (streams []officialstate.Stream, err error) {
	err = s.db.inSnapshot(ctx, "read the streams of a source that have a worker", func(tx *sqlx.Tx) error {
		var one officialstate.Stream
		var url monitor.StreamURL
		var scheduled sql.NullTime
		return eachRow(ctx, tx, []any{&one.MonitorID, &url, &one.Live, &scheduled}, func() {
			row := monitor.SourceOf(url)
			if one.SourceID, one.Place, one.ScheduledStart = url.ID(), row.IsPlace(), timeOrZero(scheduled); row.Name == source {
				streams = append(streams, one)
			}
		}, `SELECT id, stream_url, status = 'monitoring', CAST(config ->> 'scheduled_start_time' AS timestamptz)
			FROM monitors WHERE reserved_until IS NULL AND (paused_until > now()) IS NOT TRUE AND `+activePredicate+` ORDER BY seq`)
	})
	return streams, err
}

// StoreOfficialStates implements officialstates.Store. It also deletes the states of streams that nobody asks about any more. A
// pushed state stays until the worker has reported thrice, because an API that is asked lags.
func (s *OfficialStore) StoreOfficialStates(ctx context.Context, states map[monitor.ID]monitor.StreamStatus, age time.Duration) error {
	encoded, err := json.Marshal(states)
	if err != nil {
		return fmt.Errorf("states of streams: %w", err)
	}
	_, err = s.db.ExecContext(ctx, `
		WITH old AS (DELETE FROM official_states WHERE asked_at < now() - interval '1 hour')
		INSERT INTO official_states (monitor_id, status, asked_at)
		SELECT key, value, now() - make_interval(secs => $2) FROM json_each_text($1) ORDER BY key
		ON CONFLICT (monitor_id) DO UPDATE SET status = excluded.status, asked_at = excluded.asked_at
		WHERE official_states.asked_at < excluded.asked_at AND COALESCE(official_states.pushed_at < now() - interval '30 seconds', true)`, string(encoded), age.Seconds())
	return wrapError(ctx, "store the states of streams", err)
}
