package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// CookieJarStore keeps the cookie files of streams that need a login, encrypted (section 17.7).
type CookieJarStore struct {
	db      *database
	secrets Secrets
}

type cookieJarRow struct {
	ID         string         `db:"id"`
	Name       string         `db:"name"`
	Sources    pq.StringArray `db:"sources"`
	Cookies    int            `db:"cookies"`
	SignedIn   bool           `db:"signed_in"`
	Sealed     []byte         `db:"sealed"`
	Version    int            `db:"version"`
	Monitors   int            `db:"monitors"`
	Channels   pq.StringArray `db:"channels"` // the names of those that are not stopped
	CreatedAt  time.Time      `db:"created_at"`
	UploadedAt time.Time      `db:"uploaded_at"`
	AcceptedAt sql.NullTime   `db:"accepted_at"`
	RejectedAt sql.NullTime   `db:"rejected_at"`
}

const (
	cookieJarColumns = `id, name, sources, cookies, signed_in, sealed, version, created_at, uploaded_at, accepted_at, rejected_at`
	selectCookieJar  = `SELECT ` + cookieJarColumns + ` FROM cookie_jars`

	// selectUsedCookieJar also counts the active monitors that use the jar, and names the channels that are not stopped, for
	// which it reads all of them.
	selectUsedCookieJar = `
		SELECT ` + cookieJarColumns + `, (SELECT count(*) FROM monitors WHERE ` + activePredicate + ` AND config ->> 'cookie_jar' = j.name) AS monitors,
			ARRAY(SELECT COALESCE(NULLIF(title, ''), address) FROM channels WHERE stopped_at IS NULL AND cookie_jar = j.name ORDER BY created_at, id) AS channels
		FROM cookie_jars j`
)

// open returns the jar, and its record. A jar that cannot be decrypted has Version 0.
func (r cookieJarRow) open(secrets Secrets) (cookie.Jar, cookiejars.Record) {
	text, _, err := secrets.Open(r.Sealed, r.ID)
	record := cookiejars.Record{
		ID: r.ID, Name: r.Name, Cookies: r.Cookies, SignedIn: r.SignedIn, Version: r.Version, Monitors: r.Monitors, Channels: len(r.Channels),
		CreatedAt: r.CreatedAt.UTC(), UploadedAt: r.UploadedAt.UTC(),
		Standing: login.Standing{Unreadable: err != nil, AcceptedAt: timeOrZero(r.AcceptedAt), RejectedAt: timeOrZero(r.RejectedAt)},
	}
	for _, source := range r.Sources {
		record.Sources = append(record.Sources, monitor.SourceName(source))
	}
	if err != nil {
		return cookie.Jar{Name: r.Name}, record
	}
	return cookie.Jar{Name: r.Name, Version: r.Version, Text: cookie.Text(text)}, record
}

// CookieJars implements cookiejars.RecordStore.
func (s *CookieJarStore) CookieJars(ctx context.Context) ([]cookiejars.Record, error) {
	var rows []cookieJarRow
	err := s.db.SelectContext(ctx, &rows, selectUsedCookieJar+` ORDER BY name`)
	list := make([]cookiejars.Record, 0, len(rows))
	for _, r := range rows {
		_, record := r.open(s.secrets)
		list = append(list, record)
	}
	return list, wrapError(ctx, "list cookie jars", err)
}

// CreateCookieJar implements cookiejars.RecordStore.
func (s *CookieJarStore) CreateCookieJar(ctx context.Context, r cookiejars.Record, text cookie.Text) error {
	sealed, err := s.secrets.Seal([]byte(text), r.ID)
	if err != nil {
		return fmt.Errorf("create cookie jar %s: %w", r.ID, err)
	}
	return s.db.inTx(ctx, "create cookie jar "+r.ID, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO cookie_jars (id, name, sources, cookies, signed_in, sealed, created_at, uploaded_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (id) DO NOTHING`,
			r.ID, r.Name, pq.Array(r.Sources), r.Cookies, r.SignedIn, sealed, r.CreatedAt.UTC())
		switch {
		case pq.As(err, pqerror.UniqueViolation) != nil:
			return monitor.NameTakenf("name is %q, which another cookie jar has; replace its cookies, or choose another name", r.Name)
		case err != nil:
			return err
		}
		return requireRoom(ctx, tx, `SELECT count(*) FROM cookie_jars`, cookiejars.MaxJars, "cookie jars")
	})
}

// ReplaceCookieJar implements cookiejars.RecordStore. An upload has the next version, also if it is repeated: what runs leave
// of an earlier one is of another login, or loses nothing.
func (s *CookieJarStore) ReplaceCookieJar(ctx context.Context, r cookiejars.Record, text cookie.Text) (replaced cookiejars.Record, err error) {
	sealed, err := s.secrets.Seal([]byte(text), r.ID)
	if err != nil {
		return replaced, fmt.Errorf("replace cookie jar %s: %w", r.ID, err)
	}
	err = s.db.inTx(ctx, "replace cookie jar "+r.ID, func(tx *sqlx.Tx) error {
		var users []monitor.ID
		err := tx.SelectContext(ctx, &users, `
			SELECT id FROM monitors WHERE `+activePredicate+` AND config ->> 'cookie_jar' = (SELECT name FROM cookie_jars WHERE id = $1)
			ORDER BY id FOR UPDATE`, r.ID)
		if err != nil {
			return err
		}
		var row cookieJarRow
		if err := lockCookieJar(ctx, tx, &row, `id = $1`, r.ID); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			UPDATE cookie_jars SET sources = $2, cookies = $3, signed_in = $4, sealed = $5, version = version + 1, uploaded_at = $6,
				accepted_at = NULL, rejected_at = NULL
			WHERE id = $1`, r.ID, pq.Array(r.Sources), r.Cookies, r.SignedIn, sealed, r.UploadedAt.UTC())
		if err != nil {
			return err
		}
		if err := addRevision(ctx, tx, users); err != nil {
			return err
		}
		if err := tx.GetContext(ctx, &row, selectUsedCookieJar+` WHERE id = $1`, r.ID); err != nil {
			return err
		}
		_, replaced = row.open(s.secrets)
		return nil
	})
	return replaced, err
}

