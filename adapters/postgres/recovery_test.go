package postgres_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
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
	if n := len(lease(t, s)); n != 2 {
		t.Errorf("%d deliveries are due, want one to the callback and one to the chat", n)
	}
	expectRows(t, db, `incidents WHERE due_at > now() + interval '50 minutes'`, 0)
}

// The rows of these tests were changed by something else than this program.

func TestAStreamWithAnUnreadableReasonHoldsBackNoMessage(t *testing.T) {
	for _, unseen := range []string{`"x"`, `{"since": 1}`, `{"since": "yesterday", "class": 4}`, `[]`} {
		t.Run(unseen, func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t)
			addDestination(t, s, notify.Discord, "chat")
			ids := openIncidents(t, s, 0, 3, 3)
			alter(t, db, `UPDATE monitors SET unseen = CAST($2 AS jsonb) WHERE id = $1`, ids[1], unseen)
			expectSentSoon(t, s, db, "chat opened") // the storm waits a moment for more
		})
	}
}

func TestAnUnreadableMonitorHidesNoOtherFromTheChecker(t *testing.T) {
	for name, change := range map[string]string{
		"its reason":    `unseen = '{"since": "yesterday", "class": "dns"}'`,
		"its interval":  `config = '{"check_interval_sec": "ten"}'`,
		"its config":    `config = '[1]'`,
		"all of unseen": `unseen = '"x"'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t)
			var ids []monitor.ID
			for n := range 5 {
				m, r := register(t, s, n+1), report()
				r.Visibility = &monitor.Visibility{Unseen: monitor.Unseen{Since: noon, Class: monitor.NoDNS}}
				acceptReport(t, s, m.ID, r, monitor.Run)
				ids = append(ids, m.ID)
			}
			alter(t, db, `UPDATE monitors SET `+change+` WHERE id = $1`, ids[2])
			c, err := s.ReadChecker(t.Context())
			if err != nil || c.Watched != 5 {
				t.Fatalf("the checker is %+v: %v", c, err)
			}
			if b := c.BlindSpot; b == nil || b.Monitors < 4 || !b.Since.Equal(noon) {
				t.Errorf("the blind spot is %+v", b)
			}
		})
	}
}

func TestAListHasTheRestOfARowThatCannotBeRead(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	ids := openIncidents(t, s, 0, 3, 3)
	expectSentSoon(t, s, db, "chat opened") // the storm waits a moment for more
	alter(t, db, `UPDATE monitors SET config = '[1]' WHERE id = $1`, ids[0])
	alter(t, db, `UPDATE incidents SET conditions = '"x"' WHERE monitor_id = $1`, ids[1])
	alter(t, db, `UPDATE deliveries SET attempts = '"x"'`)
	list, _, err := s.List(t.Context(), monitors.MonitorQuery{Limit: 10})
	if err != nil || len(list) != 3 {
		t.Errorf("%d monitors: %v", len(list), err)
	}
	incidents, err := s.ListIncidents(t.Context(), incidents.Filter{Limit: 10})
	if err != nil || len(incidents) != 3 {
		t.Errorf("%d incidents: %v", len(incidents), err)
	}
	if n := len(deliveries(t, s, monitors.DeliveryQuery{})); n == 0 {
		t.Error("no deliveries")
	}
	events, _, err := s.Events(t.Context(), ids[2], 10, 0)
	if err != nil || len(events) == 0 || len(events[0].Payload) == 0 {
		t.Errorf("events %+v: %v", events, err)
	}
}
