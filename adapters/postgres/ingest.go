package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// IngestStore keeps the logins of owners, encrypted, and what YouTube thinks of the signals of their encoders (decision S24).
type IngestStore struct {
	db      *database
	secrets Secrets
}

// youngIngest is the column of the ingest.Health of a monitor m, as JSON; NULL without a young one. ingestState is that of the
// monitor.IngestState of a row of monitors.
const (
	youngIngest = `(
	SELECT g.health || jsonb_build_object('asked_at', g.asked_at) FROM ingest_states g WHERE g.monitor_id = m.id AND g.health <> '{}' AND g.asked_at > now() - ` + ingestLife + `)`
	ingestState = `(
	SELECT json_build_object('no_data', g.no_data, 'asked_at', g.asked_at, 'age_sec', EXTRACT(EPOCH FROM now() - g.asked_at))
	FROM ingest_states g WHERE g.monitor_id = monitors.id AND g.asked_at > now() - ` + ingestLife + `)`
	ingestLife = `interval '10 minutes'` // ingest.Life
)

type ingestLoginRow struct {
	ID         string       `db:"id"`
	Name       string       `db:"name"`
	Sealed     []byte       `db:"sealed"`
	CreatedAt  time.Time    `db:"created_at"`
	UploadedAt time.Time    `db:"uploaded_at"`
	AcceptedAt sql.NullTime `db:"accepted_at"`
	RejectedAt sql.NullTime `db:"rejected_at"`
	AskedAt    sql.NullTime `db:"asked_at"`
	NextAt     sql.NullTime `db:"next_at"`
	Streams    int          `db:"streams"`
	Failure    []byte       `db:"failure"`
	Failures   int          `db:"failures"`
}

const selectIngestLogin = `SELECT id, name, sealed, created_at, uploaded_at, accepted_at, rejected_at, asked_at, next_at, streams, failure, failures FROM ingest_logins`

// open returns the login with its token. That of one that cannot be decrypted is empty.
func (r ingestLoginRow) open(secrets Secrets) (ingests.Opened, error) {
	token, _, err := secrets.Open(r.Sealed, r.ID)
	o := ingests.Opened{Token: ingests.Token(token), Login: ingests.Login{
		ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt.UTC(), UploadedAt: r.UploadedAt.UTC(),
		Standing: login.Standing{Unreadable: err != nil, AcceptedAt: timeOrZero(r.AcceptedAt), RejectedAt: timeOrZero(r.RejectedAt)}, AskedAt: timeOrZero(r.AskedAt), NextAt: timeOrZero(r.NextAt), Streams: r.Streams, Failures: r.Failures,
	}}
	if len(r.Failure) > 0 {
		o.Failure = &officialstate.Failure{}
		if err := json.Unmarshal(r.Failure, o.Failure); err != nil {
			return o, fmt.Errorf("failure of login %s: %w", r.ID, err)
		}
	}
	return o, nil
}

// OpenIngestLogins implements ingests.Store.
func (s *IngestStore) OpenIngestLogins(ctx context.Context) ([]ingests.Opened, error) {
	var rows []ingestLoginRow
	if err := s.db.SelectContext(ctx, &rows, selectIngestLogin+` ORDER BY name`); err != nil {
		return nil, wrapError(ctx, "read the logins of owners", err)
	}
	all := make([]ingests.Opened, 0, len(rows))
	for _, r := range rows {
		opened, err := r.open(s.secrets)
		if err != nil {
			return nil, err
		}
		all = append(all, opened)
	}
	return all, nil
}

// IngestLogins implements ingests.LoginStore.
func (s *IngestStore) IngestLogins(ctx context.Context) ([]ingests.Login, error) {
	opened, err := s.OpenIngestLogins(ctx)
	all := make([]ingests.Login, 0, len(opened))
	for _, o := range opened {
		all = append(all, o.Login)
	}
	return all, err
}

