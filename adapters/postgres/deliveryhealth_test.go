package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// nextIn returns in how long there is something for a destination; 0: it is not known. It fails the test if there is now.
func nextIn(t *testing.T, s *postgres.Store) time.Duration {
	t.Helper()
	leased := must(s.Lease(t.Context(), 10, time.Minute))(t)
	if leased.More || slices.ContainsFunc(leased.Deliveries, func(d delivery.Delivery) bool { return d.Callback == "" }) {
		t.Fatalf("leased %+v", leased)
	}
	if leased.NextAt.IsZero() {
		return 0
	}
	return time.Until(leased.NextAt)
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
	if in := nextIn(t, s); in < time.Second || in > 3*time.Second {
		t.Errorf("in a pause of the circuit the next is due in %v", in)
	}
	pass(t, db, time.Minute)
	recordOutcome(t, s, leaseOneForDestination(t, s), delivered())
	if leased := leaseForDestinations(t, s); len(leased) != notify.MaxPerDestination {
		t.Errorf("after a success %d are leased", len(leased))
	}
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
	state := func(id monitor.ID) (state string) {
		t.Helper()
		check(t, db.QueryRow(`SELECT state || CASE WHEN changed THEN ' changed' ELSE '' END || CASE WHEN due_at <= now() THEN ' due' ELSE '' END
			FROM deliveries WHERE monitor_id = $1 AND incident_id IS NOT NULL`, id).Scan(&state))
		return state
	}
	if got := state(ids[1]); got != "pending changed due" {
		t.Fatalf("it is to be decided, and is %s", got)
	}
	if in := nextIn(t, s); in < 45*time.Second || in > 50*time.Second {
		t.Errorf("the next is due in %v", in)
	}
	for what, want := range map[monitor.ID]string{quiet.ID: "idle", ids[0]: "pending due", ids[1]: "delivered"} {
		if got := state(what); got != want {
			t.Errorf("a thread is %s, want %s", got, want)
		}
	}
	if got := must(s.Traffic(t.Context()))(t); len(got) != 1 {
		t.Errorf("the traffic is %+v", got)
	}
	if listed := deliveries(t, s, monitors.DeliveryQuery{State: monitors.DeliveryPending, IncidentID: onlyIncident(t, s, ids[0]).ID}); len(listed) != 2 { // and the callback's
		t.Errorf("pending are %+v", listed)
	}
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
	if disabled := recordOutcome(t, s, first, asked(time.Hour)); disabled != "" {
		t.Errorf("disabled: %s", disabled)
	}
	recordOutcome(t, s, beside[0], delivered())
	recordOutcome(t, s, beside[1], retried(0))
	recordOutcome(t, s, beside[2], asked(30*time.Second))
	if in := nextIn(t, other); in < 25*time.Second {
		t.Errorf("the next is due in %v", in)
	}
	got := must(s.Destination(t.Context(), month.ID))(t)
	if !got.Enabled || got.Failures != 0 || !got.FailingSince.IsZero() || time.Until(got.CircuitOpenUntil) < 59*time.Minute || got.State() != "failing" {
		t.Errorf("is %+v, %s", got, got.State())
	}
	pass(t, db, 59*time.Minute)
	expectNoneForDestinations(t, other)
	pass(t, db, 2*time.Minute)
	leased := leaseForDestinations(t, other)
	if len(leased) != notify.MaxPerDestination {
		t.Fatalf("%d leased after the pause", len(leased))
	}
	recordOutcome(t, s, leased[0], delivered())
	if got := must(s.Destination(t.Context(), month.ID))(t); got.State() != "working" || !got.CircuitOpenUntil.IsZero() {
		t.Errorf("after a success it is %s: %+v", got.State(), got)
	}
}

// A failure of a destination is over with its first success, or with the pause that it asked for.
func TestTheLastErrorOfADestinationGoesWithItsFirstSuccess(t *testing.T) { // section 19.1
	t.Run("of an attempt that failed", func(t *testing.T) {
		s := open(t, database(t))
		d := addDestination(t, s, notify.Discord, "chat")
		expect := func(health, lastError string) {
			t.Helper()
			got := must(s.Destination(t.Context(), d.ID))(t)
			if got.State() != health || got.LastError != lastError {
				t.Errorf("it is %s, %q: %+v; want %s, %q", got.State(), got.LastError, got, health, lastError)
			}
		}
		registerBlack(t, s, 1)
		recordOutcome(t, s, leaseOneForDestination(t, s), retried(0))
		expect("failing", "no")
		tell(t, s, leaseOneForDestination(t, s))
		expect("working", "")
	})
	s, db := newStore(t)
	line := addDestination(t, s, notify.LINE, "line")
	last := func() routing.DestinationRecord {
		return must(s.Destination(t.Context(), line.ID))(t)
	}
	addNotices(t, db, line, 3)
	leased := leaseForDestinations(t, s)
	recordOutcome(t, s, leased[0], delivered())
	recordOutcome(t, s, leased[1], rejected())
	if got := last(); got.State() != "working" || got.LastError != "no" {
		t.Errorf("a message that is rejected leaves it %s: %+v", got.State(), got)
	}
	recordOutcome(t, s, leased[2], delivered())
	if got := last(); got.LastError != "" {
		t.Errorf("the next one was taken, and still: %q", got.LastError)
	}
	addNotices(t, db, line, 1)
	wait := retried(time.Hour)
	wait.Status, wait.RetryAfter = 429, time.Minute
	recordOutcome(t, s, leaseOneForDestination(t, s), wait)
	if got := last(); got.State() != "failing" || got.CircuitOpenUntil.IsZero() {
		t.Errorf("in the pause it is %s: %+v", got.State(), got)
	}
	pass(t, db, 61*time.Second)
	if got := last(); got.State() != "working" || !got.CircuitOpenUntil.IsZero() {
		t.Errorf("after the pause it is %s: %+v", got.State(), got)
	}
}

func TestTheRateLimitOfADestinationIsKept(t *testing.T) {
	s, db := newStore(t)
	chat := addDestination(t, s, notify.Slack, "chat") // one a second
	addNotices(t, db, chat, 3)
	first := leaseOneForDestination(t, s)
	if in := nextIn(t, s); in <= 0 || in > time.Second {
		t.Errorf("the next is due in %v", in)
	}
	lock := func() (locked string) {
		t.Helper()
		check(t, db.QueryRow(`SELECT CAST(xmin AS text) || ' ' || CAST(xmax AS text) FROM destinations WHERE id = $1`, chat.ID).Scan(&locked))
		return locked
	}
	before := lock()
	leaseForDestinations(t, s)
	if after := lock(); after != before {
		t.Errorf("a lease that may not take anything has locked the destination: %s, before %s", after, before)
	}
	recordOutcome(t, s, first, delivered())
	pass(t, db, 10*time.Second)
	edited := leaseOneForDestination(t, s) // the others are not saved up
	pushed := delivered()
	pushed.EditedAndPushed = true
	recordOutcome(t, s, edited, pushed)
	addNotices(t, db, chat, 3)
	pass(t, db, 1500*time.Millisecond)
	if in := nextIn(t, s); in <= 0 || in > 500*time.Millisecond {
		t.Errorf("within 2 s after two requests the next is due in %v", in)
	}
	pass(t, db, 500*time.Millisecond)
	leaseOneForDestination(t, s)
}
