package postgres_test

import (
	"database/sql"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
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
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
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

// addRoute stores a destination to which only a route leads that is for match.
func addRoute(t testing.TB, s *postgres.Store, kind notify.Kind, name string, match notify.Match) {
	t.Helper()
	d := must(s.CreateDestination(t.Context(), notify.Destination{ID: newID(), Name: name, Kind: kind, Language: notify.English, Enabled: true}))(t)
	must(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: name, Destinations: []string{d.ID}, Continue: true, Match: match}))(t)
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

// expectNoneForDestinations fails the test if a delivery to a destination can be leased, when all changes are routed.
func expectNoneForDestinations(t testing.TB, s *postgres.Store) {
	t.Helper()
	require(t, "the leased deliveries", len(leaseForDestinations(t, s)), 0)
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
	expect(t, "the messages", tellAll(t, s), wanted)
}

// expectSentSoon fails the test unless nothing is sent now, as a storm waits for more, and these messages in a moment.
func expectSentSoon(t testing.TB, s *postgres.Store, db *sql.DB, want ...string) {
	t.Helper()
	expectSent(t, s)
	pass(t, db, 6*time.Second)
	expectSent(t, s, want...)
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

func registerBlack(t testing.TB, s *postgres.Store, n int) monitor.Monitor {
	t.Helper()
	return registerWith(t, s, n, trouble(detector.Blackout, justNow()))
}

func TestEventsAndIncidentsReachTheirDestinations(t *testing.T) {
	s, db := newStore(t)
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
					!maps.Equal(d.Incident.Metadata, notify.FlattenMetadata(m.Metadata)) || d.Incident.Labels["show"] != m.Labels["show"] || d.Message.Situation.Severity != 1 {
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
	alter(t, db, `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,ended_at}', to_jsonb(now() - interval '5 minutes'))`)
	sweepIncidents(t, s)
	expectSent(t, s, "chat recovered")
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
			expectFailure(t, "storing an event without its delivery or incident", errorOf(s.Accept(t.Context(), m.ID, r)))
			alter(t, raw(t, dsn), `DROP TRIGGER refuse ON `+c.table)
			acceptReport(t, s, m.ID, r, monitor.Run)
			if d := leaseOneForDestination(t, s); d.Event == nil || d.Event.Sequence != 1 {
				t.Errorf("the delivery is %+v", d)
			}
			expectIncident(t, s, m.ID, incident.Open, "black+")
		})
	}
}

