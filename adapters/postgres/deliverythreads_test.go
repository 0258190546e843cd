package postgres_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const defaultRoute = "01900000-0000-7000-8000-000000000001"

// addDestination stores a destination to which the default route leads.
func addDestination(t testing.TB, s *postgres.Store, kind notify.Kind, name string) notify.Destination {
	t.Helper()
	d := must(s.CreateDestination(t.Context(), notify.Destination{
		ID: newID(), Name: name, Kind: kind, Language: notify.English, Enabled: true, Config: map[string]string{"channel": "C1"},
	}))(t).Destination
	must(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error {
		r.Destinations = append(r.Destinations, d.ID)
		return nil
	}))(t)
	return d
}

// route routes the incidents that have changed.
func route(t testing.TB, s *postgres.Store) {
	t.Helper()
	for must(s.RouteIncidents(t.Context()))(t) {
	}
}

// leaseForDestinations routes what has changed, and leases up to 100 deliveries to destinations.
func leaseForDestinations(t testing.TB, s *postgres.Store) (leased []delivery.Delivery) {
	t.Helper()
	route(t, s)
	for {
		one := must(s.Lease(t.Context(), 100, time.Minute))(t)
		leased = append(leased, one.Deliveries...)
		if !one.More {
			return slices.DeleteFunc(leased, func(d delivery.Delivery) bool { return d.Callback != "" })
		}
	}
}

// leaseOneForDestination leases the only delivery to a destination that can be leased.
func leaseOneForDestination(t testing.TB, s *postgres.Store) delivery.Delivery {
	t.Helper()
	leased := leaseForDestinations(t, s)
	if len(leased) != 1 {
		t.Fatalf("%d deliveries leased, want 1: %+v", len(leased), leased)
	}
	return leased[0]
}

// recordOutcome stores an outcome and returns why the destination was disabled.
func recordOutcome(t testing.TB, s *postgres.Store, d delivery.Delivery, o delivery.Outcome) string {
	t.Helper()
	return must(s.Record(t.Context(), d, o))(t).Disabled
}

// attempt returns an attempt that no other test call has made.
func attempt(problem string) event.Attempt {
	attemptsMade++
	return event.Attempt{At: noon.Add(time.Duration(attemptsMade) * time.Millisecond), Status: 200, Error: problem}
}

var attemptsMade int

// delivered, rejected and retried are outcomes of attempts that no other test call has made.
func delivered() delivery.Outcome { return outcomeOf(attempt(""), sent) }

func rejected() delivery.Outcome {
	return delivery.Outcome{Decision: notify.Decision{Failed: true}, Result: message.Result{Attempt: attempt("no"), Class: notify.Rejected}}
}

func retried(pause time.Duration) delivery.Outcome {
	return outcomeOf(attempt("no"), notify.Decision{RetryAt: time.Now().Add(pause)})
}

// tell does with a leased thread what a dispatcher does: it sends the message, and returns its kind.
func tell(t testing.TB, s *postgres.Store, d delivery.Delivery) notify.MessageKind {
	t.Helper()
	if d.Incident == nil && d.Storm == nil {
		t.Fatalf("%+v is no thread", d)
	}
	told := d.Notified.After(d.Message.Situation, d.Message.NextMessage, d.Now, "ref")
	o := delivered()
	o.Notified = &told
	recordOutcome(t, s, d, o)
	return d.Message.Kind
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
	alter(t, db, `UPDATE deliveries SET due_at = due_at - make_interval(secs => $1), round_began_at = round_began_at - make_interval(secs => $1),
		failing_since = failing_since - make_interval(secs => $1)`, d.Seconds())
	alter(t, db, `UPDATE destinations SET circuit_open_until = circuit_open_until - make_interval(secs => $1), tokens_at = tokens_at - make_interval(secs => $1)`, d.Seconds())
}

// justNow is when the trouble of a test begins that lasts.
func justNow() time.Time { return time.Now().UTC().Add(-40 * time.Second).Truncate(time.Second) }

// goBlack stores a report of each monitor that its stream is black.
func goBlack(t testing.TB, s *postgres.Store, ids ...monitor.ID) {
	t.Helper()
	for _, id := range ids {
		acceptReport(t, s, id, report(trouble(detector.Blackout, justNow())), monitor.Run)
	}
}

