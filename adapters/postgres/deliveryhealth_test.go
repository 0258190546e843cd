package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// expectNext fails the test unless there is nothing for a destination now, and the next is due in this time.
func expectNext(t *testing.T, s *postgres.Store, least, most time.Duration) {
	t.Helper()
	leased := must(s.Lease(t.Context(), 10, time.Minute))(t)
	if leased.More || slices.ContainsFunc(leased.Deliveries, func(d delivery.Delivery) bool { return d.Callback == "" }) {
		t.Fatalf("leased %+v", leased)
	}
	if in := time.Until(leased.NextAt); in <= least || in > most {
		t.Errorf("the next is due in %v, want %v to %v", in, least, most)
	}
}

func TestTheCircuitOfADestinationGetsOneAttemptAtATime(t *testing.T) {
	s, db := newStore(t)
	hook := addDestination(t, s, notify.Webhook, "hook")
	addNotices(t, db, hook, 10)
	for _, d := range leaseForDestinations(t, s) {
		recordOutcome(t, s, d, retried(0))
	}
	recordOutcome(t, s, leaseForDestinations(t, s)[0], retried(0))
	pass(t, db, time.Minute) // also for the other three, whose leases expire
	recordOutcome(t, s, leaseOneForDestination(t, s), retried(0))
	expectNext(t, s, time.Second, 3*time.Second) // a pause of the circuit
	pass(t, db, time.Minute)
	recordOutcome(t, s, leaseOneForDestination(t, s), delivered())
	expectLen(t, "leased deliveries after a success", leaseForDestinations(t, s), notify.MaxPerDestination)
}

// An open circuit keeps nothing from being decided: what has nothing to say is over, and what has
// waits for its turn.
func TestThreadsAreDecidedWhileTheCircuitIsOpen(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	ids := openIncidents(t, s, 0, 30, 2)
	expectSent(t, s, "chat opened", "chat opened")
	quiet := registerWith(t, s, 100, trouble(detector.Blackout, time.Now().UTC()))
	resolveIncident(t, s, quiet.ID) // before anybody was told
	resolveIncident(t, s, ids[0])
	alter(t, db, `UPDATE incidents SET unrouted = unrouted + 1`) // of the second there is nothing new
	alter(t, db, `UPDATE destinations SET failures = 5, failing_since = now(), circuit_open_until = now() + interval '50 seconds'`)
	route(t, s)
	state := func(id monitor.ID) string {
		t.Helper()
		return value[string](t, db, `SELECT state || CASE WHEN changed THEN ' changed' ELSE '' END || CASE WHEN due_at <= now() THEN ' due' ELSE '' END
			FROM deliveries WHERE monitor_id = $1 AND incident_id IS NOT NULL`, id)
	}
	require(t, "the thread that is to be decided", state(ids[1]), "pending changed due")
	expectNext(t, s, 45*time.Second, 50*time.Second)
	for what, want := range map[monitor.ID]string{quiet.ID: "idle", ids[0]: "pending due", ids[1]: "delivered"} {
		expect(t, "a thread", state(what), want)
	}
	expect(t, "destinations with traffic", len(must(s.Traffic(t.Context()))(t)), 1)
	expectLen(t, "pending deliveries", deliveries(t, s, monitors.DeliveryQuery{State: monitors.DeliveryPending, IncidentID: onlyIncident(t, s, ids[0]).ID}), 2)
	pass(t, db, time.Minute)
	expectSent(t, s, "chat recovered")
}

