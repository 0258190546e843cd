package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// maxDecided is how many threads of a destination one lease decides about.
const maxDecided = 64

// lease is one lease of deliveries, and what was decided in it.
type lease struct {
	db       *database
	routing  notify.Routing
	name     string
	duration time.Duration
	limit    int // of the deliveries
	opinions notify.OpinionPower
	now      time.Time

	incidents map[string]routedIncident   // that threads are about, by ID
	members   map[string][]routedIncident // of storms, by the ID of the storm
	openings  []notify.Opening            // of all incidents that began within the last two StormWindows
	stormOf   map[thread]*notify.Storm    // the open storm that the thread of one of them is in; nil: it is in none
	watched   int                         // streams; 0: it was not read, because too few incidents began

	leased     []leasedDelivery
	more       bool                // more may be due at once
	waits      bool                // more may be due when a delivery has ended
	decided    []decidedRow        // threads of which nothing is sent now
	unreadable []string            // deliveries that cannot be made; no event is among them
	spent      []spentRow          // what the rate limits leave
	ended      []delivery.Delivery // storms of which all incidents are resolved
	storms     []gathered
}

// leasedDelivery is a delivery with what it was decided by.
type leasedDelivery struct {
	delivery.Delivery

	changedAt map[string]time.Time // the incidents that it tells, by ID: when each had changed last
}

// decidedRow is a thread of which nothing is sent now.
type decidedRow struct {
	ID    string     `json:"id"`
	Sends bool       `json:"sends"` // something is to be sent when the destination may get it
	At    *time.Time `json:"at"`    // when there may be something to send; null: after a change

	Dropped string `json:"dropped"` // why a message is not sent at all; empty: none is dropped
}

// spentRow is what the rate limit of a destination leaves.
type spentRow struct {
	ID       string     `json:"id"`
	Tokens   float64    `json:"tokens"`
	TokensAt *time.Time `json:"tokens_at"`
}

// gathered is a storm of a destination that is new, has grown or has changed.
type gathered struct {
	notify.Gathered

	destinationID string
	watched       int
}

// commitSoon lets a commit not wait for the disk. A lease or a routing that a crash of the database undoes is done again. An
// attempt or an action that is stored later is never kept without it.
const commitSoon = `set_config('synchronous_commit', 'off', true)`

// take leases what may be sent to destinations and to callbacks, and stores what else was decided. It decides what is
// told under the lock of each destination: a lease of another gateway passes over it.
func (l *lease) take(ctx context.Context, tx *sqlx.Tx, destinations []string) error {
	*l = lease{db: l.db, routing: l.routing, name: l.name, duration: l.duration, limit: l.limit, opinions: l.opinions}
	if _, err := tx.ExecContext(ctx, `SELECT `+commitSoon); err != nil {
		return err
	}
	var ready []*readyDestination
	if len(destinations) > 0 {
		var locked []string
		if err := tx.SelectContext(ctx, &locked, `SELECT id FROM destinations WHERE id = ANY (CAST($1 AS uuid[])) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`, pq.Array(destinations)); err != nil {
			return err
		}
		l.waits = len(locked) < len(destinations) // for who has locked it: an attempt is being recorded, or another gateway leases
		var err error                             // only a later statement sees all leases of a gateway that had these locks before
		if ready, err = readReady(ctx, tx, l.routing, locked); err != nil {
			return err
		}
	}
	rows, err := l.readDue(ctx, tx, ready)
	if err != nil || len(rows) == 0 {
		return err
	}
	if err := l.readOpenings(ctx, tx, rows); err != nil {
		return err
	}
	of := map[string][]leasableRow{} // by the destination; empty: callbacks
	for _, r := range rows {
		of[r.DestinationID.String] = append(of[r.DestinationID.String], r)
	}
	for _, d := range ready {
		l.takeOf(d, of[d.ID])
	}
	l.takeCallbacks(of[""])
	return l.store(ctx, tx)
}

