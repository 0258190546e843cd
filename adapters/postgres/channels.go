package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ChannelStore keeps channels and what was found of them.
type ChannelStore struct{ db *database }

const selectChannels = `
	SELECT c.id, c.address, c.source_id, c.handle, c.title, c.callback_url, c.config, c.metadata_text, c.labels, c.cookie_jar, c.owner, c.reading, c.next_at, c.created_at, c.stopped_at, c.pushed_at
	FROM channels c`

type channelRow struct {
	ID          string       `db:"id"`
	Address     string       `db:"address"`
	SourceID    string       `db:"source_id"`
	Handle      string       `db:"handle"`
	Title       string       `db:"title"`
	CallbackURL string       `db:"callback_url"`
	Config      []byte       `db:"config"`
	Metadata    string       `db:"metadata_text"`
	Labels      labels       `db:"labels"`
	Jar         string       `db:"cookie_jar"`
	Owner       string       `db:"owner"`
	Reading     []byte       `db:"reading"`
	NextAt      time.Time    `db:"next_at"`
	CreatedAt   time.Time    `db:"created_at"`
	StoppedAt   sql.NullTime `db:"stopped_at"`
	PushedAt    sql.NullTime `db:"pushed_at"`
}

func (r channelRow) toChannel() (channel.Channel, error) {
	c := channel.Channel{
		ID: r.ID, Address: channel.Address(r.Address), SourceID: r.SourceID, Handle: r.Handle, Title: r.Title, Owner: r.Owner,
		Template:  channel.Template{CallbackURL: monitor.CallbackURL(r.CallbackURL), Metadata: json.RawMessage(r.Metadata), Labels: monitor.Labels(r.Labels), Jar: r.Jar},
		CreatedAt: r.CreatedAt.UTC(), StoppedAt: timeOrZero(r.StoppedAt), PushedAt: timeOrZero(r.PushedAt),
	}
	err := errors.Join(json.Unmarshal(r.Config, &c.Template.Config), json.Unmarshal(r.Reading, &c.Reading))
	c.Reading.NextAt = r.NextAt.UTC()
	if err != nil {
		return c, fmt.Errorf("channel %s: %w", r.ID, err)
	}
	return c, nil
}

// readStreams adds their streams to channels, the newest first, with the state of their monitors.
func readStreams(ctx context.Context, q sqlx.QueryerContext, all []channel.Channel) error {
	ids := make([]string, len(all))
	for n, c := range all {
		ids[n] = c.ID
	}
	var rows []foundRow
	if err := sqlx.SelectContext(ctx, q, &rows, selectFound+` WHERE s.channel_id = ANY (CAST($1 AS uuid[])) ORDER BY s.found_at DESC, s.stream_url`, pq.Array(ids)); err != nil {
		return err
	}
	for _, r := range rows {
		f, err := r.toFound()
		if err != nil {
			return err
		}
		c := &all[slices.Index(ids, r.ChannelID)]
		c.Streams = append(c.Streams, f)
	}
	return nil
}

// selectFound reads foundRows. The monitor of a stream is missing once it has expired.
const selectFound = `
	SELECT s.channel_id, s.stream_url, s.found, m.id AS monitor_id, m.status, m.reason, m.broadcast, m.status = 'waiting' AND m.reserved_until IS NOT NULL AND m.place = '' AS reserved
	FROM channel_streams s LEFT JOIN monitors m ON m.id = s.monitor_id`

type foundRow struct {
	ChannelID string         `db:"channel_id"`
	StreamURL string         `db:"stream_url"`
	Found     []byte         `db:"found"`
	MonitorID sql.NullString `db:"monitor_id"`
	Status    sql.NullString `db:"status"`
	Reason    sql.NullString `db:"reason"`
	Broadcast sql.NullString `db:"broadcast"`
	Reserved  sql.NullBool   `db:"reserved"`
}

func (r foundRow) toFound() (f channel.Found, err error) {
	if err := json.Unmarshal(r.Found, &f); err != nil {
		return f, fmt.Errorf("a stream of channel %s: %w", r.ChannelID, err)
	}
	f.Monitor.Status, f.Monitor.Reason, f.Monitor.Broadcast, f.Monitor.Reserved = monitor.Status(r.Status.String), r.Reason.String, r.Broadcast.String, r.Reserved.Bool
	if f.Monitor.ID != "" && !r.MonitorID.Valid {
		f.Monitor.Status = monitor.Completed
	}
	return f, nil
}

// channelsLock lets one transaction at a time add channels, so that they are counted together.
const channelsLock = `SELECT pg_advisory_xact_lock(21325, 10)`

