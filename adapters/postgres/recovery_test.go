package postgres_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// recoveryStatement is the statement of docs/recovery.md.
func recoveryStatement(t *testing.T) string {
	t.Helper()
	page := must(os.ReadFile("../../docs/recovery.md"))(t)
	_, rest, found := strings.Cut(string(page), "```sql\n")
	statement, _, ends := strings.Cut(rest, "```")
	if !found || !ends {
		t.Fatal("the page has no statement")
	}
	return statement
}

// The clock of the database was an hour ahead while all of this was planned.
func TestTheStatementOfTheRecoveryPageMakesDueWhatAWrongClockPlanned(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	registerWith(t, s, 1, blackout(1))
	for _, d := range lease(t, s) { // the other is in flight to the chat
		if d.Callback != "" {
			recordAttempt(t, s, d, rejecting, notify.Decision{RetryAt: time.Now().Add(time.Minute)})
		}
	}
	held := register(t, s, 2)
	check(t, s.Release(t.Context(), []supervisor.Reservation{{ID: held.ID, Generation: held.Generation}}))
	allowAll(t, s, firstClient, monitors.Creating, 2, 2)
	scheduled := registration(3)
	scheduled.Status, scheduled.ReservedUntil, scheduled.Config.ScheduledStartTime = monitor.Waiting, time.Now().Add(48*time.Hour), new(time.Now().Add(48*time.Hour))
	check(t, s.Insert(t.Context(), scheduled, unlimited))
	for _, column := range []string{
		"deliveries.due_at", "destinations.tokens_at",
		"incidents.due_at", "rate_limits.arrival_at", "monitors.reserved_until",
	} {
		table, name, _ := strings.Cut(column, ".")
		alter(t, db, `UPDATE `+table+` SET `+name+` = `+name+` + interval '1 hour' WHERE `+name+` > '-infinity'`)
	}
	if wait := allow(t, s, firstClient, monitors.Creating, 2); wait < 50*time.Minute {
		t.Fatalf("a request waits %v", wait)
	}
	requireDue(t, s)

	alter(t, db, recoveryStatement(t))
	requireDue(t, s, supervisor.Reservation{ID: held.ID, Generation: held.Generation + 1})
	allowAll(t, s, firstClient, monitors.Creating, 2, 1)
	expectLen(t, "due deliveries, to the callback and to the chat", lease(t, s), 2)
	expectRows(t, db, `incidents WHERE due_at > now() + interval '50 minutes'`, 0)
}

// The rows of these tests were changed by something else than this program.

func TestAStreamWithAnUnreadableReasonHoldsBackNoMessage(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	for n, unseen := range []string{`"x"`, `{"since": 1}`, `{"since": "yesterday", "class": 4}`, `[]`} {
		id := registerWith(t, s, n).ID
		alter(t, db, `UPDATE monitors SET unseen = CAST($2 AS jsonb) WHERE id = $1`, id, unseen)
		goBlack(t, s, id)
	}
	expectSentSoon(t, s, db, "chat opened") // the storm waits a moment for more
}

func TestAnUnreadableMonitorHidesNoOtherFromTheChecker(t *testing.T) {
	s, db := newStore(t)
	for n, change := range []string{
		`unseen = '{"since": "yesterday", "class": "dns"}'`, `unseen = '"x"'`, `config = '{"check_interval_sec": "ten"}'`, `config = '[1]'`,
		``, ``, ``, ``, // of these all can be read
	} {
		m, r := register(t, s, n+1), report()
		r.Visibility = &monitor.Visibility{Unseen: monitor.Unseen{Since: noon, Class: monitor.NoDNS}}
		acceptReport(t, s, m.ID, r, monitor.Run)
		if change != "" {
			alter(t, db, `UPDATE monitors SET `+change+` WHERE id = $1`, m.ID)
		}
	}
	c := must(s.ReadChecker(t.Context()))(t)
	expect(t, "watched monitors", c.Watched, 8)
	if b := c.BlindSpot; b == nil || b.Monitors < 4 || !b.Since.Equal(noon) {
		t.Errorf("the blind spot is %+v", b)
	}
}

func TestAListHasTheRestOfARowThatCannotBeRead(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	ids := openIncidents(t, s, 0, 3, 3)
	expectSentSoon(t, s, db, "chat opened") // the storm waits a moment for more
	alter(t, db, `UPDATE monitors SET config = '[1]' WHERE id = $1`, ids[0])
	alter(t, db, `UPDATE incidents SET conditions = '"x"', due_at = 'epoch' WHERE monitor_id = $1`, ids[1])
	alter(t, db, `UPDATE deliveries SET attempts = '"x"'`)
	list, _, err := s.List(t.Context(), monitors.MonitorQuery{Limit: 10})
	check(t, err)
	expectLen(t, "monitors", list, 3)
	expectLen(t, "incidents", must(s.ListIncidents(t.Context(), incidents.Filter{Limit: 10}))(t), 3)
	if n := len(deliveries(t, s, monitors.DeliveryQuery{})); n == 0 {
		t.Error("no deliveries")
	}
	if events := eventsOf(t, s, ids[2]); len(events) == 0 || len(events[0].Payload) == 0 {
		t.Errorf("events %+v", events)
	}

	// Nor does it stop a sweep.
	over := registerWith(t, s, 9, trouble(detector.Blackout, hourAgo()), recovery(detector.Blackout, hourAgo(), hourAgo().Add(time.Minute)))
	for range 2 {
		must(s.SweepIncidents(t.Context(), 1))(t)
	}
	expectIncident(t, s, over.ID, incident.Resolved, "black-")
}
