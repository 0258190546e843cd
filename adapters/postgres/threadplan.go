package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// lastsLong is the age from which the first message about an incident can wait. Such messages
// leave room for those about new incidents.
const lastsLong = time.Hour

// storedThread is a thread of an open incident.
type storedThread struct {
	ID            string       `db:"id"`
	IncidentID    string       `db:"incident_id"`
	DestinationID string       `db:"destination_id"`
	State         string       `db:"state"`
	DueAt         sql.NullTime `db:"due_at"`
	Told          []byte       `db:"told"`
	KeepsItsTime  bool         `db:"keeps_its_time"`
}

func readThreads(ctx context.Context, tx *sqlx.Tx, incidents []routedIncident) (threads []storedThread, err error) {
	ids := make([]string, 0, len(incidents))
	for _, i := range incidents {
		ids = append(ids, i.ID)
	}
	err = tx.SelectContext(ctx, &threads, `
		SELECT x.id, x.incident_id, x.destination_id, x.state, x.due_at, x.told, `+isInFlightOrRetried+` AS keeps_its_time
		FROM deliveries x WHERE x.incident_id = ANY (CAST($1 AS uuid[])) ORDER BY x.id`, pq.Array(ids))
	return threads, err
}

// threadPlan says when the threads of open incidents are due by a routing.
type threadPlan struct {
	routing   notify.Routing
	now       time.Time
	incidents map[string]routedIncident
	storms    map[string]stormWithIncidents // the open ones that they are in, by ID
	behind    map[string]time.Duration      // by destination: when the next message about an incident that lasts long is due
	woken     []wokenThread
}

// wokenThread is a thread that is due at a time, or was due before.
type wokenThread struct {
	ID    string    `json:"id"`
	DueAt time.Time `json:"due_at"`
}

func newThreadPlan(routing notify.Routing, now time.Time, incidents []routedIncident, storms map[string]stormWithIncidents) *threadPlan {
	p := &threadPlan{routing: routing, now: now, storms: storms, incidents: map[string]routedIncident{}, behind: map[string]time.Duration{}}
	for _, i := range incidents {
		p.incidents[i.ID] = i
	}
	return p
}

// wake adds the threads that have something to tell before they are due. One that is in flight
// or being retried is always added: what it will have told is not known yet.
func (p *threadPlan) wake(threads []storedThread) {
	for _, t := range threads {
		i, d := p.incidents[t.IncidentID], p.routing.Destinations[t.DestinationID]
		var told notify.Notified
		if t.Told != nil && json.Unmarshal(t.Told, &told) != nil {
			continue
		}
		step := notify.Next(p.now, notify.SituationOf(i.Incident), told, i.policy(d, p.routing, p.now, p.storms))
		at := step.At
		switch {
		case t.KeepsItsTime || step.Kind != "" && told.Opened:
			at = p.now
		case step.Kind != "":
			at = p.firstAt(i, d)
		case at.IsZero():
			continue
		}
		if t.KeepsItsTime || t.State != "pending" || t.DueAt.Time.After(at.Add(time.Second)) {
			p.woken = append(p.woken, wokenThread{t.ID, at})
		}
	}
}

// missing returns the new deliveries that are no stored threads.
func (p *threadPlan) missing(rows []newDelivery, threads []storedThread) (missing []newDelivery) {
	type place struct{ incident, destination string }
	stored := map[place]bool{}
	for _, t := range threads {
		stored[place{t.IncidentID, t.DestinationID}] = true
	}
	for _, r := range rows {
		if stored[place{r.IncidentID, r.DestinationID}] {
			continue
		}
		if i, is := p.incidents[r.IncidentID]; is && r.DueAt != nil && !r.DueAt.After(p.now) {
			r.DueAt = timeOrNull(p.firstAt(i, p.routing.Destinations[r.DestinationID]))
		}
		missing = append(missing, r)
	}
	return missing
}

// firstAt returns when a destination is told first of an incident. Those that last long are
// told one after the other, and leave half of the rate limit to new ones.
func (p *threadPlan) firstAt(i routedIncident, d notify.Destination) time.Time {
	if p.now.Sub(i.OpenedAt) < lastsLong {
		return p.now
	}
	at := p.now.Add(p.behind[d.ID])
	channel, _ := notify.ChannelOf(d.Kind)
	p.behind[d.ID] += max(2*channel.RateLimit.Interval, time.Second)
	return at
}

// store stores when the woken threads are due. A report may have woken one meanwhile: none
// is due later than before.
func (p *threadPlan) store(ctx context.Context, tx *sqlx.Tx) error {
	if len(p.woken) == 0 {
		return nil
	}
	woken, err := json.Marshal(p.woken)
	if err != nil {
		return err
	}
	const wakes = `LEAST(n.due_at, CASE WHEN x.state = 'pending' THEN x.due_at END)`
	_, err = tx.ExecContext(ctx, `
		UPDATE deliveries x SET `+wakeColumns(wakes)+`
		FROM json_to_recordset($1) AS n (id uuid, due_at timestamptz) WHERE x.id = n.id`, string(woken))
	return err
}