// CreateChannel implements channels.Store. It succeeds if the channel is stored already.
func (s *ChannelStore) CreateChannel(ctx context.Context, c channel.Channel) error {
	return s.createChannel(ctx, c, nil)
}

// CheckChannel implements channels.Store: it creates the channel, and takes it back.
func (s *ChannelStore) CheckChannel(ctx context.Context, c channel.Channel) error {
	takeBack := errors.New("taken back")
	if err := s.createChannel(ctx, c, takeBack); !errors.Is(err, takeBack) {
		return err
	}
	return nil
}

// createChannel stores a channel. It stores nothing and returns after, if that is an error.
func (s *ChannelStore) createChannel(ctx context.Context, c channel.Channel, after error) error {
	config, reading, err := encodeChannel(c)
	if err != nil {
		return err
	}
	return s.db.inTx(ctx, "register channel "+c.ID, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, channelsLock); err != nil {
			return err
		}
		same, err := sameChannel(ctx, tx, c)
		switch {
		case err != nil:
			return err
		case same != "":
			return duplicateOf(c, same)
		}
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO channels (id, address, source_id, handle, title, callback_url, config, metadata_text, cookie_jar, reading, next_at, created_at, labels, owner)
			VALUES ($1, $2, $3, $4, $5, $6, CAST($7 AS jsonb), $8, $9, CAST($10 AS jsonb), $11, $12, CAST($13 AS jsonb), $14) ON CONFLICT (id) DO NOTHING`,
			c.ID, c.Address, c.SourceID, c.Handle, c.Title, c.Template.CallbackURL, config, string(c.Template.Metadata), c.Template.Jar, reading, c.Reading.NextAt.UTC(), c.CreatedAt.UTC(), labels(c.Template.Labels), c.Owner); err != nil {
			return err
		}
		var count int
		err = tx.GetContext(ctx, &count, `SELECT count(*) FROM channels WHERE stopped_at IS NULL`)
		if err == nil && count > channels.MaxChannels {
			err = monitor.Errorf(monitor.InvalidConfig, "%d channels are registered, which is the maximum; stop one first", channels.MaxChannels)
		}
		if err != nil {
			return err
		}
		return after
	})
}

// SameChannel implements channels.Store.
func (s *ChannelStore) SameChannel(ctx context.Context, c channel.Channel) (string, error) {
	id, err := sameChannel(ctx, s.db, c)
	if err == nil && id == "" && c.Owner != "" {
		err = s.db.GetContext(ctx, &id, `
			SELECT COALESCE((SELECT CAST(id AS text) FROM channels WHERE owner = $1 AND stopped_at IS NOT NULL AND (address = $2 OR source_id = NULLIF($3, '')) ORDER BY stopped_at DESC LIMIT 1), '')`,
			c.Owner, c.Address, c.SourceID)
	}
	return id, wrapError(ctx, "look for a channel", err)
}

func sameChannel(ctx context.Context, q sqlx.QueryerContext, c channel.Channel) (id string, err error) {
	err = sqlx.GetContext(ctx, q, &id, `
		SELECT COALESCE((SELECT CAST(id AS text) FROM channels WHERE stopped_at IS NULL AND CAST(id AS text) <> $1 AND (address = $2 OR source_id = NULLIF($3, '')) LIMIT 1), '')`,
		c.ID, c.Address, c.SourceID)
	return id, err
}

func encodeChannel(c channel.Channel) (config, reading string, err error) {
	rawConfig, err := json.Marshal(c.Template.Config)
	rawReading, err2 := json.Marshal(c.Reading)
	return string(rawConfig), string(monitor.SanitizeJSON(rawReading)), errors.Join(err, err2)
}

func duplicateOf(c channel.Channel, id string) error {
	refusal := monitor.Errorf(channels.Duplicate, "%s is registered already as channel %s; change or stop that one", c.Address, id)
	refusal.Existing = id
	return monitor.OfField("channel", refusal)
}

// Channel implements channels.Store.
func (s *ChannelStore) Channel(ctx context.Context, id string) (c channel.Channel, err error) {
	err = s.db.inSnapshot(ctx, "read channel "+id, func(tx *sqlx.Tx) error {
		c, err = readChannel(ctx, tx, id, "")
		return err
	})
	return c, err
}

// readChannel reads a channel with its streams. lock is "" or " FOR UPDATE".
func readChannel(ctx context.Context, q sqlx.QueryerContext, id, lock string) (channel.Channel, error) {
	var row channelRow
	err := sqlx.GetContext(ctx, q, &row, selectChannels+` WHERE c.id = $1`+lock, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = channelNotFound(id)
	}
	if err != nil {
		return channel.Channel{}, err
	}
	c, err := row.toChannel()
	if err != nil {
		return c, err
	}
	one := []channel.Channel{c}
	err = readStreams(ctx, q, one)
	return one[0], err
}

func channelNotFound(id string) error {
	return monitor.Errorf(channels.NotFound, "no channel has the id %.60q", id)
}

// Channels implements channels.Store.
func (s *ChannelStore) Channels(ctx context.Context, stopped bool, limit, offset int) (page []channels.Listed, total int, err error) {
	condition := ` WHERE c.stopped_at IS NULL`
	if stopped {
		condition = ``
	}
	err = s.db.inSnapshot(ctx, "list channels", func(tx *sqlx.Tx) error {
		page = nil
		if err := tx.GetContext(ctx, &total, `SELECT count(*) FROM channels c`+condition); err != nil {
			return err
		}
		var rows []channelRow
		if err := tx.SelectContext(ctx, &rows, selectChannels+condition+` ORDER BY c.id DESC LIMIT $1 OFFSET $2`, limit, offset); err != nil {
			return err
		}
		ids, places := make([]string, len(rows)), map[string]int{}
		for n, r := range rows {
			c, err := r.toChannel()
			if err != nil {
				logPartly(s.db.log, "channels", r.ID, err)
			}
			page = append(page, channels.Listed{Channel: c, Standings: map[channel.Standing]int{}})
			ids[n], places[r.ID] = r.ID, n
		}
		var id string
		var standing channel.Standing
		var count, noRoom int
		return eachRow(ctx, tx, []any{&id, &standing, &count, &noRoom}, func() {
			listed := &page[places[id]]
			listed.Standings[standing] = count
			listed.NoRoom += noRoom
		}, `
			SELECT s.channel_id, CASE WHEN standing = 'watched' AND m.ended_at IS NOT NULL THEN 'over' ELSE standing END AS shown, count(*), count(*) FILTER (WHERE found ->> 'why' = 'no_room')
			FROM channel_streams s LEFT JOIN monitors m ON m.id = s.monitor_id WHERE s.channel_id = ANY (CAST($1 AS uuid[])) GROUP BY s.channel_id, shown`, pq.Array(ids))
	})
	return page, total, err
}

// ChangeChannel implements channels.Store.
func (s *ChannelStore) ChangeChannel(ctx context.Context, id string, change func(*channel.Channel) error) (changed channel.Channel, err error) {
	err = s.db.inTx(ctx, "change channel "+id, func(tx *sqlx.Tx) error {
		if changed, err = readChannel(ctx, tx, id, ` FOR UPDATE OF c`); err != nil {
			return err
		}
		if err := change(&changed); err != nil {
			return err
		}
		config, _, err := encodeChannel(changed)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			UPDATE channels SET callback_url = $2, config = CAST($3 AS jsonb), metadata_text = $4, cookie_jar = $5, next_at = $6, stopped_at = $7, labels = CAST($8 AS jsonb), owner = $9 WHERE id = $1`,
			id, changed.Template.CallbackURL, config, string(changed.Template.Metadata), changed.Template.Jar, changed.Reading.NextAt.UTC(), nullTime(changed.StoppedAt), labels(changed.Template.Labels), changed.Owner)
		return err
	})
	return changed, err
}

