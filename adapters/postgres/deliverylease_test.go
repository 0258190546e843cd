package postgres_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// addNotices stores pending notices at a destination, the simplest deliveries.
func addNotices(t testing.TB, db *sql.DB, d notify.Destination, n int) {
	t.Helper()
	alter(t, db, `INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at)
		SELECT gen_random_uuid(), $1, '{"Destination": "a", "Cause": "gone"}', 'pending', now(), now() FROM generate_series(1, $2)`, d.ID, n)
}

// isGone is the outcome of an attempt at a destination that does not exist any more.
func isGone() delivery.Outcome {
	return delivery.Outcome{Decision: notify.Decision{Failed: true, DisableDestination: true}, Result: message.Result{Attempt: attempt("HTTP 410"), Class: notify.Gone}}
}

// failing is the outcome of a failed attempt, as the schedule of the destination decides it.
func failing(d delivery.Delivery) delivery.Outcome {
	channel, _ := notify.ChannelOf(d.Destination.Kind)
	return outcomeOf(attempt("HTTP 500"), channel.Policy().Decide(notify.Attempted{
		At: time.Now(), RoundBeganAt: d.RoundBeganAt, FailingSince: d.FailingSince, Number: d.Tried + 1, Class: notify.Retry,
	}, 0.5))
}

// The events of a monitor come in order, one at a time. One that fails holds back those behind it
// for a minute from its first failure (section 19.4).
func TestAFailingEventHoldsBackThoseBehindItForAMinute(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Webhook, "hook")
	m, other := register(t, s, 1), register(t, s, 2)
	acceptReport(t, s, m.ID, report(blackout(1), blackout(2), blackout(3)), monitor.Run)
	at, ahead := time.Duration(0), time.Duration(0)
	until := func(seconds int) {
		t.Helper()
		second := time.Duration(seconds) * time.Second
		pass(t, db, second-at+ahead)
		ahead = 0
		alter(t, db, `UPDATE destinations SET failures = 0, circuit_open_until = NULL`) // the circuit is another matter
		at = second
	}
	expect := func(sequence int64, attempts int) delivery.Delivery {
		t.Helper()
		d := leaseOneForDestination(t, s)
		if d.Event.MonitorID != m.ID || d.Event.Sequence != sequence || d.Tried != attempts {
			t.Fatalf("at %v event %d of %s is leased after %d attempts, want %d after %d", at, d.Event.Sequence, d.Event.MonitorID, d.Tried, sequence, attempts)
		}
		return d
	}
	expectNone := func() {
		t.Helper()
		expectNoneForDestinations(t, s)
	}
	fail := func(d delivery.Delivery) {
		t.Helper()
		recordOutcome(t, s, d, failing(d))
		ahead += patience // the retry is not due however slow the machine is, until time passes
		pass(t, db, -patience)
	}

	fail(expect(1, 0))
	expectNone()
	acceptReport(t, s, other.ID, report(blackout(4)), monitor.Run)
	if d := leaseOneForDestination(t, s); d.Event.MonitorID != other.ID {
		t.Fatalf("the event of another monitor waits behind %+v", d.Event)
	} else {
		recordOutcome(t, s, d, delivered())
	}
	for n, second := range []int{1, 3, 7, 37} { // the last retry comes after the minute
		until(second)
		fail(expect(1, n+1))
		expectNone()
	}
	until(40)
	expectNone()
	until(61)
	second := expect(2, 0)
	expectNone() // the third waits for the second
	if !second.FailingSince.IsZero() || second.Age > promptly {
		t.Errorf("the second is leased as failing since %v, %v old", second.FailingSince, second.Age)
	}

	recordOutcome(t, s, second, delivered())
	recordOutcome(t, s, expect(3, 0), delivered())
	expectNone()

	// The first goes on outside of the queue, and holds nothing back.
	until(160)
	first := expect(1, 5)
	acceptReport(t, s, m.ID, report(blackout(5)), monitor.Run)
	recordOutcome(t, s, expect(4, 0), delivered())
	recordOutcome(t, s, first, delivered())
	expectRows(t, db, `deliveries WHERE destination_id IS NOT NULL AND (state <> 'delivered' OR queue IS NOT NULL)`, 0)
}