// leasableRow is a delivery that is due, and locked.
type leasableRow struct {
	ID            string         `db:"id"`
	DestinationID sql.NullString `db:"destination_id"` // NULL: the callback
	CallbackURL   sql.NullString `db:"callback_url"`
	OnFailure     sql.NullString `db:"on_failure"`
	MonitorID     sql.NullString `db:"monitor_id"`
	EventID       sql.NullString `db:"event_id"`
	EventType     sql.NullString `db:"event_type"`
	Body          sql.NullString `db:"body"`
	Sequence      sql.NullInt64  `db:"sequence"`
	IncidentID    sql.NullString `db:"incident_id"`
	Storm         []byte         `db:"storm"`
	StormID       sql.NullString `db:"storm_id"`
	StormOfThread []byte         `db:"storm_of_thread"` // what the storm of StormID keeps
	Notice        []byte         `db:"notice"`
	Told          []byte         `db:"told"`
	Tried         int            `db:"tried"`
	RoundBeganAt  time.Time      `db:"round_began_at"`
	FailingSince  sql.NullTime   `db:"failing_since"`
	AgeSec        float64        `db:"age"`
	Now           time.Time      `db:"now"`
	MayBeSent     bool           `db:"may_be_sent"`
}

// lockDue locks due deliveries to callbacks, by lockDueCallbacks. At each of the destinations $2 it locks up to $4
// threads that are to be decided anew. Then it locks as many due deliveries as may be sent ($3), the oldest first.
const lockDue = `
	WITH ready AS (SELECT * FROM unnest(CAST($2 AS uuid[]), CAST($3 AS int[])) AS r (id, free))
	SELECT x.id FROM ready r CROSS JOIN LATERAL (
		SELECT id FROM deliveries WHERE destination_id = r.id AND changed AND due_at <= now()
		ORDER BY due_at LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED) AS x
	UNION ALL
	SELECT x.id FROM ready r CROSS JOIN LATERAL (
		SELECT id FROM deliveries WHERE destination_id = r.id AND NOT changed AND due_at <= now()
		ORDER BY due_at LIMIT r.free FOR NO KEY UPDATE SKIP LOCKED) AS x
	UNION ALL
	SELECT id FROM (` + lockDueCallbacks + `) AS callbacks`

// readLocked reads the deliveries $1: those to destinations by the time at which they were due, then
// callbacks in the order of their events. The age of a delivery to a callback is that of its event.
const readLocked = `
	SELECT x.id, x.destination_id, m.callback_url, m.config ->> 'on_callback_failure' AS on_failure,
	       x.monitor_id, x.event_id, e.event_type, e.body, x.sequence, x.incident_id, x.storm, x.storm_id,
	       (SELECT s.storm FROM deliveries s WHERE s.id = x.storm_id) AS storm_of_thread,
	       x.notice, x.told, x.tried, x.round_began_at, x.failing_since, clock_timestamp() AS now, ` + mayBeSent + ` AS may_be_sent,
	       EXTRACT(EPOCH FROM clock_timestamp() - CASE WHEN x.destination_id IS NULL THEN e.created_at ELSE x.round_began_at END) AS age
	FROM deliveries x
	LEFT JOIN monitor_events e ON e.id = x.event_id
	LEFT JOIN monitors m ON x.destination_id IS NULL AND m.id = x.monitor_id
	WHERE x.id = ANY (CAST($1 AS uuid[]))
	ORDER BY CASE WHEN x.destination_id IS NOT NULL THEN x.due_at END, x.seq`

// readDue locks and reads what is due at callbacks and at destinations, with the incidents that threads are about.
func (l *lease) readDue(ctx context.Context, tx *sqlx.Tx, ready []*readyDestination) (rows []leasableRow, err error) {
	var locked []string
	ids, free := make([]string, len(ready)), make([]int64, len(ready))
	for n, d := range ready {
		ids[n], free[n] = d.ID, int64(d.free)
	}
	if err := tx.SelectContext(ctx, &locked, lockDue, l.limit, pq.Array(ids), pq.Array(free), maxDecided); err != nil || len(locked) == 0 {
		return nil, err
	}
	if err := tx.SelectContext(ctx, &rows, readLocked, pq.Array(locked)); err != nil || len(rows) == 0 {
		return nil, err
	}
	l.now = rows[0].Now.UTC()
	var behind, threads []string
	for _, r := range rows {
		switch {
		case !r.MayBeSent:
			behind = append(behind, r.ID)
		case r.IncidentID.Valid || r.Storm != nil:
			threads = append(threads, r.ID)
		}
	}
	if len(behind) > 0 {
		var placed []string
		if err := tx.SelectContext(ctx, &placed, placeDue, pq.Array(behind)); err != nil {
			return nil, err
		}
		l.more, l.waits = len(placed) > 0, l.waits || len(placed) < len(behind)
		rows = slices.DeleteFunc(rows, func(r leasableRow) bool { return !r.MayBeSent })
	}
	if len(threads) == 0 {
		return rows, nil
	}
	incidents, _, err := l.db.readRoutedIncidents(ctx, tx, selectIncidentsOf, pq.Array(threads))
	l.incidents, l.members = map[string]routedIncident{}, map[string][]routedIncident{}
	for _, i := range incidents {
		l.incidents[i.ID] = i
		l.members[i.row.StormID.String] = append(l.members[i.row.StormID.String], i)
	}
	return rows, err
}