// ClaimChannels implements channels.DiscoveryStore.
func (s *ChannelStore) ClaimChannels(ctx context.Context, prefix string, now, until time.Time, limit int) (all []channel.Channel, err error) {
	err = s.db.inTx(ctx, "claim channels", func(tx *sqlx.Tx) error {
		all = nil
		var ids []string
		if err := tx.SelectContext(ctx, &ids, `
			UPDATE channels SET next_at = $2 WHERE id = ANY (ARRAY(
				SELECT id FROM channels WHERE next_at <= $1 AND stopped_at IS NULL AND starts_with(address, $4) ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING id`,
			now.UTC(), until.UTC(), limit, prefix); err != nil || len(ids) == 0 {
			return err
		}
		var rows []channelRow
		if err := tx.SelectContext(ctx, &rows, selectChannels+` WHERE c.id = ANY (CAST($1 AS uuid[])) ORDER BY c.id`, pq.Array(ids)); err != nil {
			return err
		}
		for _, r := range rows {
			c, err := r.toChannel()
			if err != nil {
				logUnreadable(s.db.log, "channels", r.ID, err)
				continue
			}
			all = append(all, c)
		}
		return readStreams(ctx, tx, all)
	})
	return all, err
}

// SaveLook implements channels.DiscoveryStore.
func (s *ChannelStore) SaveLook(ctx context.Context, c channel.Channel, events []channel.Event) error {
	_, reading, err := encodeChannel(c)
	if err != nil {
		return err
	}
	err = s.db.inTx(ctx, "store a look at channel "+c.ID, func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, `
			UPDATE channels SET source_id = $2, handle = $3, title = $4, reading = CAST($5 AS jsonb),
				next_at = CASE WHEN pushed_at IS DISTINCT FROM $7 THEN LEAST(next_at, $6) ELSE $6 END -- pushed during the look
			WHERE id = $1 AND stopped_at IS NULL`,
			c.ID, c.SourceID, c.Handle, c.Title, reading, c.Reading.NextAt.UTC(), nullTime(c.PushedAt))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err
		}
		urls, broadcasts := make([]string, len(c.Streams)), make([]string, len(c.Streams))
		for n, f := range c.Streams {
			urls[n], broadcasts[n] = string(f.URL), f.Broadcast
		}
		if _, err := tx.ExecContext(ctx, `
			DELETE FROM channel_streams WHERE channel_id = $1 AND (stream_url, broadcast) NOT IN (SELECT * FROM unnest(CAST($2 AS text[]), CAST($3 AS text[])))`,
			c.ID, pq.Array(urls), pq.Array(broadcasts)); err != nil {
			return err
		}
		if err := storeFound(ctx, tx, c.ID, c.Streams); err != nil {
			return err
		}
		return s.addEvents(ctx, tx, c, events)
	})
	if e := pq.As(err, pqerror.UniqueViolation); e != nil && e.Constraint == "idx_channels_source" {
		var same string
		if err := s.db.GetContext(ctx, &same, `SELECT id FROM channels WHERE stopped_at IS NULL AND source_id = $1`, c.SourceID); err == nil {
			return duplicateOf(c, same)
		}
	}
	return err
}

