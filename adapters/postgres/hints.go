package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/hint"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// HintStore keeps hints, and reads what they follow from.
type HintStore struct{ db *database }

// holdingHints joins the hints of each monitor m that hold, as JSON; NULL without any. The few that hold are read
// once. A subquery for each monitor would cost a list of 1,000 a millisecond.
const holdingHints = ` LEFT JOIN (
	SELECT monitor_id, json_agg(to_json(h) ORDER BY since, kind) AS hints FROM hints h WHERE ended_at IS NULL GROUP BY monitor_id) AS holding ON holding.monitor_id = m.id`

// hintsOfIncident is the column of the hints that are shown with an incident i, as JSON; NULL without any.
var hintsOfIncident = fmt.Sprintf(`(
	SELECT json_agg(to_json(h) ORDER BY h.since, h.kind) FROM (
		SELECT * FROM hints h WHERE h.monitor_id = i.monitor_id AND h.since <= COALESCE(i.resolved_at, now())
			AND (h.ended_at IS NULL OR h.ended_at >= i.started_at - make_interval(secs => %d))
		ORDER BY h.since DESC LIMIT %d) AS h) AS hints`, int(incidents.HintsBefore.Seconds()), incidents.MaxHints)

// HintFacts implements hints.Store.
func (s *HintStore) HintFacts(ctx context.Context, now time.Time) (facts []hint.Facts, stored []hint.MonitorHint, err error) {
	err = s.db.inSnapshot(ctx, "read what hints follow from", func(tx *sqlx.Tx) error {
		f := hintFacts{now: now, places: map[monitor.ID]int{}}
		for _, read := range []func(context.Context, *sqlx.Tx) error{f.readMonitors, f.readMinutes, f.readOnsets, f.readEarlier} {
			if err := read(ctx, tx); err != nil {
				return err
			}
		}
		facts = f.all
		var row hint.MonitorHint
		var numbers []byte
		return eachRow(ctx, tx, []any{&row.MonitorID, &row.Kind, &row.Condition, &row.Since, &numbers}, func() {
			row.Numbers = nil
			_ = json.Unmarshal(numbers, &row.Numbers) // else they differ, and are stored anew
			stored = append(stored, row)
		}, `SELECT monitor_id, kind, condition, since, numbers FROM hints WHERE ended_at IS NULL`)
	})
	return facts, stored, err
}

// hintFacts collects the facts of all active monitors.
type hintFacts struct {
	now    time.Time
	all    []hint.Facts
	places map[monitor.ID]int // in all

	measured []string // monitors that are on air, whose minutes are read
	waiting  []string // monitors that start within hint.AheadOfStart, whose channels' earlier streams are read
}

func (f *hintFacts) readMonitors(ctx context.Context, tx *sqlx.Tx) error {
	var one hint.Facts
	var status monitor.Status
	var scheduled sql.NullTime
	return eachRow(ctx, tx, []any{&one.MonitorID, &status, &one.SilenceDB, &scheduled}, func() {
		one.ScheduledStart = timeOrZero(scheduled)
		switch {
		case status == monitor.Monitoring:
			one.ScheduledStart = time.Time{}
			f.measured = append(f.measured, string(one.MonitorID))
		case scheduled.Valid && one.ScheduledStart.Sub(f.now) <= hint.AheadOfStart:
			f.waiting = append(f.waiting, string(one.MonitorID))
		}
		f.places[one.MonitorID] = len(f.all)
		f.all = append(f.all, one)
	}, `
		SELECT id, status, COALESCE(CAST(config ->> 'silence_db_threshold' AS float8), 0), CAST(config ->> 'scheduled_start_time' AS timestamptz)
		FROM monitors WHERE `+activePredicate)
}

// readMinutes reads the sound levels of the last minutes. Beside them nothing of a minute is read.
func (f *hintFacts) readMinutes(ctx context.Context, tx *sqlx.Tx) error {
	var id monitor.ID
	var m monitor.Minute
	return eachRow(ctx, tx, []any{&id, &m.At, &m.Level.Min, &m.Level.Mean, &m.Level.Max, &m.Level.N}, func() {
		one := &f.all[f.places[id]]
		one.Minutes = append(one.Minutes, m)
	}, `
		SELECT monitor_id, minute, level_min, level_mean, level_max, level_n FROM history_minutes
		WHERE monitor_id = ANY ($1) AND minute >= $2 AND level_n > 0`, pq.Array(f.measured), f.now.Add(-hint.MinutesRead).UTC())
}

