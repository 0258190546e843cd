package postgres_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const defaultRoute = "01900000-0000-7000-8000-000000000001"

// addDestination stores a destination to which the default route leads.
func addDestination(t testing.TB, s *postgres.Store, kind notify.Kind, name string) notify.Destination {
	t.Helper()
	d := must[routing.DestinationRecord](t)(s.CreateDestination(t.Context(), notify.Destination{
		ID: newID(), Name: name, Kind: kind, Language: notify.English, Enabled: true, Config: map[string]string{"channel": "C1"},
	})).Destination
	must[routing.RouteRecord](t)(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error {
		r.Destinations = append(r.Destinations, d.ID)
		return nil
	}))
	return d
}

// leaseForDestinations leases up to 100 deliveries.
func leaseForDestinations(t testing.TB, s *postgres.Store) []destination.Delivery {
	t.Helper()
	return must[[]destination.Delivery](t)(s.DestinationOutbox.Lease(t.Context(), 100, time.Minute))
}

// leaseOneForDestination leases the only delivery to a destination that can be leased.
func leaseOneForDestination(t testing.TB, s *postgres.Store) destination.Delivery {
	t.Helper()
	leased := leaseForDestinations(t, s)
	if len(leased) != 1 {
		t.Fatalf("%d deliveries leased, want 1: %+v", len(leased), leased)
	}
	return leased[0]
}

// recordOutcome stores an outcome and returns why the destination was disabled.
func recordOutcome(t testing.TB, s *postgres.Store, d destination.Delivery, o destination.Outcome) string {
	t.Helper()
	return must[string](t)(s.DestinationOutbox.RecordAttempt(t.Context(), d, o))
}

// attempt returns an attempt that no other test call has made.
func attempt(problem string) *delivery.Attempt {
	attemptsMade++
	return &delivery.Attempt{At: noon.Add(time.Duration(attemptsMade) * time.Millisecond), Status: 200, Error: problem}
}

var attemptsMade int

// tell does with a leased thread what a dispatcher does: it sends the next message, and
// returns its kind; empty: there is nothing to tell now.
func tell(t testing.TB, s *postgres.Store, d destination.Delivery) notify.MessageKind {
	t.Helper()
	var thread destination.ThreadFacts
	switch {
	case d.Incident != nil:
		thread = d.Incident.ThreadFacts
	case d.Storm != nil:
		thread = d.Storm.ThreadFacts
	default:
		t.Fatalf("%+v is no thread", d)
	}
	now := time.Now()
	step := notify.Next(now, thread.Situation, thread.Notified, thread.Policy)
	if step.Kind == "" {
		recordOutcome(t, s, d, destination.Outcome{DueAt: step.At})
		return ""
	}
	told := thread.Notified.After(thread.Situation, step, now, "ref")
	recordOutcome(t, s, d, destination.Outcome{
		Attempt: attempt(""), Delivered: true, Notified: &told, DueAt: notify.Next(now, thread.Situation, told, thread.Policy).At,
	})
	return step.Kind
}

// tellAll sends all messages that are due, until none is. It returns the messages by destination and
// kind.
func tellAll(t testing.TB, s *postgres.Store) map[string]int {
	t.Helper()
	sent := map[string]int{}
	for range 100 {
		leased := leaseForDestinations(t, s)
		if len(leased) == 0 {
			return sent
		}
		for _, d := range leased {
			if kind := tell(t, s, d); kind != "" {
				sent[d.Destination.Name+" "+string(kind)]++
			}
		}
	}
	t.Fatal("there is always something due")
	return nil
}

// expectSent sends all messages that are due and fails the test unless exactly these messages were sent.
func expectSent(t testing.TB, s *postgres.Store, want ...string) {
	t.Helper()
	wanted := map[string]int{}
	for _, w := range want {
		wanted[w]++
	}
	if sent := tellAll(t, s); fmt.Sprint(sent) != fmt.Sprint(wanted) {
		t.Errorf("the messages are %v, want %v", sent, wanted)
	}
}

// pass lets time pass for the deliveries: it moves their times back.
func pass(t testing.TB, db *sql.DB, d time.Duration) {
	t.Helper()
	alter(t, db, `UPDATE deliveries SET due_at = due_at - make_interval(secs => $1), planned_at = planned_at - make_interval(secs => $1),
		round_began_at = round_began_at - make_interval(secs => $1), blocks_until = blocks_until - make_interval(secs => $1),
		leased_until = leased_until - make_interval(secs => $1)`, d.Seconds())
	alter(t, db, `UPDATE destinations SET closed_until = closed_until - make_interval(secs => $1), paused_at = paused_at - make_interval(secs => $1), tokens_at = tokens_at - make_interval(secs => $1)
		WHERE tokens_at > '-infinity'`, d.Seconds())
}