// storeFound stores streams of a channel. Those that have not changed cost nothing.
func storeFound(ctx context.Context, tx *sqlx.Tx, channelID string, all []channel.Found) error {
	if len(all) == 0 {
		return nil
	}
	rows, err := json.Marshal(all)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO channel_streams AS s (channel_id, stream_url, broadcast, standing, found, monitor_id, found_at, retry_at, ask_at)
		SELECT $1, f ->> 'stream_url', f ->> 'broadcast', f ->> 'standing', f, f -> 'monitor' ->> 'id', CAST(f ->> 'found_at' AS timestamptz), CAST(f ->> 'retry_at' AS timestamptz), CAST(f ->> 'ask_at' AS timestamptz)
		FROM jsonb_array_elements(CAST($2 AS jsonb)) AS f
		ON CONFLICT (channel_id, stream_url, broadcast) DO UPDATE SET standing = excluded.standing, found = excluded.found, monitor_id = excluded.monitor_id, retry_at = excluded.retry_at, ask_at = excluded.ask_at
		WHERE s.found <> excluded.found`, channelID, string(monitor.SanitizeJSON(rows)))
	return err
}

// WantedStreams implements channels.DiscoveryStore.
func (s *ChannelStore) WantedStreams(ctx context.Context, now time.Time, limit int) ([]channel.Candidate, error) {
	wanted, err := s.candidates(ctx, `s.standing = 'wanted' AND (s.retry_at IS NULL OR s.retry_at <= $1)`, now)
	slices.SortFunc(wanted, channel.Compare)
	return wanted[:min(len(wanted), limit)], err
}

// AskedStreams implements channels.DiscoveryStore.
func (s *ChannelStore) AskedStreams(ctx context.Context, now time.Time, limit int) ([]channel.Candidate, error) {
	return s.candidates(ctx, fmt.Sprintf(`s.ask_at <= $1 ORDER BY s.ask_at LIMIT %d`, limit), now)
}

// candidates reads the streams s of channels that are not stopped, by a condition in which now is $1.
func (s *ChannelStore) candidates(ctx context.Context, condition string, now time.Time) ([]channel.Candidate, error) {
	var rows []struct {
		foundRow

		Active   sql.NullString `db:"active"`
		Watches  sql.NullString `db:"watches"`
		Reserves sql.NullBool   `db:"active_reserved"`
	}
	var of []channelRow
	err := s.db.inSnapshot(ctx, "read streams of channels", func(tx *sqlx.Tx) error {
		rows, of = nil, nil
		if err := tx.SelectContext(ctx, &rows, `
			SELECT f.*, a.id AS active, a.status = 'waiting' AND a.reserved_until IS NOT NULL AND a.place = '' AS active_reserved,
				COALESCE(NULLIF(a.broadcast, ''), (SELECT max(o.broadcast) FROM channel_streams o WHERE o.monitor_id = a.id)) AS watches
			FROM (`+selectFound+`
			WHERE EXISTS (SELECT FROM channels c WHERE c.id = s.channel_id AND c.stopped_at IS NULL) AND `+condition+`) AS f
			LEFT JOIN monitors a ON a.stream_url = f.stream_url AND a.`+activePredicate, now.UTC()); err != nil || len(rows) == 0 {
			return err
		}
		var ids []string
		for _, r := range rows {
			ids = append(ids, r.ChannelID)
		}
		return tx.SelectContext(ctx, &of, selectChannels+` WHERE c.id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids))
	})
	if err != nil {
		return nil, err
	}
	known := map[string]channel.Channel{}
	for _, r := range of {
		if known[r.ID], err = r.toChannel(); err != nil {
			return nil, err
		}
	}
	var all []channel.Candidate
	for _, r := range rows {
		f, err := r.toFound()
		if err != nil {
			return nil, err
		}
		active := channel.Watch{ID: monitor.ID(r.Active.String), Broadcast: r.Watches.String, Reserved: r.Reserves.Bool}
		all = append(all, channel.Candidate{Channel: known[r.ChannelID], Stream: f, Active: active})
	}
	return all, nil
}

