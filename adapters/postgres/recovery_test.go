package postgres_test

import (
	"os"
	"strings"
	"testing"
	"time"

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