// readOnsets reads the onsets of the conditions of incidents that go on, or were resolved within
// hint.RecurringWithin. It leaves out incidents that a person has labelled false positives.
func (f *hintFacts) readOnsets(ctx context.Context, tx *sqlx.Tx) error {
	var id monitor.ID
	var name incident.Name
	var onset time.Time
	return eachRow(ctx, tx, []any{&id, &name, &onset}, func() {
		at, active := f.places[id]
		if !active {
			return
		}
		one := &f.all[at]
		if one.Onsets == nil {
			one.Onsets = map[incident.Name][]time.Time{}
		}
		one.Onsets[name] = append(one.Onsets[name], onset)
	}, `
		SELECT i.monitor_id, c ->> 'condition', CAST(s ->> 'started_at' AS timestamptz)
		FROM (SELECT * FROM incidents i WHERE `+goingOn+`
		      UNION ALL
		      SELECT * FROM incidents i WHERE i.state = 'resolved' AND i.resolved_at > $1 AND i.due_at IS NULL) AS i
		CROSS JOIN LATERAL jsonb_path_query(i.conditions, '$[*]') AS c CROSS JOIN LATERAL jsonb_path_query(c, '$.spans[*]') AS s
		WHERE i.false_positive IS NOT TRUE AND CAST(s ->> 'started_at' AS timestamptz) > $1`, f.now.Add(-hint.RecurringWithin).UTC())
}

// earlierStarts reads the newest $3 streams of the channels of the monitors $1 that have ended since $2, each with
// the data of its first stream.started. One that was registered after its planned start is left out: when it
// really started is not known.
const earlierStarts = `
	SELECT w.id, p.stream_url, s.payload -> 'data' ->> 'scheduled_start_time', s.payload -> 'data' ->> 'started_at'
	FROM monitors w
	CROSS JOIN LATERAL (
		SELECT p.id, p.stream_url, p.ended_at FROM monitors p
		WHERE left(p.metadata ->> 'channel_name', 100) = left(w.metadata ->> 'channel_name', 100) AND p.metadata ->> 'channel_name' = w.metadata ->> 'channel_name'
		  AND p.ended_at > $2 AND p.config ->> 'scheduled_start_time' IS NOT NULL AND p.created_at <= CAST(p.config ->> 'scheduled_start_time' AS timestamptz)
		ORDER BY left(p.metadata ->> 'channel_name', 100) DESC, p.ended_at DESC LIMIT $3) AS p
	CROSS JOIN LATERAL (
		SELECT payload FROM monitor_events WHERE monitor_id = p.id AND event_type = $4 ORDER BY monitor_id, created_at, seq LIMIT 1) AS s
	WHERE w.id = ANY ($1) AND w.metadata ->> 'channel_name' <> ''
	ORDER BY w.id, p.ended_at DESC`

func (f *hintFacts) readEarlier(ctx context.Context, tx *sqlx.Tx) error {
	if len(f.waiting) == 0 {
		return nil
	}
	var id monitor.ID
	var stream monitor.StreamURL
	var scheduled, started sql.NullString
	return eachRow(ctx, tx, []any{&id, &stream, &scheduled, &started}, func() {
		planned, err := time.Parse(time.RFC3339Nano, scheduled.String)
		actual, err2 := time.Parse(time.RFC3339Nano, started.String)
		if err == nil && err2 == nil {
			one := &f.all[f.places[id]]
			one.Earlier = append(one.Earlier, hint.Start{Stream: stream, Scheduled: planned, Actual: actual})
		}
	}, earlierStarts, pq.Array(f.waiting), f.now.Add(-hint.EarlierWithin).UTC(), hint.MaxEarlier, event.StreamStarted)
}

// hintRows are hints as the rows n of an argument.
const hintRows = `json_to_recordset($1) AS n (monitor_id text, kind text, condition text, since timestamptz, numbers jsonb)`

// changeHint changes the hint h that holds of each row n.
const changeHint = ` FROM ` + hintRows + ` WHERE h.monitor_id = n.monitor_id AND h.kind = n.kind AND h.condition = COALESCE(n.condition, '') AND h.ended_at IS NULL
	RETURNING h.monitor_id, h.kind, h.condition`

// The statements that change hints. A hint that another gateway has stored meanwhile stays as it is.
const (
	beginHints = `
		INSERT INTO hints (monitor_id, kind, condition, since, numbers)
		SELECT monitor_id, kind, COALESCE(condition, ''), since, numbers FROM ` + hintRows + ` ORDER BY monitor_id, kind, condition
		ON CONFLICT (monitor_id, kind, condition) WHERE ended_at IS NULL DO NOTHING RETURNING monitor_id, kind, condition`
	renewHints = `UPDATE hints h SET numbers = n.numbers` + changeHint
	endHints   = `UPDATE hints h SET ended_at = GREATEST(now(), h.since)` + changeHint
)