// lockCookieJar reads a jar and locks its row. Errors: *monitor.Error NotFound.
func lockCookieJar(ctx context.Context, tx *sqlx.Tx, row *cookieJarRow, where, by string) error {
	err := tx.GetContext(ctx, row, selectCookieJar+` WHERE `+where+` FOR UPDATE`, by)
	if errors.Is(err, sql.ErrNoRows) {
		return monitor.Errorf(cookiejars.NotFound, "no cookie jar has the id or name %.60q", by)
	}
	return err
}

// DeleteCookieJar implements cookiejars.RecordStore.
func (s *CookieJarStore) DeleteCookieJar(ctx context.Context, id string) error {
	return s.db.inTx(ctx, "delete cookie jar "+id, func(tx *sqlx.Tx) error {
		var row cookieJarRow
		if err := lockCookieJar(ctx, tx, &row, `id = $1`, id); err != nil {
			return err
		}
		if err := tx.GetContext(ctx, &row, selectUsedCookieJar+` WHERE id = $1`, id); err != nil {
			return err
		}
		if row.Monitors > 0 {
			return monitor.Errorf(cookiejars.InUse, "%d active monitors use the cookie jar %q; stop them, or give them another config.cookie_jar", row.Monitors, row.Name)
		}
		if len(row.Channels) > 0 {
			return monitor.Errorf(cookiejars.InUse, "%s the cookie jar %q; stop them, or give them another cookie_jar", usingChannels(row.Channels), row.Name)
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM cookie_jars WHERE id = $1`, id)
		return err
	})
}

// usingChannels names channels of which there is at least one.
func usingChannels(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("the channel %q uses", names[0])
	}
	return fmt.Sprintf("%d channels use, such as %q,", len(names), names[0])
}

// CookieJar implements cookiejars.ContentStore.
func (s *CookieJarStore) CookieJar(ctx context.Context, name string) (cookie.Jar, error) {
	var row cookieJarRow
	err := s.db.GetContext(ctx, &row, selectCookieJar+` WHERE name = $1`, name)
	if errors.Is(err, sql.ErrNoRows) {
		return cookie.Jar{Name: name}, nil
	}
	if err != nil {
		return cookie.Jar{}, wrapError(ctx, "read a cookie jar", err)
	}
	jar, _ := row.open(s.secrets)
	return jar, nil
}

// UseCookieJar implements cookiejars.ContentStore.
func (s *CookieJarStore) UseCookieJar(ctx context.Context, name string, use func(*cookie.Jar, *cookiejars.Record)) (jar cookie.Jar, err error) {
	err = s.db.inTx(ctx, "renew a cookie jar", func(tx *sqlx.Tx) error {
		var row cookieJarRow
		if err := lockCookieJar(ctx, tx, &row, `name = $1`, name); err != nil {
			return err
		}
		var record cookiejars.Record
		if jar, record = row.open(s.secrets); jar.Version == 0 {
			return nil
		}
		if use(&jar, &record); jar.Version > row.Version {
			if row.Sealed, err = s.secrets.Seal([]byte(jar.Text), row.ID); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE cookie_jars SET sealed = $2, version = $3, accepted_at = $4, rejected_at = $5 WHERE id = $1`,
			row.ID, row.Sealed, jar.Version, nullTime(record.AcceptedAt), nullTime(record.RejectedAt))
		return err
	})
	return jar, err
}