// registerBlack registers a monitor whose stream is black.
func registerBlack(t testing.TB, s *postgres.Store, n int) monitor.Monitor {
	t.Helper()
	return registerWith(t, s, n, trouble(detector.Blackout, justNow()))
}

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
				recordOutcome(t, s, d, delivered())
			case d.Incident != nil:
				if d.Destination.ID != chat.ID || d.Incident.ID != i.ID || d.Incident.MonitorID != m.ID || d.Incident.StreamURL != m.StreamURL ||
					!maps.Equal(d.Incident.Metadata, notify.FlattenMetadata(m.Metadata)) || d.Message.Situation.Severity != 1 {
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

func TestWithoutDestinationsOnlyTheCallbackIsDelivered(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	registerBlack(t, s, 1)
	route(t, s)
	if n := countRows(t, raw(t, dsn), `deliveries`); n != 1 {
		t.Errorf("%d deliveries", n)
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

// A refusal of the incident of a monitor parks its record, and nothing else: its alerts go where the
// worst goes, other monitors are told of, and the record is stored again when the cause is removed.
func TestAMonitorWhoseIncidentIsRefusedIsParked(t *testing.T) {
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	hook := addDestination(t, s, notify.Webhook, "hook")
	must(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Destinations = nil; return nil }))(t)
	must(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "severe", Destinations: []string{hook.ID},
		Match: notify.Match{MinSeverity: 3, Conditions: []incident.Name{"black"}}}))(t)
	m, broken := register(t, s, 1), register(t, s, 2)
	alter(t, db, `ALTER TABLE incidents ADD CONSTRAINT broken CHECK (monitor_id <> '`+string(broken.ID)+`')`)
	alert := trouble(detector.Blackout, justNow())
	refused, alone := s.AcceptTogether(t.Context(), map[monitor.ID]monitor.Report{m.ID: report(trouble(detector.Blackout, justNow())), broken.ID: report(alert)})
	if len(refused) != 0 || len(alone) != 2 {
		t.Fatalf("refused %v, alone %v: the group is not stored one by one", refused, alone)
	}
	goBlack(t, s, m.ID)
	acceptReport(t, s, broken.ID, report(alert), monitor.Run)
	if d := leaseOneForDestination(t, s); d.Event == nil || d.Event.EventID != alert.ID {
		t.Errorf("leased %+v, want %s", d, alert.ID)
	}
	if onlyIncident(t, s, m.ID).State != incident.Open {
		t.Error("the incident of another monitor is missing")
	}
	parked := func() int { return countRows(t, db, `monitors WHERE record_parked_since IS NOT NULL`) }
	if n := parked(); n != 1 {
		t.Fatalf("%d monitors are parked", n)
	}
	alter(t, db, `ALTER TABLE incidents DROP CONSTRAINT broken`)
	acceptReport(t, s, broken.ID, report(trouble(detector.Silence, justNow())), monitor.Run)
	if n := len(listIncidents(t, s, broken.ID)); n != 0 || parked() != 1 {
		t.Errorf("it has %d incidents while it is parked", n)
	}
	check(t, s.RetryRecords(t.Context()))
	goBlack(t, s, broken.ID)
	if onlyIncident(t, s, broken.ID).State != incident.Open || parked() != 0 {
		t.Error("it is still parked")
	}
}

// A monitor that ends while it is parked gets no more reports. Its incident is resolved when its record
// is tried again.
func TestTheIncidentOfAMonitorThatEndsParkedIsResolved(t *testing.T) {
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	m := registerBlack(t, s, 1)
	alter(t, db, `ALTER TABLE incidents ADD CONSTRAINT broken CHECK (monitor_id <> '`+string(m.ID)+`') NOT VALID`)
	at := justNow()
	must(s.End(t.Context(), m.ID, monitor.Stopped, "", nil, at))(t)
	expect := func(when string, state incident.State, parked int) {
		t.Helper()
		if got, n := onlyIncident(t, s, m.ID).State, countRows(t, db, `monitors WHERE record_parked_since IS NOT NULL`); got != state || n != parked {
			t.Errorf("%s: the incident is %s and %d monitors are parked, want %s and %d", when, got, n, state, parked)
		}
	}
	retry := func() {
		t.Helper()
		check(t, s.RetryRecords(t.Context()))
	}
	expect("ended", incident.Open, 1)
	retry()
	expect("refused again", incident.Open, 1)
	alter(t, db, `ALTER TABLE incidents DROP CONSTRAINT broken`)
	retry()
	expect("stored", incident.Resolved, 0)
}

