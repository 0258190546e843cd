//go:build linux

package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// thread is what a channel shows of an incident or a storm, and what the database holds of it.
type thread struct {
	Channel, About string // an ID
	Path           string // of the links in its messages
	Opened         bool   // a message is stored as sent
	Reopened       int    // how often
	messages       []channel.Message
}

// collectThreads reads the threads from the database, and their messages from the channels.
func (env *environment) collectThreads(ctx context.Context) error {
	rows, err := env.texts(ctx, `SELECT json_build_object('channel', d.name, 'about', COALESCE(x.incident_id, x.id),
			'path', COALESCE('/incidents/' || x.incident_id, '/incidents'), 'opened', COALESCE((x.told->>'opened')::boolean, false),
			'reopened', (SELECT count(*) FROM incident_log l WHERE l.incident_id = x.incident_id AND l.kind = 'reopened'))
		FROM deliveries x JOIN destinations d ON d.id = x.destination_id WHERE d.kind <> 'webhook' AND x.notice IS NULL`)
	for _, row := range rows {
		var t thread
		if err := json.Unmarshal([]byte(row), &t); err != nil {
			return err
		}
		t.messages = slices.DeleteFunc(env.channels[t.Channel].Messages(), func(m channel.Message) bool {
			return m.ID != t.About && !slices.ContainsFunc(m.Links, func(l channel.Link) bool { return l.URL == publicURL+t.Path })
		})
		env.audit.threads = append(env.audit.threads, t)
	}
	return err
}

// checkThread finds a thread that does not show the end of its incident. It finds messages that
// were lost, are not recorded or came again, and no fault explains it.
func (a *audit) checkThread(t thread) {
	a.numbers["messages"] += len(t.messages)
	switch {
	case t.Opened && len(t.messages) == 0 && t.Channel == "pagerduty": // it gets only what is to wake somebody
	case t.Opened && len(t.messages) == 0:
		a.find("lost: %s of %s is stored as told, and no message was ever posted", t.Channel, t.About)
	case t.Opened:
		if last := lastShown(t.messages); !strings.HasPrefix(last.Text, "✅") && last.State != "resolved" {
			a.find("%s of %s is not resolved: the last message is %q", t.Channel, t.About, firstLine(last.Text))
		}
	case len(t.messages) > 0 && !a.explainsRepetition(t.messages[0].PostedAt, t.messages[0].PostedAt):
		a.find("%s of %s is not recorded, and no fault explains it: %q", t.Channel, t.About, firstLine(t.messages[0].Posted))
	}
	posted := map[string][]time.Time{} // by what a message told
	for _, m := range t.messages {
		step := stepOf(m)
		before := posted[step]
		posted[step] = append(before, m.PostedAt)
		if len(before) <= t.Reopened {
			continue // trouble that comes back is told anew
		}
		a.numbers[repeated]++
		if last := before[len(before)-1]; !a.explainsRepetition(last, m.PostedAt) {
			a.find("%s of %s: %q was posted at %s and again at %s, and no fault explains it",
				t.Channel, t.About, firstLine(m.Posted), formatTime(last), formatTime(m.PostedAt))
		}
	}
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

// stepOf returns what a message told when it was posted: "opened", whatever the conditions were by
// then, "resolved", or else its title without durations.
func stepOf(m channel.Message) string {
	title := duration.ReplaceAllString(firstLine(m.Posted), "")
	state, _, _ := strings.Cut(title, "｜")
	switch {
	case strings.HasPrefix(state, "✅"):
		return "resolved"
	case !strings.Contains(state, ","):
		return "opened"
	}
	return title
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
