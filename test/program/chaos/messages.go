//go:build linux

package main

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// incidentRecord is an incident or a storm in the database.
type incidentRecord struct {
	id, state        string
	channel          string // of a storm, the only one that it is told at; empty: it is an incident
	reopened         int    // how often
	handled          bool   // somebody has acknowledged it, and it has not got worse since
	acknowledgements []string
}

// threadKey names the messages about an incident, or a storm, at a channel.
type threadKey struct{ about, channel string }

// threadRecord is what the database holds of a thread.
type threadRecord struct {
	state, lastError string
	inStorm          bool // a storm tells of the incident
	opened           bool // a message was sent
}

// collectMessages reads the messages of the channels, and what the database holds of them.
func (env *environment) collectMessages(ctx context.Context, a *audit) error {
	a.messages, a.threads = map[string][]channel.Message{}, map[threadKey]threadRecord{}
	for _, c := range env.channels {
		a.messages[c.name] = c.fake.Messages()
	}
	if err := env.eachRow(ctx, `
		SELECT id, state, '', (SELECT count(*) FROM incident_log l WHERE l.incident_id = incidents.id AND l.kind = 'reopened'),
		       acknowledged_by <> '' AND severity <= acknowledged_severity,
		       ARRAY(SELECT l.by FROM incident_log l WHERE l.incident_id = incidents.id AND l.kind = 'acknowledged') FROM incidents
		UNION ALL SELECT x.id, CASE WHEN x.storm ? 'resolved_at' THEN 'resolved' ELSE 'open' END, d.name, 0, false, ARRAY[]::text[]
		FROM deliveries x JOIN destinations d ON d.id = x.destination_id WHERE x.storm IS NOT NULL`, func(rows *sql.Rows) error {
		var i incidentRecord
		err := rows.Scan(&i.id, &i.state, &i.channel, &i.reopened, &i.handled, pq.Array(&i.acknowledgements))
		a.incidents = append(a.incidents, i)
		return err
	}); err != nil {
		return err
	}
	return env.eachRow(ctx, `
		SELECT COALESCE(x.incident_id, x.id), d.name, x.state, x.last_error, x.storm_id IS NOT NULL, COALESCE((x.told->>'opened')::boolean, false)
		FROM deliveries x JOIN destinations d ON d.id = x.destination_id WHERE x.event_id IS NULL AND x.notice IS NULL`, func(rows *sql.Rows) error {
		var key threadKey
		var t threadRecord
		err := rows.Scan(&key.about, &key.channel, &t.state, &t.lastError, &t.inStorm, &t.opened)
		a.threads[key] = t
		return err
	})
}

// checkMessages finds incidents and storms that are open, and those of which nobody was told.
func (a *audit) checkMessages() {
	for _, i := range a.incidents {
		if i.state != "resolved" {
			a.find("incident or storm %s is %s", i.id, i.state)
		}
		told := i.channel != ""
		for _, name := range sortedKeys(a.messages) {
			if name != deletedChannel && (i.channel == "" || i.channel == name) {
				messages := a.messagesAbout(i, name)
				a.counters.messages += len(messages)
				told = told || len(messages) > 0 || a.threads[threadKey{i.id, name}].inStorm
				a.checkThread(i, name, messages)
			}
		}
		if !told {
			a.findLost("nobody was told of incident %s", i.id)
		}
	}
}

// checkThread finds a thread that has failed or does not show the end of its incident. It finds messages that were
// lost, are not recorded or came again, and no fault explains it.
func (a *audit) checkThread(i incidentRecord, name string, messages []channel.Message) {
	t := a.threads[threadKey{i.id, name}]
	switch {
	case t.state == "failed":
		a.find("%s of incident or storm %s has failed: %s", name, i.id, t.lastError)
	case t.opened && len(messages) == 0:
		a.findLost("%s of incident or storm %s is stored as told, and no message was ever posted", name, i.id)
	case t.opened:
		if last := lastShown(messages); !strings.HasPrefix(last.Text, "✅") && last.State != "resolved" {
			a.find("%s of incident or storm %s is not resolved: the last message is %q", name, i.id, firstLine(last.Text))
		}
	case len(messages) > 0 && !a.explainsRepetition(messages[0].PostedAt, messages[0].PostedAt):
		a.find("%s of incident or storm %s is not recorded, and no fault explains it: %q", name, i.id, title(messages[0]))
	}
	posted := map[string][]time.Time{} // by what a message told
	for _, m := range messages {
		step := stepOf(m)
		before := posted[step]
		posted[step] = append(before, m.PostedAt)
		if len(before) <= i.reopened {
			continue // trouble that comes back is told anew
		}
		a.counters.repeated++
		if last := before[len(before)-1]; !a.explainsRepetition(last, m.PostedAt) {
			a.find("%s of incident or storm %s: %q was posted at %s and again at %s, and no fault explains it",
				name, i.id, title(m), formatTime(last), formatTime(m.PostedAt))
		}
	}
}

// messagesAbout returns the messages of a channel about an incident or a storm. Their links
// tell which.
func (a *audit) messagesAbout(i incidentRecord, name string) (all []channel.Message) {
	to := publicURL + "/incidents/" + i.id
	if i.channel != "" {
		to = publicURL + "/incidents"
	}
	for _, m := range a.messages[name] {
		if m.ID == i.id || slices.ContainsFunc(m.Links, func(l channel.Link) bool { return l.URL == to }) {
			all = append(all, m)
		}
	}
	return all
}

// lastShown returns the latest of what messages showed. A message that came again is edited
// no longer, so it does not count.
func lastShown(messages []channel.Message) (last channel.Change) {
	for _, m := range messages {
		for _, shown := range append([]channel.Change{{At: m.PostedAt, Text: m.Posted}}, m.Changes...) {
			if shown.At.After(last.At) {
				last = shown
			}
		}
	}
	return last
}

// duration matches how long something has lasted, in a title.
var duration = regexp.MustCompile(`,? \d+ (s|min|h)\b( \d+ (s|min)\b)?`)

// title returns the title with which a message was posted, without durations.
func title(m channel.Message) string { return duration.ReplaceAllString(firstLine(m.Posted), "") }

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
