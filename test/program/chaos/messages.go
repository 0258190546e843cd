//go:build linux

package main

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// thread is what the database holds of an incident, or of a storm, at a destination.
type thread struct {
	about       string // ID of the incident or the storm
	storm       string // that tells of the incident here; empty: none
	destination string // name
	state       string
	opened      bool   // a message about it was sent
	recorded    int    // attempts that succeeded, of the last 20
	ref         string // names the message that is edited
	lastError   string
}

// incidentRecord is an incident or a storm in the database.
type incidentRecord struct {
	id, state   string
	isStorm     bool
	destination string    // of a storm, its name
	reopened    int       // how often, with the resolutions that an alert took back that had waited
	raisedAt    time.Time // when its severity rose last; zero: never

	monitor                        string // its ID; empty: of a storm
	severity, acknowledgedSeverity int
	acknowledgedBy                 string   // empty: nobody has it
	acknowledgements               []string // who has acknowledged it, by its log
}

// webhookRecord is a stored delivery of an event to the webhook destination.
type webhookRecord struct {
	state     string
	sequence  int
	lastError string
}

// destinationRecords are everything that is known of the destinations at the end of a run.
type destinationRecords struct {
	webhooks  map[string]webhookRecord // by the ID of the event
	incidents []incidentRecord         // and storms
	threads   []thread
	messages  map[channelKind][]channel.Message // in the order in which they were posted
}

// collectDestinations reads what the destinations got and what the database holds of it.
func (env *environment) collectDestinations(ctx context.Context, r *destinationRecords) error {
	r.webhooks, r.messages = map[string]webhookRecord{}, map[channelKind][]channel.Message{}
	for _, c := range env.channels {
		r.messages[c.kind] = c.fake.Messages()
	}
	if env.deleted.fake != nil {
		r.messages[deletedChannel] = env.deleted.fake.Messages()
	}
	return env.withDatabase(ctx, func(db *sql.DB) error {
		if err := eachRow(ctx, db, `
			SELECT id, state, false, '',
			       (SELECT count(*) FROM incident_log l WHERE l.incident_id = incidents.id AND l.kind = 'reopened'),
			       (SELECT max(l.at) FROM incident_log l WHERE l.incident_id = incidents.id AND l.kind = 'severity_raised'), monitor_id, severity, acknowledged_by, acknowledged_severity,
			       ARRAY(SELECT l.by FROM incident_log l WHERE l.incident_id = incidents.id AND l.kind = 'acknowledged' ORDER BY l.id) FROM incidents
			UNION ALL SELECT x.id, CASE WHEN x.storm ? 'resolved_at' THEN 'resolved' ELSE 'open' END, true, d.name, 0, NULL, '', 0, '', 0, ARRAY[]::text[]
			FROM deliveries x JOIN destinations d ON d.id = x.destination_id WHERE x.storm IS NOT NULL`, func(rows *sql.Rows) error {
			var i incidentRecord
			var raisedAt sql.NullTime
			err := rows.Scan(&i.id, &i.state, &i.isStorm, &i.destination, &i.reopened, &raisedAt, &i.monitor, &i.severity, &i.acknowledgedBy, &i.acknowledgedSeverity, pq.Array(&i.acknowledgements))
			i.raisedAt = raisedAt.Time
			r.incidents = append(r.incidents, i)
			return err
		}); err != nil {
			return err
		}
		if err := eachRow(ctx, db, `SELECT event_id, state, sequence, last_error FROM deliveries WHERE event_id IS NOT NULL AND destination_id IS NOT NULL`, func(rows *sql.Rows) error {
			var id string
			var w webhookRecord
			err := rows.Scan(&id, &w.state, &w.sequence, &w.lastError)
			r.webhooks[id] = w
			return err
		}); err != nil {
			return err
		}
		return eachRow(ctx, db, `
			SELECT COALESCE(x.incident_id, x.id), COALESCE(CAST(x.storm_id AS text), ''), d.name, x.state, COALESCE((x.told->>'opened')::boolean, false), COALESCE(x.told->>'provider_message_id', ''), x.last_error,
			       (SELECT count(*) FROM jsonb_array_elements(x.attempts) AS a WHERE COALESCE(a->>'error', '') = '')
			FROM deliveries x JOIN destinations d ON d.id = x.destination_id WHERE x.event_id IS NULL AND x.notice IS NULL`, func(rows *sql.Rows) error {
			var t thread
			err := rows.Scan(&t.about, &t.storm, &t.destination, &t.state, &t.opened, &t.ref, &t.lastError, &t.recorded)
			r.threads = append(r.threads, t)
			return err
		})
	})
}