// A provider that asks to wait gets nothing from anybody, and is neither failing nor disabled.
func TestAPauseThatAProviderAsksForHoldsBackTheWholeDestination(t *testing.T) {
	dsn := database(t)
	s, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	month := addDestination(t, s, notify.LINE, "month used up")
	addNotices(t, db, month, 10)
	asked := func(wait time.Duration) delivery.Outcome {
		o := retried(wait)
		o.Status, o.RetryAfter = 429, wait
		return o
	}
	alter(t, db, `UPDATE destinations SET failures = 9, failing_since = now() - interval '6 days'`)
	first := leaseOneForDestination(t, s)
	alter(t, db, `UPDATE destinations SET failures = 0`)
	beside := leaseForDestinations(t, s)
	alter(t, db, `UPDATE destinations SET failures = 9`)
	expect(t, "why it is disabled", recordOutcome(t, s, first, asked(time.Hour)), "")
	recordOutcome(t, s, beside[0], delivered())
	recordOutcome(t, s, beside[1], retried(0))
	recordOutcome(t, s, beside[2], asked(30*time.Second))
	expectNext(t, other, 25*time.Second, time.Hour)
	got := must(s.Destination(t.Context(), month.ID))(t)
	if !got.Enabled || got.Failures != 0 || !got.FailingSince.IsZero() || time.Until(got.CircuitOpenUntil) < 59*time.Minute || got.State() != "failing" {
		t.Errorf("is %+v, %s", got, got.State())
	}
	pass(t, db, 59*time.Minute)
	expectNoneForDestinations(t, other)
	pass(t, db, 2*time.Minute)
	leased := leaseForDestinations(t, other)
	require(t, "leased deliveries after the pause", len(leased), notify.MaxPerDestination)
	recordOutcome(t, s, leased[0], delivered())
	if got := must(s.Destination(t.Context(), month.ID))(t); got.State() != "working" || !got.CircuitOpenUntil.IsZero() {
		t.Errorf("after a success it is %s: %+v", got.State(), got)
	}
}

// A failure of a destination is over with its first success, or with the pause that it asked for.
func TestTheLastErrorOfADestinationGoesWithItsFirstSuccess(t *testing.T) { // section 19.1
	s, db := newStore(t)
	line := addDestination(t, s, notify.LINE, "line")
	wait := retried(time.Hour)
	wait.Status, wait.RetryAfter = 429, time.Minute
	expectHealth := func(state, lastError string, isPaused bool) {
		t.Helper()
		if got := must(s.Destination(t.Context(), line.ID))(t); got.State() != state || got.LastError != lastError || got.CircuitOpenUntil.IsZero() == isPaused {
			t.Errorf("it is %s, %q: %+v; want %s, %q, paused: %t", got.State(), got.LastError, got, state, lastError, isPaused)
		}
	}
	for _, c := range []struct {
		outcome          delivery.Outcome
		state, lastError string
	}{{retried(0), "failing", "no"}, {delivered(), "working", ""}, {rejected(), "working", "no"}, {delivered(), "working", ""}, {wait, "failing", "no"}} {
		addNotices(t, db, line, 1)
		recordOutcome(t, s, leaseForDestinations(t, s)[0], c.outcome)
		expectHealth(c.state, c.lastError, c.outcome.RetryAfter > 0)
		pass(t, db, time.Second) // the rate limit allows the next
	}
	pass(t, db, time.Minute)
	expectHealth("working", "no", false)
}

func TestTheRateLimitOfADestinationIsKept(t *testing.T) {
	s, db := newStore(t)
	chat := addDestination(t, s, notify.Slack, "chat") // one a second
	addNotices(t, db, chat, 3)
	first := leaseOneForDestination(t, s)
	expectNext(t, s, 0, time.Second)
	lock := func() string {
		return value[string](t, db, `SELECT CAST(xmin AS text) || ' ' || CAST(xmax AS text) FROM destinations WHERE id = $1`, chat.ID)
	}
	before := lock()
	leaseForDestinations(t, s)
	expect(t, "the locks after a lease that may take nothing", lock(), before)
	recordOutcome(t, s, first, delivered())
	pass(t, db, 10*time.Second)
	edited := leaseOneForDestination(t, s) // the others are not saved up
	pushed := delivered()
	pushed.EditedAndPushed = true
	recordOutcome(t, s, edited, pushed)
	addNotices(t, db, chat, 3)
	pass(t, db, 1500*time.Millisecond)
	expectNext(t, s, 0, 500*time.Millisecond) // within 2 s after two requests
	pass(t, db, 500*time.Millisecond)
	leaseOneForDestination(t, s)
}
