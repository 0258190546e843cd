package notify_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// The clock was an hour ahead when the times were taken.
func TestAClockThatWasSetBackHoldsNoMessageBack(t *testing.T) {
	now := time.Date(2024, 1, 15, 20, 15, 0, 0, time.UTC)
	ahead := now.Add(time.Hour)
	black := []incident.Name{"black"}
	opened := notify.Situation{Open: true, Severity: 1, SeverityNow: 1, Conditions: black, OpenedAt: ahead}
	told := notify.Notified{Opened: true, Open: true, Severity: 1, NotifiedConditions: black, CurrentConditions: black, PushedAt: ahead, Pushed: map[incident.Name]time.Time{"black": ahead}}
	again := opened
	again.Reopened = 1
	for _, c := range []struct {
		name string
		s    notify.Situation
		t    notify.Notified
		p    notify.ThreadPolicy
		want notify.MessageKind
	}{
		{"a first message", opened, notify.Notified{}, notify.ThreadPolicy{}, notify.Opened},
		{"an escalation", opened, notify.Notified{}, notify.ThreadPolicy{Delay: 10 * time.Minute}, notify.Opened},
		{"a push", again, told, notify.ThreadPolicy{}, notify.Reopened},
		{"a repetition", opened, told, notify.ThreadPolicy{Repeat: 10 * time.Minute}, notify.Repeated},
	} {
		if step := notify.Next(now, c.s, c.t, c.p); step.Kind != c.want || !step.Push {
			t.Errorf("%s: %+v", c.name, step)
		}
	}
	opened.OpenedAt = now.Add(time.Second)
	if step := notify.Next(now, opened, notify.Notified{}, notify.ThreadPolicy{Delay: time.Minute}); step.Kind != "" || !step.At.Equal(opened.OpenedAt.Add(time.Minute)) {
		t.Errorf("a second ahead: %+v", step)
	}
}