// eachRow calls read for each row of a query.
func eachRow(ctx context.Context, db *sql.DB, query string, read func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// checkWebhooks finds events that have not reached the webhook destination, and sequences with
// gaps or out of order.
func (a *audit) checkWebhooks(c *counters) (findings []string) {
	bodies := map[string]string{}
	for _, m := range a.monitors {
		for n, event := range m.events {
			w, planned := a.destinations.webhooks[event.id]
			bodies[event.id] = strings.TrimSuffix(event.body, "}") + fmt.Sprintf(`,"sequence":%d}`, w.sequence)
			delivered := slices.ContainsFunc(a.destinationDeliveries, func(d webhookreceiver.Delivery) bool { return d.EventID == event.id && d.Accepted })
			switch {
			case !planned:
				c.undelivered++
				findings = append(findings, fmt.Sprintf("lost: monitor %d: nothing is stored of %s %s for the webhook destination", m.number, event.eventType, event.id))
			case w.state != "delivered":
				findings = append(findings, fmt.Sprintf("monitor %d: the delivery of %s %s to the webhook destination is %s: %s", m.number, event.eventType, event.id, w.state, w.lastError))
			case !delivered:
				c.undelivered++
				findings = append(findings, fmt.Sprintf("lost: monitor %d: %s %s is stored as delivered to the webhook destination and was never accepted", m.number, event.eventType, event.id))
			}
			if planned && w.sequence != n+1 {
				findings = append(findings, fmt.Sprintf("monitor %d: %s %s has sequence %d, and is event %d of its monitor", m.number, event.eventType, event.id, w.sequence, n+1))
			}
		}
		for _, f := range ordered(&m, a.destinationDeliveries) {
			findings = append(findings, "webhook destination: "+f)
		}
	}
	for _, d := range a.destinationDeliveries {
		c.webhooks++
		switch body, found := bodies[d.EventID]; {
		case !found:
			findings = append(findings, fmt.Sprintf("%s %s reached the webhook destination and is not in the database", d.EventType, d.EventID))
		case body != withoutEvidence(string(d.Body)):
			findings = append(findings, fmt.Sprintf("attempt %d of event %s at the webhook destination differs from the stored bytes and sequence", d.Attempt, d.EventID))
		case !d.Verified:
			findings = append(findings, fmt.Sprintf("attempt %d of event %s at the webhook destination is not verified: %s", d.Attempt, d.EventID, d.Problem))
		}
	}
	repeated, unexplained := a.redeliveries(a.destinationDeliveries)
	c.repeated["webhook"] += repeated
	for _, f := range unexplained {
		findings = append(findings, "webhook destination: "+f)
	}
	return findings
}

// checkMessages finds incidents that were not told or not resolved at a channel, and
// messages that came again without a fault that explains it.
func (a *audit) checkMessages(c *counters) (findings []string) {
	for _, i := range a.destinations.incidents {
		if i.state != "resolved" {
			findings = append(findings, fmt.Sprintf("incident or storm %s is %s", i.id, i.state))
		}
		for _, kind := range sortedKeys(a.destinations.messages) {
			if kind == deletedChannel || i.isStorm && i.destination != string(kind) {
				continue // it need not be told anything
			}
			for _, f := range a.checkThread(i, kind, c) {
				findings = append(findings, fmt.Sprintf("%s of incident or storm %s: %s", kind, i.id, f))
			}
		}
	}
	return findings
}

// checkThread checks what a channel got of an incident or a storm.
func (a *audit) checkThread(i incidentRecord, kind channelKind, c *counters) (findings []string) {
	t, planned := a.thread(i.id, kind)
	visible := a.messagesAbout(i, kind)
	c.messages += len(visible)
	switch {
	case (!planned || !t.opened) && len(visible) > 0 && a.redeliveryCause(visible[0].PostedAt.Add(-tolerance), visible[0].PostedAt.Add(causeWindow)) == "":
		return []string{"a message was posted that is not recorded, and no fault explains it"}
	case !planned || !t.opened:
		if storm, _ := a.thread(t.storm, kind); !i.isStorm && !storm.opened && !a.mayBeUntold(i, kind) {
			c.undelivered++
			return []string{"lost: nobody was told of it"}
		}
		return nil
	case t.state == "failed": // a picture that comes as the gateways stop leaves it pending
		findings = append(findings, "it has failed: "+t.lastError)
	case len(visible) == 0:
		c.undelivered++
		return append(findings, "lost: it is stored as told, and no message was ever posted")
	}
	if last := a.presentMessage(t, kind, visible); !isResolved(last) {
		findings = append(findings, fmt.Sprintf("its end was not told: the last message is %q", firstLine(last.Text)))
	}
	return append(findings, a.checkRepetitions(i, t, kind, visible, c)...)
}

// presentMessage returns the message that shows the present state: where a channel edits,
// that of the stored ref, else the last one.
func (a *audit) presentMessage(t thread, kind channelKind, visible []channel.Message) channel.Message {
	if edited := traitsOf[kind].edited; edited != nil {
		for _, m := range visible {
			if m.ID == edited(t.ref) {
				return m
			}
		}
		return channel.Message{Text: "none: no message is " + t.ref}
	}
	return visible[len(visible)-1]
}

// checkRepetitions finds messages that come again without a fault at the time of the one
// before. Those that a fault explains are counted. No fault explains them where everything
// posted is recorded, or where the channel knows the key of a message. A message that says something new is no repetition.
func (a *audit) checkRepetitions(i incidentRecord, t thread, kind channelKind, visible []channel.Message, c *counters) (findings []string) {
	posted := map[string][]channel.Message{}
	for _, m := range visible {
		step := stepOf(m)
		before := posted[step]
		posted[step] = append(before, m)
		if len(posted[step]) <= 1+i.reopened {
			continue // trouble that comes back is told anew
		}
		c.repeated[string(kind)]++
		last := before[len(before)-1]
		traits := traitsOf[kind]
		sameKey := traits.keyed && title(m) == title(last) && lines(m) == lines(last)
		allRecorded := !traits.keyed && traits.edited == nil && t.recorded >= len(visible)
		known := kind == pagerDutyChannel || sameKey || allRecorded
		if known || a.redeliveryCause(last.PostedAt.Add(-tolerance), last.PostedAt.Add(causeWindow)) == "" || m.PostedAt.Sub(last.PostedAt) > maxRedeliveryDelay {
			findings = append(findings, fmt.Sprintf("redelivered: %q, posted at %s, came again at %s as %q, and no fault explains it",
				title(last), formatTime(last.PostedAt), formatTime(m.PostedAt), title(m)))
		}
	}
	return findings
}

func (a *audit) thread(about string, kind channelKind) (t thread, found bool) {
	n := slices.IndexFunc(a.destinations.threads, func(t thread) bool { return t.about == about && t.destination == string(kind) })
	if n < 0 {
		return t, false
	}
	return a.destinations.threads[n], true
}

// messagesAbout returns the messages of a channel about an incident or a storm. Their links
// tell which.
func (a *audit) messagesAbout(i incidentRecord, kind channelKind) (all []channel.Message) {
	for _, m := range a.destinations.messages[kind] {
		to := publicURL + "/incidents/" + i.id
		if i.isStorm {
			to = publicURL + "/incidents"
		}
		if slices.ContainsFunc(m.Links, func(l channel.Link) bool { return l.URL == to }) || m.ID == i.id {
			all = append(all, m)
		}
	}
	return all
}

// duration matches how long something has lasted, in a title.
var duration = regexp.MustCompile(`,? \d+ (s|min|h)\b( \d+ (s|min)\b)?`)

// title returns the title with which a message was posted, without durations.
func title(m channel.Message) string { return duration.ReplaceAllString(firstLine(m.Posted), "") }

// lines counts the lines with which a message was posted. One that has others says something new.
func lines(m channel.Message) int { return strings.Count(m.Posted, "\n") }

// stepOf returns what a message told when it was posted: "opened", whatever the conditions
// were by then, "resolved", or who has acknowledged it. For all else it returns the title.
func stepOf(m channel.Message) string {
	state, _, _ := strings.Cut(title(m), "｜")
	switch {
	case strings.HasPrefix(state, "✅"):
		return "resolved"
	case strings.HasPrefix(state, "🔧"):
		_, by, _ := strings.Cut(m.Posted, "Acknowledged by ")
		return "acknowledged by " + firstLine(by)
	case !strings.Contains(state, ","):
		return "opened"
	}
	return title(m)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

func isResolved(m channel.Message) bool {
	return strings.HasPrefix(m.Text, "✅ RESOLVED") || m.State == "resolved"
}