// justNow is when the trouble of a test begins that lasts.
func justNow() time.Time { return time.Now().UTC().Add(-40 * time.Second).Truncate(time.Second) }

func TestEventsAndIncidentsReachTheirDestinations(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	hook, chat := addDestination(t, s, notify.Webhook, "hook"), addDestination(t, s, notify.Discord, "chat")
	m := register(t, s, 1)
	onset := justNow()
	black, over := trouble(detector.Blackout, onset), recovery(detector.Blackout, onset, onset.Add(35*time.Second))
	acceptReport(t, s, m.ID, report(black), monitor.Run)
	i := onlyIncident(t, s, m.ID)

	var events []string
	for range 2 {
		for _, d := range leaseForDestinations(t, s) {
			switch {
			case d.Event != nil:
				if d.Destination.ID != hook.ID || d.Event.MonitorID != m.ID || d.Event.Sequence != int64(len(events)+1) || len(d.Event.Body) == 0 {
					t.Errorf("the event is %+v at %s", d.Event, d.Destination.Name)
				}
				events = append(events, d.Event.EventID)
				recordOutcome(t, s, d, destination.Outcome{Attempt: attempt(""), Delivered: true})
			case d.Incident != nil:
				if d.Destination.ID != chat.ID || d.Incident.Incident.ID != i.ID || d.Incident.MonitorID != m.ID || d.Incident.StreamURL != m.StreamURL ||
					string(d.Incident.Metadata) != string(m.Metadata) || d.Incident.Situation.Severity != 1 {
					t.Errorf("the incident is %+v at %s", d.Incident, d.Destination.Name)
				}
				tell(t, s, d)
			}
		}
		acceptReport(t, s, m.ID, report(black, over), monitor.Run) // the answer to the first was lost
	}
	if len(events) != 2 || events[0] != black.ID || events[1] != over.ID {
		t.Errorf("the events are %v, want %s and %s", events, black.ID, over.ID)
	}
	expectSent(t, s) // nobody is woken while nothing lasts
	alter(t, raw(t, dsn), `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,ended_at}', to_jsonb(now() - interval '5 minutes'))`)
	sweepIncidents(t, s)
	expectSent(t, s, "chat recovered")
}

func TestWithoutDestinationsNothingIsStored(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	if n := countRows(t, raw(t, dsn), `deliveries`); n != 0 {
		t.Errorf("%d deliveries", n)
	}
}