// thread names the thread of an incident at a destination.
type thread struct{ incidentID, destinationID string }

// mayJoinStorm reports whether a thread is about an incident that began after a time, and is not yet in the open storm of
// its destination. An opening that a storm has taken is in it for good.
func (l *lease) mayJoinStorm(r leasableRow, since time.Time) bool {
	i, is := l.incidents[r.IncidentID.String]
	if !is || i.State != incident.Open || !i.BeganAt().After(since) {
		return false
	}
	storm, err := readOpenStorm(r.StormID, r.StormOfThread)
	return err != nil || storm == nil || i.BeganAt().Sub(storm.First.At) >= notify.StormWindow
}

// If one of the due threads may be of a storm, readOpenings reads the incidents that have begun lately, with the
// storms of their threads. Once a storm has taken its incidents, they are told without reading each other again.
func (l *lease) readOpenings(ctx context.Context, tx *sqlx.Tx, rows []leasableRow) error {
	since := l.now.Add(-2 * notify.StormWindow)
	if !slices.ContainsFunc(rows, func(r leasableRow) bool { return l.mayJoinStorm(r, since) }) {
		return nil
	}
	incidents, _, err := l.db.readRoutedIncidents(ctx, tx, selectRoutedIncidents+` WHERE i.state = 'open' AND i.updated_at > $1`, since)
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(incidents))
	for _, i := range incidents {
		if opening, lasts := notify.OpeningOf(l.opinions.Advise(i.Incident, l.now).Told, l.now); lasts && opening.At.After(since) {
			l.openings, ids = append(l.openings, opening), append(ids, i.ID)
		}
	}
	if len(ids) < notify.StormStreams {
		l.openings = nil
		return nil
	}
	var threads []struct {
		IncidentID    string         `db:"incident_id"`
		DestinationID string         `db:"destination_id"`
		StormID       sql.NullString `db:"storm_id"`
		Storm         []byte         `db:"storm"`
	}
	if err := tx.SelectContext(ctx, &threads, `
		SELECT x.incident_id, x.destination_id, x.storm_id, s.storm FROM deliveries x LEFT JOIN deliveries s ON s.id = x.storm_id
		WHERE x.incident_id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids)); err != nil {
		return err
	}
	l.stormOf = map[thread]*notify.Storm{}
	for _, r := range threads {
		storm, err := readOpenStorm(r.StormID, r.Storm)
		if err != nil {
			return err
		}
		l.stormOf[thread{r.IncidentID, r.DestinationID}] = storm
	}
	return tx.GetContext(ctx, &l.watched, countActive)
}

// takeOf leases what may be sent to a destination, and decides what else follows there.
func (l *lease) takeOf(d *readyDestination, rows []leasableRow) {
	due := notify.Due{Now: l.now, Destination: d.destination, Routing: l.routing, Watched: l.watched, Opinions: l.opinions, Openings: slices.Clone(l.openings)}
	for n, o := range due.Openings {
		storm, told := l.stormOf[thread{o.IncidentID, d.ID}]
		due.Openings[n].Storm, due.Openings[n].Elsewhere = storm, !told
	}
	threads := map[string]int{} // places in due.Threads, by the ID of the delivery
	deliveries := make([]leasedDelivery, 0, len(rows))
	for _, r := range rows {
		one, thread, err := l.describe(d, r)
		if err != nil {
			l.db.log.Error("a delivery cannot be read and is not made: report the defect with error", "delivery_id", r.ID, "destination_id", d.ID, "error", err)
			l.unreadable = append(l.unreadable, r.ID)
			continue
		}
		if thread != nil {
			threads[r.ID] = len(due.Threads)
			due.Threads = append(due.Threads, *thread)
		}
		deliveries = append(deliveries, one)
	}
	plan := due.Plan()
	taken := 0
	for _, one := range deliveries {
		at, isThread := threads[one.ID]
		if isThread {
			one.Message = plan.Messages[at]
			if one.Incident != nil {
				one.Incident.Incident = one.Message.Told
			}
		}
		switch sends := !isThread || one.Message.Kind != ""; {
		case sends && taken < d.free && len(l.leased) < l.limit:
			l.leased = append(l.leased, one)
			taken++
		case sends && isThread: // it waits for its turn
			l.decided = append(l.decided, decidedRow{ID: one.ID, Sends: true})
		case !sends:
			l.decided = append(l.decided, decidedRow{ID: one.ID, At: timeOrNull(one.Message.At), Dropped: one.Message.Dropped})
		}
		if one.Storm != nil && !one.Message.Situation.Open {
			l.ended = append(l.ended, one.Delivery)
		}
	}
	// What was read and not taken has left its place to others.
	l.more = l.more || len(rows) >= maxDecided || len(l.leased) == l.limit || taken < d.free && len(rows) >= d.free
	l.waits = l.waits || taken == d.free
	if taken > 0 && d.channel.RateLimit != (notify.RateLimit{}) {
		l.spent = append(l.spent, spentRow{d.ID, d.left.Tokens - float64(taken), timeOrNull(d.left.TokensAt)})
	}
	for _, g := range plan.Storms {
		l.storms = append(l.storms, gathered{g, d.ID, l.watched})
	}
}

// takeCallbacks leases callbacks, as many as may be leased beside what was taken.
func (l *lease) takeCallbacks(rows []leasableRow) {
	for _, r := range rows[:min(len(rows), l.limit-len(l.leased))] {
		one := l.newDelivery(r)
		one.Callback, one.Policy = monitor.CallbackURL(r.CallbackURL.String), notify.CallbackPolicy(monitor.CallbackFailure(r.OnFailure.String))
		l.leased = append(l.leased, leasedDelivery{Delivery: one})
	}
	l.more = l.more || len(rows) > 0 && len(l.leased) == l.limit
}

// storeTaken leases the deliveries $1 under the lease $2 for $3 seconds.
const storeTaken = `
	UPDATE deliveries SET lease = $2, due_at = now() + make_interval(secs => $3), changed = false WHERE id = ANY (CAST($1 AS uuid[]))`

// storeDecided stores the decisions about the threads $1 of which nothing is sent now.
const storeDecided = `
	UPDATE deliveries x SET
		changed = false,
		state = CASE WHEN n.sends OR n.at IS NOT NULL THEN 'pending' WHEN n.dropped <> '' THEN 'dropped' WHEN x.told IS NULL THEN 'idle' ELSE 'delivered' END,
		due_at = CASE WHEN n.sends THEN x.due_at ELSE n.at END,
		tried = CASE WHEN n.sends THEN x.tried ELSE 0 END, failing_since = CASE WHEN n.sends THEN x.failing_since END,
		last_error = CASE WHEN n.dropped <> '' THEN n.dropped ELSE x.last_error END,
		round_began_at = COALESCE(n.at, x.round_began_at), lease = CASE WHEN n.sends THEN x.lease END
	FROM (SELECT * FROM json_to_recordset($1) AS rows (id uuid, sends bool, at timestamptz, dropped text) LIMIT $2) AS n WHERE x.id = n.id`

// storeSpent stores what the rate limits of the destinations $1 leave.
const storeSpent = `
	UPDATE destinations d SET tokens = n.tokens, tokens_at = n.tokens_at
	FROM (SELECT * FROM json_to_recordset($1) AS rows (id uuid, tokens float8, tokens_at timestamptz) LIMIT $2) AS n WHERE d.id = n.id`

// store stores the leases and the other decisions.
func (l *lease) store(ctx context.Context, tx *sqlx.Tx) error {
	if err := execRows(ctx, tx, storeDecided, l.decided); err != nil {
		return err
	}
	if len(l.unreadable) > 0 {
		if _, err := tx.ExecContext(ctx, `
			UPDATE deliveries SET state = 'failed', last_error = 'the gateway cannot read it', due_at = NULL, changed = false
			WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(l.unreadable)); err != nil {
			return err
		}
	}
	if len(l.leased) > 0 {
		ids := make([]string, 0, len(l.leased))
		for _, d := range l.leased {
			ids = append(ids, d.ID)
		}
		if _, err := tx.ExecContext(ctx, storeTaken, pq.Array(ids), l.name, l.duration.Seconds()); err != nil {
			return err
		}
	}
	if err := execRows(ctx, tx, storeSpent, l.spent); err != nil {
		return err
	}
	for _, d := range l.ended {
		if err := endStorm(ctx, tx, d.ID, d.Message.Situation.ResolvedAt); err != nil {
			return err
		}
	}
	for _, g := range l.storms {
		if err := l.storeStorm(ctx, tx, g); err != nil {
			return err
		}
	}
	return nil
}