// A message that a gateway has sent before it died may have arrived: it has the same name when it is sent again, also
// if the incident has changed meanwhile. Only so LINE and ntfy show it once.
func TestAMessageOfADeadGatewayKeepsItsName(t *testing.T) {
	s, db := newStore(t)
	takeOver := func() {
		check(t, s.TakeOverLeases(t.Context(), "here"))
	}
	for name, end := range map[string]func(){
		"it is restarted":   takeOver,
		"its lease expires": func() { alter(t, db, `UPDATE deliveries SET due_at = now() - interval '1 s' WHERE lease IS NOT NULL`) },
	} {
		t.Run(name, func(t *testing.T) {
			takeOver()
			addDestination(t, s, notify.LINE, "line "+name)
			m := register(t, s, len(name))
			goBlack(t, s, m.ID)
			sent := leaseForDestinations(t, s)
			end()
			alter(t, db, `UPDATE incidents SET unrouted = unrouted + 1 WHERE monitor_id = $1`, m.ID)
			again := leaseForDestinations(t, s)
			if len(sent) == 0 || len(again) != len(sent) {
				t.Fatalf("leased %d, and then %d", len(sent), len(again))
			}
			for i := range sent {
				if again[i].ID != sent[i].ID || !again[i].RoundBeganAt.Equal(sent[i].RoundBeganAt) {
					t.Errorf("leased %s, first due at %s; it was %s at %s", again[i].ID, again[i].RoundBeganAt, sent[i].ID, sent[i].RoundBeganAt)
				}
				recordOutcome(t, s, again[i], delivered())
			}
		})
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
		must(s.ActOnIncident(t.Context(), i.ID, incidents.Action{OpID: newID(), Kind: kind, By: "ann"}))(t)
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

// acknowledge acknowledges the incident of a monitor, and returns when that is stored. It is answered, and
// answered returns, when no message is in flight.
func acknowledge(t testing.TB, s *postgres.Store, id monitor.ID) (answered func()) {
	t.Helper()
	incidentID := onlyIncident(t, s, id).ID
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := s.ActOnIncident(t.Context(), incidentID, incidents.Action{OpID: newID(), Kind: incident.Acknowledged, By: "ann"}); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the acknowledgement is stored", func() bool { return onlyIncident(t, s, id).AcknowledgedBy != "" })
	return waiting.Wait
}

// When an acknowledgement is answered, no push about the incident is under way, nor comes one.
func TestNothingIsPushedAfterAnAcknowledgement(t *testing.T) {
	const rounds = 50
	dsn := database(t)
	s, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	addDestination(t, s, notify.Ntfy, "phone")
	var answered sync.Map // IDs of incidents
	done := make(chan struct{})
	var sending sync.WaitGroup
	pushes := 0
	sending.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_, err := other.RouteIncidents(t.Context())
			leased, failed := other.Lease(t.Context(), 100, time.Minute)
			if err = errors.Join(err, failed); err != nil {
				t.Error(err)
			}
			for _, d := range leased.Deliveries {
				if d.Incident != nil && d.Message.Push {
					pushes++
					if _, is := answered.Load(d.Incident.ID); is {
						t.Error("an incident is pushed after its acknowledgement was answered")
					}
				}
				if err := deliverOnce(t, other, d); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for n := range rounds {
		m := registerBlack(t, s, n)
		id := onlyIncident(t, s, m.ID).ID
		time.Sleep(time.Duration(n%10) * time.Millisecond) // at another moment of the race
		must(s.ActOnIncident(t.Context(), id, incidents.Action{OpID: newID(), Kind: incident.Acknowledged, By: "ann"}))(t)
		answered.Store(id, true)
		resolveIncident(t, s, m.ID)
		alter(t, db, `UPDATE destinations SET tokens_at = NULL`) // the rate limit allows all
	}
	close(done)
	sending.Wait()
	t.Logf("%d of %d incidents were pushed before", pushes, rounds)
}

// A change while a message is being sent is told by the next one.
func TestAChangeDuringAnAttemptIsTold(t *testing.T) {
	s := open(t, database(t))
	addDestination(t, s, notify.Discord, "chat")
	m := registerBlack(t, s, 1)
	opening := leaseOneForDestination(t, s)
	answered := acknowledge(t, s, m.ID)
	expectSent(t, s) // it is in flight
	if kind := tell(t, s, opening); kind != notify.Opened {
		t.Errorf("the message is %s", kind)
	}
	answered()
	expectSent(t, s, "chat acknowledged")
}

// The end of an attempt may be stored while a change waits for the row.
func TestAChangeThatWaitsForTheEndOfAnAttemptIsTold(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	m := registerBlack(t, s, 1)
	leased := leaseOneForDestination(t, s)
	told := leased.Notified.After(leased.Message.Situation, leased.Message.NextMessage, time.Now(), "ref")
	encoded := must(json.Marshal(told))(t)

	end := must(db.BeginTx(t.Context(), nil))(t)
	must(end.ExecContext(t.Context(), `UPDATE deliveries SET state = 'delivered', told = $1, due_at = NULL, lease = NULL WHERE incident_id IS NOT NULL`, string(encoded)))(t)
	answered := acknowledge(t, s, m.ID)
	routed := make(chan error, 1)
	go func() {
		_, err := s.RouteIncidents(t.Context())
		routed <- err
	}()
	eventually(t, "the change waits", func() bool {
		return countRows(t, db, `pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`) > 0
	})
	check(t, errors.Join(end.Commit(), <-routed))
	answered()
	expectSent(t, s, "chat acknowledged")
}

// A sweep holds the incident, and a report that holds the monitor waits for it. So the sweep
// must not wait for the monitor.
func TestASweepAddsAThreadWhileAReportHoldsTheMonitor(t *testing.T) {
	s, db := newStore(t)
	chief := addDestination(t, s, notify.Discord, "chief")
	must(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Destinations = nil; return nil }))(t)
	must(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "severe", Destinations: []string{chief.ID}, Match: notify.Match{MinSeverity: 2}}))(t)
	registerBlack(t, s, 1)
	expectSent(t, s)
	alter(t, db, `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,last_started_at}', to_jsonb(now() - interval '5 minutes'))`)
	holding(t, db, `SELECT FROM monitors FOR UPDATE`)
	sweepIncidents(t, s)
	expectSent(t, s, "chief opened")
}