// A defect of the tables of destinations must not cost an event. When it is repaired, the
// destinations get the event, once.
func TestAnEventIsStoredEvenIfItsDeliveriesAreRefused(t *testing.T) {
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	addDestination(t, s, notify.Webhook, "hook")
	alter(t, db, `ALTER TABLE deliveries ADD CONSTRAINT broken CHECK (state <> 'pending')`)
	m := register(t, s, 1)
	lost := trouble(detector.Blackout, justNow())
	acceptReport(t, s, m.ID, report(lost), monitor.Run)
	if leaseOne(t, s).MonitorID != m.ID || onlyIncident(t, s, m.ID).State != incident.Open {
		t.Error("the event or its incident is missing")
	}
	alter(t, db, `ALTER TABLE deliveries DROP CONSTRAINT broken`)
	later := trouble(detector.Silence, justNow())
	acceptReport(t, s, m.ID, report(later), monitor.Run)
	for range 2 {
		alter(t, db, `UPDATE routing_version SET planned_at = '-infinity'`)
		if err := s.ReplanOpenIncidents(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := countRows(t, db, `deliveries WHERE event_id IS NOT NULL`); n != 2 {
		t.Errorf("%d deliveries of events are stored", n)
	}
	if n := countRows(t, db, `deliveries WHERE event_id = '`+lost.ID+`' AND sequence = 2`); n != 1 {
		t.Error("the event has not its delivery behind the newer one")
	}
}

// An event is not stored without its deliveries or its incident because of what passes by
// itself: nobody would be notified of the incident.
func TestAnEventWaitsUntilItsDeliveriesAndItsIncidentCanBeStored(t *testing.T) {
	for _, c := range []struct{ table, refusal string }{
		{"deliveries", "disk_full"}, {"deliveries", "lock_not_available"}, {"deliveries", "query_canceled"},
		{"incidents", "disk_full"}, {"incidents", "lock_not_available"}, {"incidents", "query_canceled"},
	} {
		t.Run(c.table+" "+c.refusal, func(t *testing.T) {
			dsn := create(t, template)
			s := open(t, dsn)
			addDestination(t, s, notify.Webhook, "hook")
			m := register(t, s, 1)
			alter(t, raw(t, dsn), `
				CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused'' USING ERRCODE = ''`+c.refusal+`''; END';
				CREATE TRIGGER refuse BEFORE INSERT ON `+c.table+` EXECUTE FUNCTION refuse()`)
			r := report(trouble(detector.Blackout, justNow()))
			if _, err := s.Accept(t.Context(), m.ID, r); err == nil {
				t.Error("the event is stored without its delivery")
			}
			alter(t, raw(t, dsn), `DROP TRIGGER refuse ON `+c.table)
			acceptReport(t, s, m.ID, r, monitor.Run)
			if d := leaseOneForDestination(t, s); d.Event == nil || d.Event.Sequence != 1 {
				t.Errorf("the delivery is %+v", d)
			}
			if onlyIncident(t, s, m.ID).State != incident.Open {
				t.Error("the incident is not open")
			}
		})
	}
}

// An event whose incident is refused goes where the worst goes.
func TestAnEventWithoutItsIncidentIsRoutedAsTheWorst(t *testing.T) {
	dsn := create(t, template)
	s := open(t, dsn)
	hook := addDestination(t, s, notify.Webhook, "hook")
	must[routing.RouteRecord](t)(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Destinations = nil; return nil }))
	must[routing.RouteRecord](t)(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "severe", Destinations: []string{hook.ID},
		Match: notify.Match{MinSeverity: 3, Conditions: []incident.Name{"black"}}}))
	m, other := register(t, s, 1), register(t, s, 2)
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Fatalf("an event of severity 1 went to %+v", leased)
	}
	alter(t, raw(t, dsn), `ALTER TABLE incidents ADD CONSTRAINT broken CHECK (monitor_id <> '`+string(other.ID)+`')`)
	e := trouble(detector.Blackout, justNow())
	acceptReport(t, s, other.ID, report(e), monitor.Run)
	if d := leaseOneForDestination(t, s); d.Event == nil || d.Event.EventID != e.ID {
		t.Errorf("leased %+v, want %s", d, e.ID)
	}

	// Its deliveries may be refused, too.
	db := raw(t, dsn)
	alter(t, db, `ALTER TABLE deliveries ADD CONSTRAINT broken CHECK (false) NOT VALID`)
	added := trouble(detector.Blackout, justNow())
	acceptReport(t, s, other.ID, report(added), monitor.Run)
	alter(t, db, `ALTER TABLE deliveries DROP CONSTRAINT broken`)
	alter(t, db, `UPDATE routing_version SET planned_at = '-infinity'`)
	if err := s.ReplanOpenIncidents(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, db, `deliveries WHERE event_id = '`+added.ID+`'`); n != 1 {
		t.Errorf("%d deliveries of the event were added, want 1", n)
	}
}

func TestAnIncidentIsToldAsItChanges(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	addDestination(t, s, notify.Discord, "chat")
	addDestination(t, s, notify.Email, "mail") // cannot edit, waits for a picture
	m := register(t, s, 1)
	onset := justNow()
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, onset)), monitor.Run)
	pass(t, raw(t, dsn), 5*time.Second)
	expectSent(t, s, "chat opened", "mail opened")
	expectSent(t, s)
	i := onlyIncident(t, s, m.ID)
	act := func(kind incident.EntryKind) {
		t.Helper()
		must[incident.Entry](t)(s.ActOnIncident(t.Context(), i.ID, record.IncidentAction{OpID: newID(), Kind: kind, By: "ann"}))
	}
	act(incident.Acknowledged)
	expectSent(t, s, "chat acknowledged", "mail acknowledged")
	act(incident.WasResolved)
	expectSent(t, s, "chat recovered", "mail recovered")
}

func TestAPictureReachesTheMessages(t *testing.T) {
	s := open(t, database(t))
	addDestination(t, s, notify.Discord, "chat")
	addDestination(t, s, notify.Email, "mail") // waits for a picture, 3 s at most
	m := register(t, s, 1)
	alert := trouble(detector.Blackout, time.Now().UTC().Add(-30*time.Second))
	acceptReport(t, s, m.ID, report(alert), monitor.Run)
	expectSent(t, s, "chat opened")
	onset := []byte("onset")
	r := newEvidence(t, s, m.ID, file(evidence.Onset, onset))
	r.EventID = alert.ID
	upload(t, s, r, onset)
	expectSent(t, s, "chat updated", "mail opened")
}

