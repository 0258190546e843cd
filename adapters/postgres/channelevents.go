package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// addEvents stores events of a channel, and the deliveries to where routes lead them. A destination that was told that a
// channel cannot be read is told when it can.
func (s *ChannelStore) addEvents(ctx context.Context, tx *sqlx.Tx, c channel.Channel, events []channel.Event) error {
	if len(events) == 0 {
		return nil
	}
	routing, err := s.db.routing.current(ctx, tx)
	if err != nil {
		return err
	}
	for _, e := range events {
		id := uuid.Must(uuid.NewV7()).String()
		body, err := e.Payload(id, c, s.db.zone)
		if err != nil {
			return err
		}
		targets, err := channelTargets(ctx, tx, routing, c, e)
		if err != nil {
			return err
		}
		told := []string{}
		for _, d := range targets {
			told = append(told, d.ID)
		}
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO channel_events (id, channel_id, event_type, body, destinations, created_at) VALUES ($1, $2, $3, $4, CAST($5 AS uuid[]), now())`,
			id, c.ID, e.Type, string(body), pq.Array(told)); err != nil {
			return err
		}
		for _, d := range targets {
			if err := addChannelNotice(ctx, tx, d, id, body, c, e); err != nil {
				return err
			}
		}
	}
	return wakeDispatchers(ctx, tx)
}

// channelTargets returns the destinations that are told of an event.
func channelTargets(ctx context.Context, tx *sqlx.Tx, routing notify.Routing, c channel.Channel, e channel.Event) (all []notify.Destination, err error) {
	if e.Type != event.ChannelReadable {
		for _, t := range routing.ChannelTargets(c.Subject(e), e.At) {
			all = append(all, t.Destination)
		}
		return all, nil
	}
	var told pq.StringArray
	err = tx.GetContext(ctx, &told, `
		SELECT destinations FROM channel_events WHERE channel_id = $1 AND event_type = $2 ORDER BY created_at DESC LIMIT 1`, c.ID, event.ChannelUnreadable)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	for _, id := range told {
		if d, is := routing.Destinations[id]; is && d.GetsChannelEvents() {
			all = append(all, d)
		}
	}
	return all, nil
}

// addChannelNotice adds the delivery of an event of a channel. A webhook gets each by itself. People get those of one type
// that come at about the same time in one message: what cannot be read is often all of them.
func addChannelNotice(ctx context.Context, tx *sqlx.Tx, d notify.Destination, id string, body []byte, c channel.Channel, e channel.Event) error {
	about := message.ChannelNotice{EventID: id, ChannelID: c.ID, EventType: e.Type, Count: 1}
	if d.GetsEvents() {
		about.Body = body
	} else {
		about.Channels = []message.ChannelNews{message.NewsOf(c, e)}
	}
	notice, err := json.Marshal(message.Notice{At: e.At.UTC(), Channel: &about})
	if err != nil {
		return err
	}
	text := string(monitor.SanitizeJSON(notice))
	if d.GetsEvents() {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at) VALUES ($1, $2, CAST($3 AS jsonb), 'pending', now(), now())`,
			uuid.Must(uuid.NewV7()).String(), d.ID, text)
		return err
	}
	result, err := tx.ExecContext(ctx, joinChannelNotice, d.ID, e.Type, text, message.MaxChannelNews)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	pause, apart := notify.ChannelPauses(e.Type)
	_, err = tx.ExecContext(ctx, addFirstChannelNotice, uuid.Must(uuid.NewV7()).String(), d.ID, e.Type, text, pause.Seconds(), apart.Seconds(), event.ChannelUnreadable)
	return err
}

const (
	// joinChannelNotice adds the news of $3 to the message of type $2 that waits at the destination $1, or counts them if
	// it has $4.
	joinChannelNotice = `
	UPDATE deliveries SET notice = jsonb_set(notice, '{Channel}', notice -> 'Channel' || jsonb_build_object(
		'Count', CAST(notice #>> '{Channel,Count}' AS int) + 1,
		'ChannelID', CASE WHEN notice #> '{Channel,ChannelID}' = CAST($3 AS jsonb) #> '{Channel,ChannelID}' THEN notice #>> '{Channel,ChannelID}' ELSE '' END,
		'Channels', CASE WHEN jsonb_array_length(notice #> '{Channel,Channels}') < $4 THEN (notice #> '{Channel,Channels}') || (CAST($3 AS jsonb) #> '{Channel,Channels}') ELSE notice #> '{Channel,Channels}' END))
	WHERE id = (
		SELECT id FROM deliveries
		WHERE destination_id = $1 AND due_at > now() AND state = 'pending' AND tried = 0 AND lease IS NULL AND notice #>> '{Channel,EventType}' = $2
		ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)`

	// addFirstChannelNotice adds a message. It is due $5 seconds from now, and $6 seconds after the last one of its type. It
	// also follows a message of type $7: the trouble whose end it tells.
	addFirstChannelNotice = `
	INSERT INTO deliveries (id, destination_id, notice, state, due_at, round_began_at, created_at)
	SELECT $1, CAST($2 AS uuid), CAST($4 AS jsonb), 'pending', at.due, at.due, now() FROM (
		SELECT GREATEST(now() + make_interval(secs => $5),
			(SELECT max(COALESCE(x.delivered_at, x.due_at)) + make_interval(secs => $6) FROM deliveries x
			 WHERE x.destination_id = CAST($2 AS uuid) AND x.created_at > now() - 2 * make_interval(secs => $6) AND x.notice #>> '{Channel,EventType}' = $3),
			(SELECT max(x.due_at) + interval '1 second' FROM deliveries x
			 WHERE x.destination_id = CAST($2 AS uuid) AND x.due_at > now() AND $3 <> $7 AND x.notice #>> '{Channel,EventType}' = $7)) AS due) AS at`
)

// ChannelEvents implements channels.Store.
func (s *ChannelStore) ChannelEvents(ctx context.Context, id string, limit int) ([]json.RawMessage, error) {
	var bodies []string
	err := s.db.SelectContext(ctx, &bodies, `SELECT body FROM channel_events WHERE channel_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2`, id, limit)
	all := make([]json.RawMessage, len(bodies))
	for n, b := range bodies {
		all[n] = json.RawMessage(b)
	}
	return all, wrapError(ctx, "read the events of channel "+id, err)
}