// storeStorm stores a storm of a destination that is new, has grown or has changed. Its own thread tells
// it after a pause: its incidents come within seconds. A thread that another gateway has
// locked joins at its own next lease.
func (l *lease) storeStorm(ctx context.Context, tx *sqlx.Tx, g gathered) error {
	dueAt := l.now.Add(notify.StormPause)
	if g.StormID == "" {
		g.StormID = uuid.Must(uuid.NewV7()).String()
		storm, err := json.Marshal(storedStorm{OpenedAt: l.now, FirstAt: g.First.At, Condition: g.First.Condition, Severity: g.First.Severity, Watched: g.watched})
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO deliveries (id, destination_id, storm, state, changed, due_at, round_began_at, created_at) VALUES ($1, $2, CAST($3 AS jsonb), 'pending', true, $4, $4, now())`,
			g.StormID, g.destinationID, string(storm), dueAt); err != nil {
			return err
		}
	} else if _, err := tx.ExecContext(ctx, `
		UPDATE deliveries x SET `+wakeColumns(`LEAST($3, CASE WHEN x.state = 'pending' THEN x.due_at END)`)+`,
			storm = CASE WHEN CAST(x.storm ->> 'watched' AS int) < $2 THEN jsonb_set(x.storm, '{watched}', to_jsonb(CAST($2 AS int))) ELSE x.storm END
		WHERE x.id = $1`, g.StormID, g.watched, dueAt); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE deliveries SET storm_id = $1 WHERE id = ANY (ARRAY(
			SELECT id FROM deliveries WHERE destination_id = $2 AND incident_id = ANY (CAST($3 AS uuid[])) FOR NO KEY UPDATE SKIP LOCKED))`,
		g.StormID, g.destinationID, pq.Array(g.IncidentIDs))
	return err
}