// An incident that the database refuses parks the record of its monitor, and nothing else. Its alerts go where the
// worst goes, and other monitors are told of. Without the cause the record is stored again. Readers of the feed
// see since when it is parked. An incident of a monitor that ends parked is resolved then.
func TestAMonitorWhoseIncidentIsRefusedIsParked(t *testing.T) {
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	addRoute(t, s, notify.Webhook, "hook", notify.Match{MinSeverity: 3, Conditions: []incident.Name{"black"}, Labels: monitor.Labels{"team": "x", "show": "<朝>"}})
	m, broken, ending := register(t, s, 1), register(t, s, 2), registerBlack(t, s, 3)
	route(t, s)
	head := feedHead(t, s, db)
	expectParked := func(when string, monitors int, entries ...bool) (since time.Time) {
		t.Helper()
		expectRows(t, db, `monitors WHERE record_parked_since IS NOT NULL`, monitors)
		numberFeed(t, s)
		parked := values[bool](t, db, `SELECT CAST(data AS jsonb) ->> 'record_parked_since' IS NOT NULL FROM feed
			WHERE type = 'monitor.updated' AND version > $1 AND CAST(data AS jsonb) ->> 'monitor_id' = $2 ORDER BY version`, head, broken.ID)
		expect(t, when+": the entries about it", parked, entries)
		head = feedHead(t, s, db)
		return getMonitor(t, s, broken.ID).RecordParkedSince
	}
	alter(t, db, `ALTER TABLE incidents ADD CONSTRAINT broken CHECK (monitor_id NOT IN ('`+string(broken.ID)+`', '`+string(ending.ID)+`')) NOT VALID`)
	alert := trouble(detector.Blackout, justNow())
	refused, alone := s.AcceptTogether(t.Context(), map[monitor.ID]monitor.Report{m.ID: report(trouble(detector.Blackout, justNow())), broken.ID: report(alert)})
	if len(refused) != 0 || len(alone) != 2 {
		t.Fatalf("refused %v, alone %v: the group is not stored one by one", refused, alone)
	}
	goBlack(t, s, m.ID)
	acceptReport(t, s, broken.ID, report(alert), monitor.Run)
	stopMonitor(t, s, ending.ID)
	if d := leaseOneForDestination(t, s); d.Event == nil || d.Event.EventID != alert.ID {
		t.Errorf("leased %+v, want %s", d, alert.ID)
	}
	expectIncident(t, s, m.ID, incident.Open, "black+")
	expectIncident(t, s, ending.ID, incident.Open, "black+")
	parked := expectParked("refused", 2, true)
	check(t, s.RetryRecords(t.Context()))
	acceptReport(t, s, broken.ID, report(trouble(detector.Silence, justNow())), monitor.Run)
	if again := expectParked("refused again", 2); parked.IsZero() || !again.Equal(parked) {
		t.Errorf("it is parked since %s, then since %s", parked, again)
	}
	expectLen(t, "incidents while it is parked", listIncidents(t, s, broken.ID), 0)
	alter(t, db, `ALTER TABLE incidents DROP CONSTRAINT broken`)
	check(t, s.RetryRecords(t.Context()))
	goBlack(t, s, broken.ID)
	expectIncident(t, s, broken.ID, incident.Open, "black+")
	expectIncident(t, s, ending.ID, incident.Resolved, "black-")
	if since := expectParked("stored again", 0, false); !since.IsZero() {
		t.Errorf("it is parked since %s", since)
	}
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

func act(t testing.TB, s *postgres.Store, incidentID string, kind incident.EntryKind) error {
	return errorOf(s.ActOnIncident(t.Context(), incidentID, incidents.Action{OpID: newID(), Kind: kind, By: "ann"}))
}

// acknowledge acknowledges the incident of a monitor, and returns when that is stored. answered is closed when it is
// answered.
func acknowledge(t testing.TB, s *postgres.Store, id monitor.ID) (answered <-chan struct{}) {
	t.Helper()
	incidentID, done := onlyIncident(t, s, id).ID, make(chan struct{})
	go func() {
		defer close(done)
		if err := act(t, s, incidentID, incident.Acknowledged); err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "the acknowledgement is stored", func() bool { return onlyIncident(t, s, id).AcknowledgedBy != "" })
	return done
}

// A change while a message is being sent is told by the next one. When an acknowledgement is answered, no push about the
// incident is under way, nor comes one.
func TestAChangeDuringAnAttemptIsTold(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	addDestination(t, s, notify.Ntfy, "phone")
	m := registerBlack(t, s, 1)
	opening := leaseForDestinations(t, s)
	answered := acknowledge(t, s, m.ID)
	expectSent(t, s) // they are in flight
	for _, d := range opening {
		select {
		case <-answered:
			t.Errorf("the acknowledgement is answered while %s gets a message", d.Destination.Name)
		default:
		}
		if kind := tell(t, s, d); kind != notify.Opened || len(opening) != 2 {
			t.Errorf("one of %d messages is %s", len(opening), kind)
		}
	}
	<-answered
	alter(t, db, `UPDATE destinations SET tokens_at = NULL`) // the rate limits allow all
	told := false
	for _, d := range leaseForDestinations(t, s) {
		if d.Message.Push {
			t.Errorf("%s is pushed %s", d.Destination.Name, d.Message.Kind)
		}
		told = tell(t, s, d) == notify.Acknowledged && d.Destination.Name == "chat" || told
	}
	if !told {
		t.Error("the chat is not told of the acknowledgement")
	}
}

// The end of an attempt may be stored while a change waits for the row.
func TestAChangeThatWaitsForTheEndOfAnAttemptIsTold(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	m := registerBlack(t, s, 1)
	leased := leaseOneForDestination(t, s)
	told := leased.Notified.After(leased.Message.Situation, leased.Message.NextMessage, time.Now(), "ref")
	encoded := must(json.Marshal(told))(t)

	end := holding(t, db, `UPDATE deliveries SET state = 'delivered', told = $1, due_at = NULL, lease = NULL WHERE incident_id IS NOT NULL`, string(encoded))
	answered := acknowledge(t, s, m.ID)
	wait := inBackground(t, func() error { return errorOf(s.RouteIncidents(t.Context())) })
	eventually(t, "the change waits", func() bool { return waitingForLock(t, db) })
	check(t, end.Commit())
	wait()
	<-answered
	expectSent(t, s, "chat acknowledged")
}

// A sweep holds the incident, and a report that holds the monitor waits for it. So the sweep
// must not wait for the monitor.
func TestASweepAddsAThreadWhileAReportHoldsTheMonitor(t *testing.T) {
	s, db := newStore(t)
	addRoute(t, s, notify.Discord, "chief", notify.Match{MinSeverity: 2, Labels: monitor.Labels{"team": "x"}})
	registerBlack(t, s, 1)
	expectSent(t, s)
	alter(t, db, `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,last_started_at}', to_jsonb(now() - interval '5 minutes'))`)
	holding(t, db, `SELECT FROM monitors FOR UPDATE`)
	sweepIncidents(t, s)
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
	eventually(t, "the event waits", func() bool { return waitingForLock(t, db) })
	check(t, other.Commit())
	expectFailure(t, "storing an event without its delivery or incident", <-added)
	check(t, s.AddEvent(t.Context(), m, e))
	if d := leaseOneForDestination(t, s); d.Event == nil || d.Event.Sequence != 2 {
		t.Errorf("the delivery is %+v", d)
	}
}

func TestIncidentsThatCannotBeRoutedKeepNothingElseBack(t *testing.T) {
	dsn := create(t, template)
	var log logbuffer.Buffer
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

// deliverAll does what a dispatcher does whose receivers accept everything. It may be called concurrently.
func deliverAll(t testing.TB, s *postgres.Store) error {
	if _, err := s.RouteIncidents(t.Context()); err != nil {
		return err
	}
	leased, err := s.Lease(t.Context(), 100, time.Minute)
	for _, d := range leased.Deliveries {
		outcome := outcomeOf(event.Attempt{At: time.Now().UTC(), Status: 200}, sent)
		if d.Incident != nil || d.Storm != nil {
			told := d.Notified.After(d.Message.Situation, d.Message.NextMessage, d.Now, "ref")
			outcome.Notified = &told
		}
		if err == nil {
			_, err = s.Record(t.Context(), d, outcome)
		}
	}
	return err
}