func TestRoutesSelectByMetadataAndDelayAndRepeat(t *testing.T) {
	s, db := newStore(t)
	chief := addDestination(t, s, notify.Discord, "chief")
	must(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Destinations = nil; return nil }))(t)
	must(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "escalation", Destinations: []string{chief.ID},
		Match: notify.Match{Metadata: map[string]string{"a": "<配信>"}}, DelaySec: 600}))(t)
	registerBlack(t, s, 1)
	expectSent(t, s)
	alter(t, db, `UPDATE incidents SET opened_at = opened_at - interval '10 minutes'`)
	pass(t, db, 10*time.Minute)
	expectSent(t, s, "chief opened")
}

// Two transactions may give one number to two events. Neither event may be left out.
func TestASequenceThatIsTakenMeanwhileLosesNoEvent(t *testing.T) {
	s, db := newStore(t)
	hook := addDestination(t, s, notify.Webhook, "hook")
	m := register(t, s, 1)
	other := holding(t, db, `INSERT INTO deliveries (id, destination_id, monitor_id, sequence, state, created_at)
		VALUES (gen_random_uuid(), $1, $2, 1, 'delivered', now())`, hook.ID, m.ID)
	e := trouble(detector.Blackout, justNow())
	added := make(chan error, 1)
	go func() { added <- s.AddEvent(t.Context(), m, e) }()
	eventually(t, "the event waits", func() bool {
		return countRows(t, db, `pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`) > 0
	})
	check(t, other.Commit())
	if err := <-added; err == nil {
		t.Error("the event is stored without its delivery")
	}
	check(t, s.AddEvent(t.Context(), m, e))
	if d := leaseOneForDestination(t, s); d.Event == nil || d.Event.Sequence != 2 {
		t.Errorf("the delivery is %+v", d)
	}
}

func TestIncidentsThatCannotBeRoutedKeepNothingElseBack(t *testing.T) {
	dsn := create(t, template)
	var log lockedBuffer
	s, db := must(postgres.Open(t.Context(), dsn, postgres.Config{MaxConnections: 2, Log: slog.New(slog.NewTextHandler(&log, nil))}))(t), raw(t, dsn)
	defer s.Close()
	addDestination(t, s, notify.Discord, "chief")
	registerBlack(t, s, 1)
	alter(t, db, `ALTER TABLE incident_log RENAME TO unreadable`)
	recordAttempt(t, s, leaseOne(t, s), accepting, sent)
	if text := log.String(); !strings.Contains(text, "cannot route the incidents") {
		t.Errorf("the log says %s", text)
	}
	alter(t, db, `ALTER TABLE unreadable RENAME TO incident_log`)
	expectSent(t, s, "chief opened")
}

// deliverOnce does what a dispatcher does whose receivers accept everything. It may be
// called concurrently.
func deliverOnce(t testing.TB, s *postgres.Store, d delivery.Delivery) error {
	outcome := outcomeOf(event.Attempt{At: time.Now().UTC(), Status: 200}, sent)
	if d.Incident != nil || d.Storm != nil {
		told := d.Notified.After(d.Message.Situation, d.Message.NextMessage, d.Now, "ref")
		outcome.Notified = &told
	}
	_, err := s.Record(t.Context(), d, outcome)
	return err
}