// endStorm stores that all incidents of a storm are resolved. What comes back is told by itself.
func endStorm(ctx context.Context, tx *sqlx.Tx, id string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE deliveries SET storm = jsonb_set(storm, '{resolved_at}', to_jsonb(CAST($2 AS text))) WHERE id = $1 AND NOT storm ? 'resolved_at'`, id, at.UTC().Format(time.RFC3339Nano))
	return err
}

// wakeColumns makes a thread, a row x of deliveries, due at a time, in a new round. One that has been leased or is being
// retried keeps its time: its retry tells the change, or its success makes the thread due. So it does after the
// gateway that leased it has died. Its message may have arrived, and only one of the same round has the same name.
func wakeColumns(at string) string {
	const kept = `(x.state = 'pending' AND (x.tried > 0 OR x.lease IS NOT NULL))`
	unlessKept := func(column, value string) string {
		return column + ` = CASE WHEN ` + kept + ` THEN x.` + column + ` ELSE ` + value + ` END`
	}
	return `changed = true, state = 'pending', ` + strings.Join([]string{
		unlessKept("tried", "0"), unlessKept("failing_since", "NULL"), unlessKept("due_at", at), unlessKept("round_began_at", at),
	}, ", ")
}

// leaveOutdated returns what was leased, without the messages whose incidents have changed since it was decided what
// they say: it ends their leases. Whoever waits for the deliveries in flight after a change, as an
// acknowledgement does, sees each that was decided before.
func (l *lease) leaveOutdated(ctx context.Context) (told []delivery.Delivery, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	decidedBy := map[string]time.Time{}
	for _, d := range l.leased {
		maps.Copy(decidedBy, d.changedAt)
	}
	changed := map[string]bool{}
	if len(decidedBy) > 0 {
		var rows []struct {
			ID        string    `db:"id"`
			UpdatedAt time.Time `db:"updated_at"`
		}
		if err := l.db.SelectContext(ctx, &rows, `SELECT id, updated_at FROM incidents WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(slices.Collect(maps.Keys(decidedBy)))); err != nil {
			return nil, err
		}
		for _, r := range rows {
			changed[r.ID] = !r.UpdatedAt.Equal(decidedBy[r.ID])
		}
	}
	var outdated []string
	for _, d := range l.leased {
		if slices.ContainsFunc(slices.Collect(maps.Keys(d.changedAt)), func(id string) bool { return changed[id] }) {
			outdated = append(outdated, d.ID)
		} else {
			told = append(told, d.Delivery)
		}
	}
	if len(outdated) > 0 { // it locks them in the order of storeThreads
		_, err = l.db.ExecContext(ctx, `
			UPDATE deliveries SET lease = NULL, due_at = now(), changed = true WHERE id = ANY (ARRAY(
				SELECT id FROM deliveries WHERE id = ANY (CAST($1 AS uuid[])) AND lease = $2 ORDER BY id FOR NO KEY UPDATE))`, pq.Array(outdated), l.name)
	}
	return told, err
}