// CreateIngestLogin implements ingests.LoginStore.
func (s *IngestStore) CreateIngestLogin(ctx context.Context, l ingests.Login, token ingests.Token) error {
	sealed, err := s.secrets.Seal([]byte(token), l.ID)
	if err != nil {
		return fmt.Errorf("create login %s: %w", l.ID, err)
	}
	return s.db.inTx(ctx, "create login "+l.ID, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO ingest_logins (id, name, sealed, created_at, uploaded_at) VALUES ($1, $2, $3, $4, $4) ON CONFLICT (id) DO NOTHING`, l.ID, l.Name, sealed, l.CreatedAt.UTC())
		switch {
		case pq.As(err, pqerror.UniqueViolation) != nil:
			return monitor.NameTakenf("name is %q, which another login has; replace its token, or choose another name", l.Name)
		case err != nil:
			return err
		}
		return requireRoom(ctx, tx, `SELECT count(*) FROM ingest_logins`, ingests.MaxLogins, "logins of owners")
	})
}

// ReplaceIngestLogin implements ingests.LoginStore.
func (s *IngestStore) ReplaceIngestLogin(ctx context.Context, l ingests.Login, token ingests.Token) (ingests.Login, error) {
	sealed, err := s.secrets.Seal([]byte(token), l.ID)
	if err != nil {
		return l, fmt.Errorf("replace login %s: %w", l.ID, err)
	}
	var row ingestLoginRow
	err = s.db.GetContext(ctx, &row, `
		UPDATE ingest_logins SET sealed = $2, uploaded_at = $3, accepted_at = NULL, rejected_at = NULL, next_at = NULL, failure = NULL, failures = 0
		WHERE id = $1 RETURNING *`, l.ID, sealed, l.UploadedAt.UTC())
	if errors.Is(err, sql.ErrNoRows) {
		return l, loginNotFound(l.ID)
	}
	if err != nil {
		return l, wrapError(ctx, "replace login "+l.ID, err)
	}
	opened, err := row.open(s.secrets)
	return opened.Login, err
}

// DeleteIngestLogin implements ingests.LoginStore. It deletes the health of streams that the login told, too.
func (s *IngestStore) DeleteIngestLogin(ctx context.Context, id string) error {
	return s.db.inTx(ctx, "delete login "+id, func(tx *sqlx.Tx) error {
		deleted, err := tx.ExecContext(ctx, `DELETE FROM ingest_logins WHERE id = $1`, id)
		if err != nil {
			return err
		}
		if n, err := deleted.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, loginNotFound(id))
		}
		_, err = tx.ExecContext(ctx, `UPDATE ingest_states SET health = '{}', no_data = false, asked_at = now() WHERE login_id = $1`, id)
		return err
	})
}

func loginNotFound(id string) error {
	return monitor.Errorf(ingests.NotFound, "no login of an owner has the id %.60q", id)
}

// EndIngestLook implements ingests.Store.
func (s *IngestStore) EndIngestLook(ctx context.Context, look ingests.Look, end func(*ingests.Login)) error {
	return s.db.inTx(ctx, "end a look with login "+look.LoginID, func(tx *sqlx.Tx) error {
		var row ingestLoginRow
		err := tx.GetContext(ctx, &row, selectIngestLogin+` WHERE id = $1 AND uploaded_at = $2 FOR UPDATE`, look.LoginID, look.UploadedAt.UTC())
		if errors.Is(err, sql.ErrNoRows) {
			return nil // it was deleted or replaced meanwhile
		}
		if err != nil {
			return err
		}
		opened, err := row.open(s.secrets)
		if err != nil {
			return err
		}
		l := opened.Login
		end(&l)
		if opened.RejectedAt.IsZero() && !l.RejectedAt.IsZero() {
			if err := tellRejected(ctx, tx, l); err != nil {
				return err
			}
		}
		var failure []byte
		if l.Failure != nil {
			if failure, err = json.Marshal(l.Failure); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `
			UPDATE ingest_logins SET accepted_at = $2, rejected_at = $3, asked_at = $4, next_at = $5, streams = $6, failure = $7, failures = $8 WHERE id = $1`,
			l.ID, nullTime(l.AcceptedAt), nullTime(l.RejectedAt), nullTime(l.AskedAt), nullTime(l.NextAt), l.Streams, nullText(failure), l.Failures); err != nil {
			return err
		}
		if look.Health == nil {
			return nil
		}
		return s.storeHealth(ctx, tx, look)
	})
}

// tellRejected tells the destinations of noticeTargets that a login is rejected.
func tellRejected(ctx context.Context, tx *sqlx.Tx, l ingests.Login) error {
	notice, err := json.Marshal(message.Notice{Login: l.Name, At: l.RejectedAt.UTC(), LastError: storableText(l.Failure.Detail)})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at)
		SELECT gen_random_uuid(), id, CAST($4 AS jsonb), 'pending', now(), now() FROM (`+noticeTargets+`) AS told`,
		l.ID, nil, notify.Webhook, string(monitor.SanitizeJSON(notice)))
	if err != nil {
		return err
	}
	return wakeDispatchers(ctx, tx)
}

