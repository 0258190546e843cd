package postgres_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// addNotices stores pending notices at a destination, the simplest deliveries.
func addNotices(t testing.TB, db *sql.DB, d notify.Destination, n int) {
	t.Helper()
	alter(t, db, `INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at)
		SELECT gen_random_uuid(), $1, '{"Destination": "a", "Cause": "gone"}', 'pending', now(), now() FROM generate_series(1, $2)`, d.ID, n)
}

var (
	accepted = func() destination.Outcome {
		return destination.Outcome{Attempt: attempt(""), Delivered: true}
	}
	retriedIn = func(d time.Duration) destination.Outcome {
		return destination.Outcome{Attempt: attempt("HTTP 500"), Class: notify.Retry, DueAt: time.Now().Add(d)}
	}
)

func TestADestinationThatHangsDelaysNoOther(t *testing.T) {
	dsn := database(t)
	s, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	hanging, quick := addDestination(t, s, notify.Webhook, "hanging"), addDestination(t, s, notify.Webhook, "quick")
	addNotices(t, db, hanging, 128)
	addNotices(t, db, quick, 2)
	count := func(leased []destination.Delivery) map[string]int {
		names := map[string]int{}
		for _, d := range leased {
			names[d.Destination.Name]++
		}
		return names
	}
	// They take turns: a limit of 3 is no reason for one of them to wait.
	first := must[[]destination.Delivery](t)(s.DestinationOutbox.Lease(t.Context(), 3, time.Minute))
	if got := count(first); got["quick"] == 0 || got["hanging"] == 0 || len(first) != 3 {
		t.Errorf("three leases are %v", got)
	}
	if got := count(slices.Concat(first, leaseForDestinations(t, s))); got["hanging"] != destination.MaxPerDestination || got["quick"] != 2 {
		t.Errorf("the leases are %v", got)
	}
	if got := leaseForDestinations(t, other); len(got) != 0 {
		t.Errorf("another gateway has leased %v", count(got))
	}
	addNotices(t, db, quick, 1)
	if d := leaseOneForDestination(t, other); d.Destination.ID != quick.ID {
		t.Errorf("leased for %s", d.Destination.Name)
	}
	for _, d := range first {
		if d.Destination.ID == hanging.ID {
			recordOutcome(t, s, d, accepted())
		}
	}
	if got := count(leaseForDestinations(t, other)); got["hanging"] != count(first)["hanging"] {
		t.Errorf("after %d were delivered, %v are leased", count(first)["hanging"], got)
	}
}

// The events of a monitor come in order, one at a time. One that fails holds back those
// behind it for a minute.
func TestEventsReachAWebhookInOrder(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	addDestination(t, s, notify.Webhook, "hook")
	m, other := register(t, s, 1), register(t, s, 2)
	acceptReport(t, s, m.ID, report(blackout(1), blackout(2), blackout(3)), monitor.Run)

	first := leaseOneForDestination(t, s)
	recordOutcome(t, s, first, retriedIn(2*time.Second))
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("leased %+v behind one that fails", leased)
	}
	acceptReport(t, s, other.ID, report(blackout(4)), monitor.Run)
	d := leaseOneForDestination(t, s)
	if d.Event.MonitorID != other.ID {
		t.Fatalf("leased %+v", d.Event)
	}
	recordOutcome(t, s, d, accepted())
	pass(t, db, 2*time.Second)
	first = leaseOneForDestination(t, s)
	if first.Event.Sequence != 1 || first.Attempts != 1 {
		t.Fatalf("the retry is %+v", first)
	}
	recordOutcome(t, s, first, retriedIn(10*time.Minute))
	pass(t, db, 57*time.Second)
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("leased %+v behind one that has failed for 59 s", leased)
	}
	pass(t, db, 2*time.Second)
	second := leaseOneForDestination(t, s)
	if second.Event.Sequence != 2 {
		t.Fatalf("after a minute the next is %+v", second.Event)
	}
	pass(t, db, 10*time.Minute) // the first is due again, but one of its monitor is in flight
	alter(t, db, `UPDATE deliveries SET leased_until = now() + interval '1 minute' WHERE lease IS NOT NULL`)
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Errorf("leased %+v beside another event of the monitor", leased[0].Event)
	}
	recordOutcome(t, s, second, accepted())
	if d := leaseOneForDestination(t, s); d.Event.Sequence != 1 {
		t.Errorf("leased %+v, want the first again", d.Event)
	}
}