func TestADeliveryOfAGatewayThatDiesIsMadeByAnother(t *testing.T) {
	dsn := database(t)
	dead, other, next, db := open(t, dsn), open(t, dsn), open(t, dsn), raw(t, dsn)
	check(t, dead.TakeOverLeases(t.Context(), "here"))
	check(t, other.TakeOverLeases(t.Context(), "there"))
	addDestination(t, dead, notify.Webhook, "hook")
	registerWith(t, dead, 1, blackout(1))
	leased := func() (hook, callback delivery.Delivery) {
		t.Helper()
		for _, d := range lease(t, dead) {
			if d.Callback == "" {
				hook = d
			} else {
				callback = d
			}
		}
		return hook, callback
	}
	lost, _ := leased()
	expectNoneLeased(t, next)
	t.Run("when the lease expires", func(t *testing.T) {
		pass(t, db, time.Minute)
		again := leaseOneForDestination(t, next)
		if again.ID != lost.ID || again.Tried != 0 || again.LeaseID == lost.LeaseID {
			t.Errorf("leased %+v, want %+v again", again, lost)
		}
		// The dead one comes back with a failure, which counts no more.
		recordOutcome(t, dead, lost, retried(time.Hour))
		recordOutcome(t, next, again, retried(0))
	})
	t.Run("when it is restarted", func(t *testing.T) {
		pass(t, db, time.Minute)
		lost, callback := leased()
		if lost.Tried != 1 || callback.ID == "" {
			t.Errorf("leased %+v and %+v", lost, callback)
		}
		registerWith(t, other, 2, blackout(1))
		expectLen(t, "leased deliveries of another monitor", lease(t, other), 2)
		for range 2 {
			check(t, next.TakeOverLeases(t.Context(), "here"))
		}
		both := lease(t, next) // but not those of the gateway elsewhere
		require(t, "the leased deliveries", len(both), 2)
		recordOutcome(t, dead, lost, delivered()) // a success counts whoever has the lease
		for _, d := range both {
			recordOutcome(t, next, d, retried(0))
		}
		if leased := lease(t, next); len(leased) != 1 || leased[0].ID != callback.ID {
			t.Errorf("leased %+v, want the callback, as the other was delivered", leased)
		}
	})
}

// A gateway with the wrong key leaves a destination to the other gateways. Without any, the
// deliveries wait for the secrets.
func TestADestinationWithoutItsSecretsWaitsForThem(t *testing.T) {
	dsn := database(t)
	right, wrong, db := open(t, dsn), openWithKey(t, dsn, reversing{first: "two"}), raw(t, dsn)
	must(wrong.Routing(t.Context()))(t) // it reads the routing before there is a destination
	d := createDestination(t, right, "chat")
	addNotices(t, db, d, 3)
	another := func() { alter(t, db, `UPDATE destinations SET tokens_at = now() - interval '1 hour'`) }
	for range 2 { // it does not know the destination, then it does
		expectNoneForDestinations(t, wrong)
		another()
		expectRows(t, db, `deliveries WHERE lease IS NOT NULL OR tried > 0`, 0)
	}
	fresh := openWithKey(t, dsn, reversing{first: "two"})
	leased := must(fresh.Lease(t.Context(), 10, time.Minute))(t)
	if len(leased.Deliveries) != 0 || leased.More || !leased.NextAt.IsZero() {
		t.Fatalf("a gateway that has just started leases %+v", leased)
	}
	recordOutcome(t, right, leaseOneForDestination(t, right), delivered())
	another()
	must(wrong.ChangeDestination(t.Context(), d.ID, func(d *notify.Destination) error {
		d.Secrets = map[string]string{"bot_token": "again"}
		return nil
	}))(t)
	if again := leaseOneForDestination(t, wrong); again.Tried != 0 || again.Destination.Secrets["bot_token"] != "again" {
		t.Errorf("leased %+v", again)
	}
}

// The monitors at a destination take turns: one that always has more delays no other.
func TestMonitorsTakeTurnsAtADestination(t *testing.T) {
	s := open(t, database(t))
	addDestination(t, s, notify.Webhook, "hook")
	const monitors, each = 3 * notify.MaxPerDestination, 3
	for n := range monitors {
		m := register(t, s, n)
		for i := range each {
			acceptReport(t, s, m.ID, report(blackout(i)), monitor.Run)
		}
	}
	for turn := 1; turn <= each; turn++ {
		served := map[monitor.ID]bool{}
		for range monitors / notify.MaxPerDestination {
			for _, d := range leaseForDestinations(t, s) {
				expect(t, "the sequence of an event", d.Event.Sequence, int64(turn))
				served[d.Event.MonitorID] = true
				recordOutcome(t, s, d, delivered())
			}
		}
		expect(t, "monitors that are served in a turn", len(served), monitors)
	}
	expectNoneForDestinations(t, s)
}

// A delivery that cannot be read would take up one of the four places of its destination.
func TestADeliveryThatCannotBeReadFails(t *testing.T) {
	s, db := newStore(t)
	addNotices(t, db, addDestination(t, s, notify.Webhook, "hook"), notify.MaxPerDestination+1)
	alter(t, db, `UPDATE deliveries SET notice = '5', due_at = due_at - interval '1 minute' WHERE id IN (SELECT id FROM deliveries LIMIT $1)`, notify.MaxPerDestination)
	first := must(s.Lease(t.Context(), 10, time.Minute))(t)
	if len(first.Deliveries) != 0 || !first.More {
		t.Fatalf("leased %+v", first)
	}
	leaseOneForDestination(t, s)
	expectRows(t, db, `deliveries WHERE state = 'failed' AND last_error LIKE 'the gateway cannot read it%' AND lease IS NULL`, notify.MaxPerDestination)
}