// ChangeHints implements hints.Store.
func (s *HintStore) ChangeHints(ctx context.Context, c hint.Changes) error {
	return s.db.inTx(ctx, "store hints", func(tx *sqlx.Tx) error {
		begun, err := storeHints(ctx, tx, beginHints, c.Begun)
		if err != nil {
			return err
		}
		renewed, err := storeHints(ctx, tx, renewHints, c.Changed)
		if err != nil {
			return err
		}
		ended, err := storeHints(ctx, tx, endHints, c.Ended)
		if err != nil {
			return err
		}
		if err := s.addNotices(ctx, tx, begun); err != nil {
			return err
		}
		var changes []feedChange
		for _, h := range slices.Concat(begun, renewed, ended) {
			if change := monitorChange(h.MonitorID); !slices.Contains(changes, change) {
				changes = append(changes, change)
			}
		}
		return addToFeed(ctx, tx, changes...)
	})
}

// storeHints runs a statement on hints, and returns those that it has changed.
func storeHints(ctx context.Context, tx *sqlx.Tx, statement string, all []hint.MonitorHint) ([]hint.MonitorHint, error) {
	if len(all) == 0 {
		return nil, nil
	}
	rows, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	var changed []hint.MonitorHint
	var row hint.MonitorHint
	err = eachRow(ctx, tx, []any{&row.MonitorID, &row.Kind, &row.Condition}, func() {
		is := func(h hint.MonitorHint) bool { return h.MonitorID == row.MonitorID && h.Same(row.Hint) }
		changed = append(changed, all[slices.IndexFunc(all, is)])
	}, statement, string(rows))
	return changed, err
}

// newNotice is a new row of deliveries: a message about a hint.
type newNotice struct {
	ID            string         `json:"id"`
	DestinationID string         `json:"destination_id"`
	RouteID       string         `json:"route_id"`
	MonitorID     monitor.ID     `json:"monitor_id"`
	Notice        message.Notice `json:"notice"`
}

// addNotices adds the deliveries of the messages about hints that have begun, where routes ask for them.
func (s *HintStore) addNotices(ctx context.Context, tx *sqlx.Tx, begun []hint.MonitorHint) error {
	if len(begun) == 0 {
		return nil
	}
	routing, err := s.db.routing.current(ctx, tx)
	if err != nil || !slices.ContainsFunc(routing.Routes, func(r notify.Route) bool { return len(r.Match.Hints) > 0 }) {
		return err
	}
	var ids []string
	for _, h := range begun {
		ids = append(ids, string(h.MonitorID))
	}
	var rows []struct {
		ID        monitor.ID        `db:"id"`
		Number    int               `db:"number"`
		StreamURL monitor.StreamURL `db:"stream_url"`
		Metadata  sql.NullString    `db:"metadata_text"`
		Labels    labels            `db:"labels"`
		Now       time.Time         `db:"now"`
	}
	if err := tx.SelectContext(ctx, &rows, `SELECT id, number, stream_url, metadata_text, labels, clock_timestamp() AS now FROM monitors WHERE id = ANY ($1)`, pq.Array(ids)); err != nil {
		return err
	}
	var notices []newNotice
	for _, h := range begun {
		for _, m := range rows {
			if m.ID != h.MonitorID {
				continue
			}
			metadata := notify.FlattenMetadata([]byte(m.Metadata.String))
			subject := notify.Subject{Hint: h.Kind, MonitorID: m.ID, Metadata: metadata, Labels: monitor.Labels(m.Labels)}
			if h.Condition != "" {
				subject.Conditions = []incident.Name{h.Condition}
			}
			for _, to := range routing.HintTargets(subject, m.Now) {
				notices = append(notices, newNotice{uuid.Must(uuid.NewV7()).String(), to.Destination.ID, to.Route.ID, m.ID, message.Notice{At: h.Since.UTC(), Hint: &message.Hint{
					Hint: h.Hint, MonitorID: m.ID, Number: m.Number, StreamURL: m.StreamURL, ChannelName: metadata["channel_name"], StreamTitle: metadata["stream_title"],
				}}})
			}
		}
	}
	if len(notices) == 0 {
		return nil
	}
	encoded, err := json.Marshal(notices)
	if err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, `
		INSERT INTO deliveries (id, destination_id, route_id, monitor_id, notice, state, due_at, created_at)
		SELECT id, destination_id, route_id, monitor_id, notice, 'pending', now(), now()
		FROM json_to_recordset($1) AS n (id uuid, destination_id uuid, route_id uuid, monitor_id text, notice jsonb)`, string(monitor.SanitizeJSON(encoded))); err != nil {
		return err
	}
	return wakeDispatchers(ctx, tx)
}