// Two gateways empty the outbox, each with several goroutines. Nothing is leased twice, no
// two events of one monitor at the same time, and no destination has more than four.
func TestTwoGatewaysShareTheDestinations(t *testing.T) {
	const streams, each, hooks, hands = 6, 6, 2, 3
	dsn := database(t)
	gateways := []*postgres.Store{open(t, dsn), open(t, dsn)}
	for n := range hooks {
		addDestination(t, gateways[0], notify.Webhook, fmt.Sprint("hook ", n))
	}
	for n := range streams {
		m := register(t, gateways[0], n)
		for i := range each {
			acceptReport(t, gateways[0], m.ID, report(blackout(i)), monitor.Run)
		}
	}
	var mu sync.Mutex
	inFlight, queue := map[string]int{}, map[string]int64{}
	busy := map[string]bool{}
	delivered := 0
	of := func(d destination.Delivery) string { return d.Destination.ID + string(d.Event.MonitorID) }
	begin := func(d destination.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		if inFlight[d.Destination.ID]++; inFlight[d.Destination.ID] > destination.MaxPerDestination {
			t.Errorf("%d in flight at %s", inFlight[d.Destination.ID], d.Destination.Name)
		}
		if busy[of(d)] {
			t.Errorf("two events of %s are in flight at %s", d.Event.MonitorID, d.Destination.Name)
		}
		if busy[of(d)] = true; d.Event.Sequence != queue[of(d)]+1 {
			t.Errorf("sequence %d follows %d", d.Event.Sequence, queue[of(d)])
		}
		queue[of(d)] = d.Event.Sequence
	}
	end := func(d destination.Delivery) destination.Outcome {
		mu.Lock()
		defer mu.Unlock()
		inFlight[d.Destination.ID]--
		busy[of(d)] = false
		delivered++
		return accepted()
	}
	finished := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return delivered >= streams*each*hooks || t.Failed()
	}
	var wg sync.WaitGroup
	for hand := range 2 * hands {
		s := gateways[hand%2]
		wg.Go(func() {
			for !finished() {
				leased, err := s.DestinationOutbox.Lease(t.Context(), 3, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				for _, d := range leased {
					begin(d)
				}
				for _, d := range leased {
					outcome := end(d) // before it is recorded: afterwards the next may be in flight
					if _, err := s.DestinationOutbox.RecordAttempt(t.Context(), d, outcome); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// A lease sees the deliveries as of its beginning. Another gateway may lease for the same
// destination before it gets there.
func TestALeaseThatBeganBeforeAnotherExceedsNoLimit(t *testing.T) {
	const gate = 16
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	addNotices(t, db, addDestination(t, s, notify.Webhook, "hook"), 20)
	alter(t, db, `UPDATE deliveries SET due_at = now() - make_interval(mins => CASE WHEN id IN (SELECT id FROM deliveries LIMIT 10) THEN 9 ELSE 8 END)`)

	before := "WHERE d.enabled AND NOT COALESCE("
	if strings.Count(postgres.DestinationLeaseQuery, before) != 1 {
		t.Fatal("the query has no place to wait at")
	}
	waiting := strings.Replace(postgres.DestinationLeaseQuery, before, "WHERE (SELECT pg_advisory_xact_lock_shared($9)) IS NOT NULL AND"+before[len("WHERE"):], 1)
	unlock := locked(t, db, gate)
	late := make(chan string, 1)
	go func() {
		res, err := db.ExecContext(t.Context(), waiting, 10, 60, uuid.NewString(), "{}", destination.MaxPerDestination, notify.CircuitFailures, postgres.RateLimits, "{}", gate)
		if err != nil {
			late <- err.Error()
			return
		}
		n, _ := res.RowsAffected()
		late <- fmt.Sprint(n)
	}()
	eventually(t, "the lease waits with its snapshot", func() bool {
		var n int
		err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n)
		return err == nil && n == 1
	})
	alter(t, db, `UPDATE deliveries SET due_at = due_at - interval '1 hour' WHERE due_at > now() - interval '8.5 minutes'`) // the lease that waits takes others
	if leased := leaseForDestinations(t, s); len(leased) != destination.MaxPerDestination {
		t.Errorf("%d leased", len(leased))
	}
	unlock()
	if got := <-late; got != "0" {
		t.Errorf("the lease that began before has leased %s", got)
	}
}

func TestADeliveryOfAGatewayThatDiesIsMadeByAnother(t *testing.T) {
	dsn := database(t)
	dead, next, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	if err := dead.TakeOverLeases(t.Context(), "here"); err != nil {
		t.Fatal(err)
	}
	addDestination(t, dead, notify.Webhook, "hook")
	m := register(t, dead, 1)
	acceptReport(t, dead, m.ID, report(blackout(1)), monitor.Run)
	lost := leaseOneForDestination(t, dead)
	if leased := leaseForDestinations(t, next); len(leased) != 0 {
		t.Fatalf("leased %+v", leased)
	}
	t.Run("when the lease expires", func(t *testing.T) {
		pass(t, db, time.Minute)
		again := leaseOneForDestination(t, next)
		if again.ID != lost.ID || again.Attempts != 0 || again.LeaseID == lost.LeaseID {
			t.Errorf("leased %+v, want %+v again", again, lost)
		}
		// The dead one comes back with a failure, which counts no more.
		recordOutcome(t, dead, lost, retriedIn(time.Hour))
		recordOutcome(t, next, again, retriedIn(0))
		lost = leaseOneForDestination(t, dead)
		if lost.Attempts != 1 {
			t.Errorf("%d attempts", lost.Attempts)
		}
	})
	t.Run("when it is restarted", func(t *testing.T) {
		if err := next.TakeOverLeases(t.Context(), "here"); err != nil {
			t.Fatal(err)
		}
		again := leaseOneForDestination(t, next)
		recordOutcome(t, dead, lost, accepted()) // a success counts whoever has the lease
		recordOutcome(t, next, again, retriedIn(0))
		if leased := leaseForDestinations(t, next); len(leased) != 0 {
			t.Errorf("leased %+v although it was delivered", leased)
		}
	})
}

func TestTheCircuitOfADestinationGetsOneAttemptAtATime(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	hook := addDestination(t, s, notify.Webhook, "hook")
	addNotices(t, db, hook, 10)
	for _, d := range leaseForDestinations(t, s) {
		recordOutcome(t, s, d, retriedIn(0))
	}
	recordOutcome(t, s, leaseForDestinations(t, s)[0], retriedIn(0))
	pass(t, db, time.Minute) // also for the other three, whose leases expire
	first := leaseOneForDestination(t, s)
	recordOutcome(t, s, first, retriedIn(0))
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("leased %+v in a pause of the circuit", leased)
	}
	if due := must[time.Time](t)(s.DestinationOutbox.NextDue(t.Context())); time.Until(due) < time.Second || time.Until(due) > 3*time.Second {
		t.Errorf("the next is due in %v", time.Until(due))
	}
	pass(t, db, time.Minute)
	recordOutcome(t, s, leaseOneForDestination(t, s), accepted())
	if leased := leaseForDestinations(t, s); len(leased) != destination.MaxPerDestination {
		t.Errorf("after a success %d are leased", len(leased))
	}
}

// A provider that asks to wait gets nothing from anybody, and is neither failing nor disabled.
func TestAPauseThatAProviderAsksForHoldsBackTheWholeDestination(t *testing.T) {
	dsn := database(t)
	s, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	month := addDestination(t, s, notify.LINE, "month used up")
	addNotices(t, db, month, 10)
	asked := func(wait time.Duration) destination.Outcome {
		o := destination.Outcome{Attempt: attempt("HTTP 429"), Class: notify.Retry, DueAt: time.Now().Add(wait)}
		o.Attempt.Status, o.Attempt.RetryAfter = 429, wait
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
	recordOutcome(t, s, beside[0], accepted())
	recordOutcome(t, s, beside[1], retriedIn(0))
	recordOutcome(t, s, beside[2], asked(30*time.Second))
	if leased := leaseForDestinations(t, other); len(leased) != 0 {
		t.Fatalf("%d leased in the pause", len(leased))
	}
	if due := must[time.Time](t)(s.DestinationOutbox.NextDue(t.Context())); time.Until(due) < 25*time.Second {
		t.Errorf("the next is due in %v", time.Until(due))
	}
	got := must[routing.DestinationRecord](t)(s.Destination(t.Context(), month.ID))
	if !got.Enabled || got.Failures != 0 || !got.FailingSince.IsZero() || time.Until(got.CircuitOpenUntil) < 59*time.Minute || got.Health() != "failing" {
		t.Errorf("is %+v, %s", got, got.Health())
	}
	pass(t, db, 59*time.Minute)
	if leased := leaseForDestinations(t, other); len(leased) != 0 {
		t.Fatalf("%d leased in the pause", len(leased))
	}
	pass(t, db, 2*time.Minute)
	leased := leaseForDestinations(t, other)
	if len(leased) != destination.MaxPerDestination {
		t.Fatalf("%d leased after the pause", len(leased))
	}
	recordOutcome(t, s, leased[0], accepted())
	if got := must[routing.DestinationRecord](t)(s.Destination(t.Context(), month.ID)); got.Health() != "working" || !got.CircuitOpenUntil.IsZero() {
		t.Errorf("after a success it is %s: %+v", got.Health(), got)
	}
}

// A failure of a destination is over with its first success, or with the pause that it asked for.
func TestTheLastErrorOfADestinationGoesWithItsFirstSuccess(t *testing.T) { // section 19.1
	for _, kind := range []notify.Kind{notify.Webhook, notify.Discord} {
		t.Run(string(kind), func(t *testing.T) {
			dsn := create(t, template)
			s := open(t, dsn)
			d := addDestination(t, s, kind, "destination")
			expect := func(health, lastError string) {
				t.Helper()
				got := must[routing.DestinationRecord](t)(s.Destination(t.Context(), d.ID))
				if got.Health() != health || got.LastError != lastError {
					t.Errorf("it is %s, %q: %+v; want %s, %q", got.Health(), got.LastError, got, health, lastError)
				}
			}
			openIncidents(t, s, 0, 1, 1)
			recordOutcome(t, s, leaseOneForDestination(t, s), retriedIn(0))
			expect("failing", "HTTP 500")
			again := leaseOneForDestination(t, s)
			if kind == notify.Webhook {
				recordOutcome(t, s, again, accepted())
			} else {
				tell(t, s, again)
			}
			expect("working", "")
		})
	}
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	line := addDestination(t, s, notify.LINE, "line")
	last := func() routing.DestinationRecord {
		return must[routing.DestinationRecord](t)(s.Destination(t.Context(), line.ID))
	}
	addNotices(t, db, line, 3)
	leased := leaseForDestinations(t, s)
	recordOutcome(t, s, leased[0], accepted())
	recordOutcome(t, s, leased[1], destination.Outcome{Attempt: attempt("HTTP 400"), Class: notify.Rejected})
	if got := last(); got.Health() != "working" || got.LastError != "HTTP 400" {
		t.Errorf("a message that is rejected leaves it %s: %+v", got.Health(), got)
	}
	recordOutcome(t, s, leased[2], accepted())
	if got := last(); got.LastError != "" {
		t.Errorf("the next one was taken, and still: %q", got.LastError)
	}
	addNotices(t, db, line, 1)
	wait := destination.Outcome{Attempt: attempt("HTTP 429"), Class: notify.Retry, DueAt: time.Now().Add(time.Hour)}
	wait.Attempt.Status, wait.Attempt.RetryAfter = 429, time.Minute
	recordOutcome(t, s, leaseOneForDestination(t, s), wait)
	if got := last(); got.Health() != "failing" || got.CircuitOpenUntil.IsZero() {
		t.Errorf("in the pause it is %s: %+v", got.Health(), got)
	}
	pass(t, db, 61*time.Second)
	if got := last(); got.Health() != "working" || !got.CircuitOpenUntil.IsZero() {
		t.Errorf("after the pause it is %s: %+v", got.Health(), got)
	}
}

// A gateway with the wrong key leaves a destination to the other gateways. Without any, the
// deliveries wait for the secrets.
func TestADestinationWithoutItsSecretsWaitsForThem(t *testing.T) {
	dsn := database(t)
	right, wrong, db := openWithKey(t, dsn, reversing{first: "one"}), openWithKey(t, dsn, reversing{first: "two"}), raw(t, dsn)
	must[notify.Routing](t)(wrong.Routing(t.Context())) // it reads the routing before there is a destination
	d := createDestination(t, right, "chat")
	addNotices(t, db, d, 3)
	another := func() { alter(t, db, `UPDATE destinations SET tokens_at = '-infinity'`) }
	for range 2 { // it does not know the destination, then it does
		if leased := leaseForDestinations(t, wrong); len(leased) != 0 {
			t.Fatalf("without the key %+v is leased", leased)
		}
		another()
		requireLines(t, db, `SELECT count(*) FROM deliveries WHERE lease IS NOT NULL OR tried > 0`, 0)
	}
	if leased := leaseForDestinations(t, openWithKey(t, dsn, reversing{first: "two"})); len(leased) != 0 {
		t.Fatalf("a gateway that has just started leases %+v", leased)
	}
	another()
	pass(t, db, -time.Hour) // a clock that was set back makes them due at once, elsewhere
	if due := must[time.Time](t)(wrong.DestinationOutbox.NextDue(t.Context())); !due.IsZero() {
		t.Errorf("without the key the next is due in %v", time.Until(due))
	}
	pass(t, db, time.Hour)
	recordOutcome(t, right, leaseOneForDestination(t, right), accepted())
	another()
	must[routing.DestinationRecord](t)(wrong.ChangeDestination(t.Context(), d.ID, func(d *notify.Destination) error {
		d.Secrets = map[string]string{"bot_token": "again"}
		return nil
	}))
	if again := leaseOneForDestination(t, wrong); again.Attempts != 0 || again.Destination.Secrets["bot_token"] != "again" {
		t.Errorf("leased %+v", again)
	}
}

// A short pause does not become a long one, neither for the next lease nor for the next outcome.
func TestNoPauseOutlastsAClockThatWasSetBack(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	mail := addDestination(t, s, notify.Email, "mail")
	addNotices(t, db, mail, 10)
	asking := retriedIn(0)
	asking.Attempt.RetryAfter = 20 * time.Second
	leased := leaseForDestinations(t, s)
	recordOutcome(t, s, leased[0], asking)
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("%d leased in the pause", len(leased))
	}
	pass(t, db, -50*time.Minute)
	leaseOneForDestination(t, s) // beside three in flight
	recordOutcome(t, s, leased[1], accepted())
	if got := must[routing.DestinationRecord](t)(s.Destination(t.Context(), mail.ID)); !got.CircuitOpenUntil.IsZero() {
		t.Errorf("a success has kept the pause until %v", got.CircuitOpenUntil)
	}
}

func TestTheRateLimitOfADestinationIsKept(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	chat := addDestination(t, s, notify.Slack, "chat") // one a second
	addNotices(t, db, chat, 3)
	first := leaseOneForDestination(t, s)
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("leased %+v in the same second", leased)
	}
	if due := must[time.Time](t)(s.DestinationOutbox.NextDue(t.Context())); time.Until(due) > time.Second {
		t.Errorf("the next is due in %v", time.Until(due))
	}
	lock := func() (locked string) {
		t.Helper()
		if err := db.QueryRow(`SELECT CAST(xmin AS text) || ' ' || CAST(xmax AS text) FROM destinations WHERE id = $1`, chat.ID).Scan(&locked); err != nil {
			t.Fatal(err)
		}
		return locked
	}
	before := lock()
	leaseForDestinations(t, s)
	if after := lock(); after != before {
		t.Errorf("a lease that may not take anything has locked the destination: %s, before %s", after, before)
	}
	recordOutcome(t, s, first, destination.Outcome{}) // nothing was sent: the token is given back
	recordOutcome(t, s, leaseOneForDestination(t, s), accepted())
	pass(t, db, 10*time.Second)
	edited := leaseOneForDestination(t, s) // the others are not saved up
	pushed := accepted()
	pushed.EditedAndPushed = true
	recordOutcome(t, s, edited, pushed)
	addNotices(t, db, chat, 3)
	pass(t, db, 1500*time.Millisecond)
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("leased %+v within 2 s after two requests", leased)
	}
	if due := must[time.Time](t)(s.DestinationOutbox.NextDue(t.Context())); time.Until(due) > 500*time.Millisecond {
		t.Errorf("the next is due in %v", time.Until(due))
	}
	pass(t, db, 500*time.Millisecond)
	leaseOneForDestination(t, s)
}

func TestDeliveriesWaitForNoClockThatWasSetBack(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	hook, chat := addDestination(t, s, notify.Webhook, "hook"), addDestination(t, s, notify.Email, "mail")
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
	alter(t, db, `DELETE FROM deliveries WHERE incident_id IS NOT NULL`)
	addNotices(t, db, chat, 1)
	for _, d := range leaseForDestinations(t, s) {
		recordOutcome(t, s, d, retriedIn(8*time.Hour))
	}
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("leased %+v before they are due", leased)
	}
	pass(t, db, -24*time.Hour)
	if due := must[time.Time](t)(s.DestinationOutbox.NextDue(t.Context())); time.Until(due) > 0 {
		t.Errorf("the next is due in %v", time.Until(due))
	}
	leased := leaseForDestinations(t, s)
	if len(leased) != 2 {
		t.Fatalf("%d leased", len(leased))
	}
	pass(t, db, -24*time.Hour) // the leases last for their length, and no longer
	if again := leaseForDestinations(t, s); len(again) != 0 {
		t.Errorf("%d leased beside those in flight", len(again))
	}
	pass(t, db, time.Minute+time.Second)
	if again := leaseForDestinations(t, s); len(again) != 2 {
		t.Errorf("%d leased after the leases expired", len(again))
	}
	_ = hook
}

// The plan is checked instead of the time: what a lease reads must not grow with backlogs.
func TestABacklogOfDestinationsDoesNotSlowLeases(t *testing.T) {
	for _, analysed := range []string{"never", "before", "after"} {
		t.Run(fmt.Sprintf("10,000 pending at 50 destinations, analysed: %s", analysed), func(t *testing.T) {
			pages := func(backlog int) (int, []byte) {
				dsn := create(t, template)
				db := raw(t, dsn)
				m := register(t, open(t, dsn), 1)
				alter(t, db, `INSERT INTO destinations (id, name, kind, language, config)
					SELECT gen_random_uuid(), n, CASE WHEN n % 2 = 0 THEN 'webhook' ELSE 'email' END, 'en', '{}' FROM generate_series(1, 50) n`)
				if analysed == "before" {
					analyseMade(t, db)
				}
				// Events, of which the first fails, and messages, of which one is due.
				alter(t, db, `INSERT INTO deliveries (id, destination_id, monitor_id, sequence, state, due_at, tried, blocks_until, created_at)
					SELECT gen_random_uuid(), d.id, $1, n, 'pending', now() + make_interval(mins => CASE WHEN n = 1 THEN 9 ELSE 0 END),
					       CASE WHEN n = 1 THEN 3 ELSE 0 END, CASE WHEN n = 1 THEN now() + interval '50 seconds' END, now()
					FROM destinations d, generate_series(1, $2) n WHERE d.kind = 'webhook'`, m.ID, backlog)
				alter(t, db, `INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at)
					SELECT gen_random_uuid(), d.id, '{}', 'pending', now() + make_interval(mins => CASE WHEN n = 1 THEN 0 ELSE 9 END), now()
					FROM destinations d, generate_series(1, $1) n WHERE d.kind = 'email'`, backlog)
				alter(t, db, `INSERT INTO deliveries (id, destination_id, monitor_id, sequence, state, created_at)
					SELECT gen_random_uuid(), d.id, $1, -n, 'delivered', now() FROM destinations d, generate_series(1, $2) n`, m.ID, backlog)
				if analysed == "after" {
					alter(t, db, `ANALYZE`)
				}
				return explain(t, db, postgres.DestinationLeaseQuery, 32, 60, uuid.NewString(), "{}", destination.MaxPerDestination, notify.CircuitFailures, postgres.RateLimits, "{}")
			}
			few, _ := pages(20)
			if many, plan := pages(200); many > 2*few {
				t.Errorf("leasing looked at %d pages with 200 pending at each destination, at %d with 20: %s", many, few, plan)
			}
		})
	}
}

// analyseMade makes the statistics know of deliveries that were made, and of no backlog.
func analyseMade(t *testing.T, db *sql.DB) {
	t.Helper()
	alter(t, db, `INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at)
		SELECT gen_random_uuid(), id, '{}', 'delivered', NULL, now() FROM destinations, generate_series(1, 200)`)
	alter(t, db, `ANALYZE`)
}

// A lease looks at the monitors whose events it takes, and not at all that have something pending.
func TestABacklogOfManyMonitorsDoesNotSlowLeases(t *testing.T) {
	for _, analysed := range []string{"never", "before", "after"} {
		t.Run(fmt.Sprintf("analysed: %s", analysed), func(t *testing.T) {
			pages := func(monitors int) (int, []byte) {
				dsn := create(t, template)
				open(t, dsn)
				db := raw(t, dsn)
				alter(t, db, `INSERT INTO destinations (id, name, kind, language, config) SELECT gen_random_uuid(), n, 'webhook', 'en', '{}' FROM generate_series(1, 20) n`)
				if analysed == "before" {
					analyseMade(t, db)
				}
				alter(t, db, `INSERT INTO deliveries (id, destination_id, monitor_id, sequence, state, due_at, created_at)
					SELECT gen_random_uuid(), d.id, 'mon_' || n, s, 'pending', now(), now() FROM destinations d, generate_series(1, $1) n, generate_series(1, 2) s`, monitors)
				if analysed == "after" {
					alter(t, db, `ANALYZE`)
				}
				return explain(t, db, postgres.DestinationLeaseQuery, 128, 60, uuid.NewString(), "{}", destination.MaxPerDestination, notify.CircuitFailures, postgres.RateLimits, "{}")
			}
			few, _ := pages(20)
			if many, plan := pages(200); many > 2*few {
				t.Errorf("leasing looked at %d pages with 200 monitors at each destination, at %d with 20: %s", many, few, plan)
			}
		})
	}
}

// The monitors at a destination take turns: one that always has more delays no other.
func TestMonitorsTakeTurnsAtADestination(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	addDestination(t, s, notify.Webhook, "hook")
	const monitors, each = 3 * destination.MaxPerDestination, 3
	for n := range monitors {
		m := register(t, s, n)
		for i := range each {
			acceptReport(t, s, m.ID, report(blackout(i)), monitor.Run)
		}
	}
	alter(t, db, `DELETE FROM deliveries WHERE event_id IS NULL`)
	for turn := 1; turn <= each; turn++ {
		served := map[monitor.ID]bool{}
		for range monitors / destination.MaxPerDestination {
			for _, d := range leaseForDestinations(t, s) {
				if d.Event.Sequence != int64(turn) {
					t.Errorf("in turn %d event %d of %s is leased", turn, d.Event.Sequence, d.Event.MonitorID)
				}
				served[d.Event.MonitorID] = true
				recordOutcome(t, s, d, accepted())
			}
		}
		if len(served) != monitors {
			t.Errorf("in turn %d the events of %d monitors are leased, want %d", turn, len(served), monitors)
		}
	}
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Errorf("leased %+v at the end", leased)
	}
}

// A delivery that cannot be read would take up one of the four places of its destination.
func TestADeliveryThatCannotBeReadFails(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	addNotices(t, db, addDestination(t, s, notify.Webhook, "hook"), destination.MaxPerDestination+1)
	alter(t, db, `UPDATE deliveries SET notice = '5', due_at = due_at - interval '1 minute' WHERE id IN (SELECT id FROM deliveries LIMIT $1)`, destination.MaxPerDestination)
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("leased %+v", leased)
	}
	leaseOneForDestination(t, s)
	if n := countRows(t, db, `deliveries WHERE state = 'failed' AND last_error LIKE 'the gateway cannot read it: %' AND lease IS NULL`); n != destination.MaxPerDestination {
		t.Errorf("%d have failed", n)
	}
}