// newDelivery returns a delivery that is leased, with its event.
func (l *lease) newDelivery(r leasableRow) delivery.Delivery {
	d := delivery.Delivery{
		ID: r.ID, LeaseID: l.name, Tried: r.Tried, RoundBeganAt: r.RoundBeganAt.UTC(), FailingSince: timeOrZero(r.FailingSince),
		Age: max(time.Duration(r.AgeSec*float64(time.Second)), 0), Now: l.now,
	}
	if r.EventID.Valid {
		d.Event = &delivery.Event{
			EventID: r.EventID.String, EventType: event.Type(r.EventType.String), MonitorID: monitor.ID(r.MonitorID.String),
			Body: []byte(r.Body.String), Sequence: r.Sequence.Int64,
		}
	}
	return d
}

// describe returns a delivery with what it is about, and the thread of one about an incident or a storm.
func (l *lease) describe(d *readyDestination, r leasableRow) (one leasedDelivery, t *notify.Thread, err error) {
	one.Delivery = l.newDelivery(r)
	one.Destination, one.Policy = d.destination, d.channel.Policy()
	if r.Told != nil {
		if err := json.Unmarshal(r.Told, &one.Notified); err != nil {
			return one, nil, fmt.Errorf("what was told: %w", err)
		}
	}
	switch {
	case one.Event != nil:
	case r.IncidentID.Valid:
		i, is := l.incidents[r.IncidentID.String]
		if !is {
			return one, nil, fmt.Errorf("incident %s is missing", r.IncidentID.String)
		}
		storm, err := readOpenStorm(r.StormID, r.StormOfThread)
		if err != nil {
			return one, nil, err
		}
		t = &notify.Thread{Notified: one.Notified, Incident: &i.StreamIncident, Storm: storm}
		one.changedAt = map[string]time.Time{i.ID: i.row.UpdatedAt}
		one.Incident = &i.StreamIncident
	case r.Storm != nil:
		storm, err := readStorm(r.ID, r.Storm)
		if err != nil {
			return one, nil, err
		}
		one.changedAt = map[string]time.Time{}
		for _, i := range l.members[r.ID] {
			storm.Incidents = append(storm.Incidents, i.StreamIncident)
			one.changedAt[i.ID] = i.row.UpdatedAt
		}
		t = &notify.Thread{Notified: one.Notified, Storm: &storm}
		one.Storm = &message.Storm{Streams: storm.Streams(), Live: storm.Among(), Condition: storm.First.Condition, BlindSpot: storm.BlindSpot()}
	default:
		one.Notice = &message.Notice{}
		err = json.Unmarshal(r.Notice, one.Notice)
	}
	return one, t, err
}