// storeHealth stores the health of streams. It deletes that of streams of which the login tells nothing now, and states that nobody
// asks about.
func (s *IngestStore) storeHealth(ctx context.Context, tx *sqlx.Tx, look ingests.Look) error {
	type state struct {
		Health ingest.Health `json:"health"`
		NoData bool          `json:"no_data"`
	}
	states := make(map[monitor.ID]state, len(look.Health))
	for id, h := range look.Health {
		states[id] = state{h, h.NoData()}
	}
	encoded, err := json.Marshal(states)
	if err != nil {
		return fmt.Errorf("health of signals: %w", err)
	}
	var changed []monitor.ID
	if err := tx.SelectContext(ctx, &changed, `
		WITH old AS (DELETE FROM ingest_states WHERE asked_at < now() - interval '1 hour'),
		known AS (
			SELECT key AS id, value -> 'health' AS health, CAST(value ->> 'no_data' AS boolean) AS no_data FROM jsonb_each(CAST($2 AS jsonb))
			UNION ALL
			SELECT monitor_id, '{}', false FROM ingest_states WHERE login_id = $1 AND health <> '{}' AND NOT CAST($2 AS jsonb) ? monitor_id),
		before AS (SELECT monitor_id, health FROM ingest_states),
		stored AS (
			INSERT INTO ingest_states (monitor_id, login_id, health, no_data, asked_at)
			SELECT id, $1, health, no_data, now() - make_interval(secs => $3) FROM known ORDER BY id
			ON CONFLICT (monitor_id) DO UPDATE SET login_id = excluded.login_id, health = excluded.health, no_data = excluded.no_data, asked_at = excluded.asked_at
			WHERE ingest_states.asked_at < excluded.asked_at
			RETURNING monitor_id, health)
		SELECT stored.monitor_id FROM stored LEFT JOIN before USING (monitor_id) WHERE stored.health - 'judged_at' IS DISTINCT FROM before.health - 'judged_at'
		ORDER BY stored.monitor_id`, look.LoginID, string(monitor.SanitizeJSON(encoded)), look.Age.Seconds()); err != nil {
		return err
	}
	changes, err := explainIncidents(ctx, tx, look.Health)
	if err != nil {
		return err
	}
	for _, id := range changed {
		changes = append(changes, monitorChange(id))
	}
	return addToFeed(ctx, tx, changes...)
}

// explainIncidents adds to open incidents their likely causes. It returns the changes of the feed.
func explainIncidents(ctx context.Context, tx *sqlx.Tx, health map[monitor.ID]ingest.Health) (changes []feedChange, err error) {
	var open []monitor.ID
	if err := tx.SelectContext(ctx, &open, `SELECT monitor_id FROM incidents WHERE state = 'open' AND monitor_id = ANY ($1) ORDER BY monitor_id`, pq.Array(slices.Collect(maps.Keys(health)))); err != nil {
		return nil, err
	}
	steps, err := lockNewestIncidents(ctx, tx, open)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		h := health[s.monitorID]
		h.AskedAt = s.now
		s.changes = s.tracker.Step(s.now, incident.Explained{Health: h})
		changes = append(changes, s.feedChanges()...)
	}
	return changes, storeIncidents(ctx, tx, steps...)
}