// SaveStream implements channels.DiscoveryStore.
func (s *ChannelStore) SaveStream(ctx context.Context, c channel.Channel, f channel.Found, events []channel.Event) error {
	return s.db.inTx(ctx, "store a stream of channel "+c.ID, func(tx *sqlx.Tx) error {
		if err := storeFound(ctx, tx, c.ID, []channel.Found{f}); err != nil {
			return err
		}
		return s.addEvents(ctx, tx, c, events)
	})
}

// giveToChannel makes a monitor one of a channel. The channel is locked, so that a stop finds the monitor.
func giveToChannel(ctx context.Context, tx *sqlx.Tx, id monitor.ID, channelID string) error {
	var stopped bool
	err := tx.GetContext(ctx, &stopped, `SELECT stopped_at IS NOT NULL FROM channels WHERE id = $1 FOR SHARE`, channelID)
	if errors.Is(err, sql.ErrNoRows) || err == nil && stopped {
		return monitor.Errorf(channels.Stopped, "channel %s has been stopped", channelID)
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE monitors SET channel_id = $2 WHERE id = $1`, id, channelID)
	return err
}

// Adopt implements monitors.RegistrationStore.
func (s *ChannelStore) Adopt(ctx context.Context, id monitor.ID, channelID string) (m monitor.Monitor, adopted bool, err error) {
	err = s.db.inTx(ctx, "adopt "+string(id), func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if !locked.status.Active() {
			return monitor.EndedAlready(id, locked.status)
		}
		if m, err = s.db.readMonitor(ctx, tx, id); err != nil {
			return err
		}
		adopted = m.ChannelID != channelID
		if m.ChannelID != "" {
			return nil
		}
		if err := giveToChannel(ctx, tx, id, channelID); err != nil {
			return err
		}
		if err := addRevision(ctx, tx, []monitor.ID{id}); err != nil { // it has the channel's references now
			return err
		}
		m, err = s.db.readMonitor(ctx, tx, id)
		return err
	})
	return m, adopted, err
}

// ExpireChannels deletes events of channels that are older than age, and channels that were stopped before, up to limit of
// each. An active monitor keeps its channel, whose references it has. Monitors expire by themselves.
func (s *ChannelStore) ExpireChannels(ctx context.Context, age time.Duration, limit int) error {
	_, err := s.db.ExecContext(ctx, `
		WITH old AS (DELETE FROM channel_events WHERE id = ANY (ARRAY(
			SELECT id FROM channel_events WHERE created_at < now() - make_interval(secs => $1) LIMIT $2)))
		DELETE FROM channels WHERE id = ANY (ARRAY(
			SELECT id FROM channels c WHERE stopped_at < now() - make_interval(secs => $1)
				AND NOT EXISTS (SELECT FROM monitors m WHERE m.channel_id = c.id AND m.`+activePredicate+`) LIMIT $2))`, age.Seconds(), limit)
	return wrapError(ctx, "delete expired channels", err)
}