// A change while a message is being sent is told by the next one.
func TestAChangeDuringAnAttemptIsTold(t *testing.T) {
	s := open(t, database(t))
	addDestination(t, s, notify.Discord, "chat")
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	opening := leaseOneForDestination(t, s)
	must[incident.Entry](t)(s.ActOnIncident(t.Context(), onlyIncident(t, s, m.ID).ID, record.IncidentAction{OpID: "a", Kind: incident.Acknowledged, By: "ann"}))
	expectSent(t, s) // it is in flight
	if kind := tell(t, s, opening); kind != notify.Opened {
		t.Errorf("the message is %s", kind)
	}
	expectSent(t, s, "chat acknowledged")
}

// The end of an attempt may be stored while a change waits for the row.
func TestAChangeThatWaitsForTheEndOfAnAttemptIsTold(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	addDestination(t, s, notify.Discord, "chat")
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	leased := leaseOneForDestination(t, s)
	told := leased.Incident.Notified.After(leased.Incident.Situation, notify.NextMessage{Kind: notify.Opened, Push: true}, time.Now(), "ref")
	encoded := must[[]byte](t)(json.Marshal(told))

	end := must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))
	if _, err := end.ExecContext(t.Context(), `UPDATE deliveries SET state = 'delivered', told = $1, due_at = NULL, leased_until = NULL, lease = NULL`, string(encoded)); err != nil {
		t.Fatal(err)
	}
	acted := make(chan error, 1)
	go func() {
		_, err := s.ActOnIncident(t.Context(), leased.Incident.Incident.ID, record.IncidentAction{OpID: "a", Kind: incident.Acknowledged, By: "ann"})
		acted <- err
	}()
	eventually(t, "the change waits", func() bool {
		return countRows(t, db, `pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`) > 0
	})
	if err := errors.Join(end.Commit(), <-acted); err != nil {
		t.Fatal(err)
	}
	expectSent(t, s, "chat acknowledged")
}

// A sweep holds the incident, and a report that holds the monitor waits for it. So the sweep
// must not wait for the monitor.
func TestASweepAddsAThreadWhileAReportHoldsTheMonitor(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	chief := addDestination(t, s, notify.Discord, "chief")
	must[routing.RouteRecord](t)(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Destinations = nil; return nil }))
	must[routing.RouteRecord](t)(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "severe", Destinations: []string{chief.ID}, Match: notify.Match{MinSeverity: 2}}))
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	expectSent(t, s)
	alter(t, db, `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,last_started_at}', to_jsonb(now() - interval '5 minutes'))`)
	holder := must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.ExecContext(t.Context(), `SELECT FROM monitors FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	sweepIncidents(t, s)
	expectSent(t, s, "chief opened")
}

func TestRoutesSelectByMetadataAndDelayAndRepeat(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	chief := addDestination(t, s, notify.Discord, "chief")
	must[routing.RouteRecord](t)(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Destinations = nil; return nil }))
	must[routing.RouteRecord](t)(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "escalation", Destinations: []string{chief.ID},
		Match: notify.Match{Metadata: map[string]string{"a": "<配信>"}}, Delay: 10 * time.Minute}))
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	expectSent(t, s)
	alter(t, db, `UPDATE incidents SET opened_at = opened_at - interval '10 minutes'`)
	pass(t, db, 10*time.Minute)
	expectSent(t, s, "chief opened")
}

// Two transactions may give one number to two events. Neither event may be left out.
func TestASequenceThatIsTakenMeanwhileLosesNoEvent(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	hook := addDestination(t, s, notify.Webhook, "hook")
	m := register(t, s, 1)
	other := must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))
	defer func() { _ = other.Rollback() }()
	if _, err := other.ExecContext(t.Context(), `INSERT INTO deliveries (id, destination_id, monitor_id, sequence, state, created_at)
		VALUES (gen_random_uuid(), $1, $2, 1, 'delivered', now())`, hook.ID, m.ID); err != nil {
		t.Fatal(err)
	}
	e := trouble(detector.Blackout, justNow())
	added := make(chan error, 1)
	go func() { added <- s.AddEvent(t.Context(), m, e) }()
	eventually(t, "the event waits", func() bool {
		return countRows(t, db, `pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`) > 0
	})
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-added; err == nil {
		t.Error("the event is stored without its delivery")
	}
	if err := s.AddEvent(t.Context(), m, e); err != nil {
		t.Fatal(err)
	}
	if d := leaseOneForDestination(t, s); d.Event == nil || d.Event.Sequence != 2 {
		t.Errorf("the delivery is %+v", d)
	}
}
