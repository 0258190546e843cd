package postgres_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// openStorms selects the storms that go on.
const openStorms = `deliveries WHERE storm IS NOT NULL AND NOT storm ? 'resolved_at'`

// ageStorms makes storms older by seconds.
const ageStorms = `UPDATE deliveries SET storm = storm || jsonb_build_object('first_at', CAST(storm ->> 'first_at' AS timestamptz) - make_interval(secs => $1)) WHERE storm IS NOT NULL`

// openIncidents registers streams that are live, and opens an incident at each of the first
// black ones.
func openIncidents(t testing.TB, s *postgres.Store, from, streams, black int) (ids []monitor.ID) {
	t.Helper()
	for n := range streams {
		ids = append(ids, registerWith(t, s, from+n).ID)
	}
	goBlack(t, s, ids[:black]...)
	return ids
}

func resolveIncident(t testing.TB, s *postgres.Store, ids ...monitor.ID) {
	t.Helper()
	for _, id := range ids {
		check(t, act(t, s, listIncidents(t, s, id)[0].ID, incident.WasResolved))
	}
}

// blackAgain is the report of a black that is over and comes again.
func blackAgain() monitor.Report {
	now := time.Now().UTC()
	return report(recovery(detector.Blackout, justNow(), now.Add(-2*time.Second)), trouble(detector.Blackout, now))
}

func TestCallbacksDoNotWaitUntilManyIncidentsAreRouted(t *testing.T) {
	s := open(t, database(t))
	addDestination(t, s, notify.Discord, "chat")
	openIncidents(t, s, 0, 201, 201)
	leased := must(s.Lease(t.Context(), 10, time.Minute))(t)
	if !leased.More || len(leased.Deliveries) != 10 || leased.Deliveries[0].Callback == "" {
		t.Errorf("the first lease has %d deliveries, more: %t", len(leased.Deliveries), leased.More)
	}
}

func TestManyIncidentsAtOnceAreToldAsOneStorm(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	ids := openIncidents(t, s, 0, 12, 2)
	expectSent(t, s, "chat opened", "chat opened") // two of twelve are no storm
	goBlack(t, s, ids[2])
	goBlack(t, s, ids[3])
	expectSent(t, s) // the first message counts what comes within seconds
	acceptReport(t, s, ids[11], report(trouble(detector.Silence, justNow())), monitor.Run)
	expectSent(t, s, "chat opened") // another condition is told by itself
	expectRows(t, db, openStorms, 1)
	pass(t, db, 6*time.Second)
	d := leaseOneForDestination(t, s)
	if d.Storm == nil || d.Storm.Streams != 4 || d.Storm.Live != 12 || d.Message.Situation.Severity != 1 || len(d.Message.Situation.Conditions) != 1 || !d.Message.Situation.Open {
		t.Fatalf("leased %+v", d.Storm)
	}
	expect(t, "the message", tell(t, s, d), notify.Opened)

	goBlack(t, s, ids[4])
	expectSentSoon(t, s, db, "chat updated") // five streams
	acceptReport(t, s, ids[0], report(trouble(detector.Silence, justNow())), monitor.Run)
	pass(t, db, 6*time.Second)
	expectSent(t, s, "chat worse") // the storm, and not the incident that was told before

	resolveIncident(t, s, ids[:4]...)
	pass(t, db, 6*time.Second)
	expectSent(t, s, "chat recovered", "chat recovered", "chat updated") // those that were told by themselves
	resolveIncident(t, s, ids[4])
	pass(t, db, 6*time.Second)
	expectSent(t, s, "chat recovered")
	expectRows(t, db, `deliveries WHERE storm ? 'resolved_at'`, 1)

	// Trouble that comes back after the storm is told by itself.
	acceptReport(t, s, ids[3], blackAgain(), monitor.Run)
	expectSent(t, s, "chat opened")
}

func TestAStormTellsADestinationOnlyOfItsOwnStreams(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	ids := openIncidents(t, s, 0, 12, 0)
	addRoute(t, s, notify.Discord, "team", notify.Match{Monitors: ids[:3]})
	addRoute(t, s, notify.Discord, "few", notify.Match{Monitors: ids[4:6]})
	goBlack(t, s, ids[:6]...)
	expectSent(t, s, "few opened", "few opened") // two are no storm there
	pass(t, db, 6*time.Second)
	streams := map[string]int{}
	for _, d := range leaseForDestinations(t, s) {
		if d.Storm != nil {
			streams[d.Destination.Name] = d.Storm.Streams
			expect(t, "streams of which "+d.Destination.Name+" is told", d.Message.Situation.Streams, d.Storm.Streams)
		}
		tell(t, s, d)
	}
	expect(t, "the streams", streams, map[string]int{"chat": 6, "team": 3})
	stormID := value[string](t, db, `SELECT x.id FROM deliveries x JOIN destinations d ON d.id = x.destination_id WHERE x.storm IS NOT NULL AND d.name = 'chat'`)
	expectLen(t, "the incidents of the storm", must(s.Storm(t.Context(), stormID))(t).Incidents, 6)
	expectFailure(t, "reading a storm that does not exist", errorOf(s.Storm(t.Context(), newID())))

	tellAll(t, s)
	for _, id := range ids[:3] {
		check(t, act(t, s, onlyIncident(t, s, id).ID, incident.Acknowledged))
	}
	expectSentSoon(t, s, db, "team acknowledged")
	resolveIncident(t, s, ids[:3]...)
	expectSentSoon(t, s, db, "team recovered")
}

// Streams that YouTube refused had incidents before, which are reopened.
func TestIncidentsThatAreReopenedTogetherAreOneStorm(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	ids := openIncidents(t, s, 0, 6, 0)
	for _, id := range ids {
		goBlack(t, s, id)
		alter(t, db, `UPDATE incidents SET state = 'resolved', resolved_at = now(), due_at = NULL, conditions = jsonb_set(conditions, '{0,ended_at}', to_jsonb(now())),
			opened_at = opened_at - interval '5 minutes', updated_at = updated_at - interval '5 minutes' WHERE state = 'open'`)
		alter(t, db, ageStorms, 300)
	}
	tellAll(t, s)
	reports := map[monitor.ID]monitor.Report{}
	for _, id := range ids {
		reports[id] = report(trouble(detector.Blackout, time.Now().UTC()))
	}
	if refused, alone := s.AcceptTogether(t.Context(), reports); len(refused)+len(alone) > 0 {
		t.Fatalf("%v, %v alone", refused, alone)
	}
	expectSentSoon(t, s, db, "chat opened")
	expectRows(t, db, `incidents i JOIN deliveries x ON x.incident_id = i.id JOIN deliveries s ON s.id = x.storm_id WHERE NOT s.storm ? 'resolved_at' AND i.reopened = 1`, 6)
}

// Two gateways take the reports of all streams, and lease, at once.
func TestIncidentsOfTwoGatewaysMakeOneStorm(t *testing.T) {
	const streams = 12
	gateways, db := newGateways(t)
	addDestination(t, gateways[0], notify.Discord, "chat")
	ids := openIncidents(t, gateways[0], 0, streams, 0)
	sendAll := func() {
		t.Helper()
		for range 20 {
			atOnce(t, len(gateways), func(i int) error { return deliverAll(t, gateways[i]) })
			pass(t, db, 6*time.Second)
		}
	}
	atOnce(t, streams, func(n int) error {
		return errorOf(gateways[n%2].Accept(t.Context(), ids[n], report(trouble(detector.Blackout, justNow()))))
	})
	sendAll()
	if storms, members := countRows(t, db, openStorms), countRows(t, db, `deliveries WHERE storm_id IS NOT NULL`); storms != 1 || members != streams {
		t.Errorf("%d storms with %d of %d incidents", storms, members, streams)
	}
	atOnce(t, streams, func(n int) error {
		return act(t, gateways[n%2], listIncidents(t, gateways[n%2], ids[n])[0].ID, incident.WasResolved)
	})
	sendAll()
	if open, told := countRows(t, db, openStorms), countRows(t, db, `deliveries WHERE told ->> 'open' = 'true'`); open != 0 || told != 0 {
		t.Errorf("%d storms are open, and %d threads are told as open", open, told)
	}
}

// silenceUntilRecovered silences monitors until their incidents have ended; none: all monitors.
func silenceUntilRecovered(t testing.TB, s *postgres.Store, ids ...monitor.ID) notify.Silence {
	t.Helper()
	return must(s.CreateSilence(t.Context(), notify.Silence{
		ID: newID(), Match: notify.Match{Monitors: ids}, StartsAt: time.Now().UTC().Add(-time.Hour), CreatedBy: "ann", UntilRecovered: true,
	}))(t)
}

func TestASilenceHoldsBackMessagesButNotTheEnd(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	m, other := register(t, s, 1), registerBlack(t, s, 2)
	expectSent(t, s, "chat opened")
	now := time.Now().UTC()
	must(s.CreateSilence(t.Context(), notify.Silence{ID: newID(), StartsAt: now.Add(-time.Minute), EndsAt: now.Add(time.Hour), CreatedBy: "ann"}))(t)
	goBlack(t, s, m.ID)
	expectSent(t, s)
	resolveIncident(t, s, other.ID)
	expectSent(t, s, "chat recovered")
	alter(t, db, `UPDATE silences SET ends_at = now()`)
	alter(t, db, `UPDATE routing_version SET version = version + 1`)
	pass(t, db, time.Hour) // when the silence ends, nothing else happens
	expectSent(t, s, "chat opened")
}

func TestAChangeOfRoutesReachesOpenIncidents(t *testing.T) {
	s := open(t, database(t))
	first := addDestination(t, s, notify.Discord, "first")
	m := registerBlack(t, s, 1)
	expectSent(t, s, "first opened")
	expectSent(t, s)

	t.Run("a destination is added", func(t *testing.T) {
		addDestination(t, s, notify.Discord, "second")
		expectSent(t, s, "second opened")
	})
	t.Run("a silence is ended by a person", func(t *testing.T) {
		silence := silenceUntilRecovered(t, s)
		acceptReport(t, s, m.ID, report(trouble(detector.Silence, justNow())), monitor.Run)
		expectSent(t, s)
		must(s.EndSilence(t.Context(), silence.ID))(t)
		expectSent(t, s, "first worse", "second worse")
	})
	t.Run("a destination is taken away, and only told the end", func(t *testing.T) {
		must(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Destinations = []string{first.ID}; return nil }))(t)
		check(t, act(t, s, onlyIncident(t, s, m.ID).ID, incident.Acknowledged))
		expectSent(t, s, "first acknowledged")
		resolveIncident(t, s, m.ID)
		expectSent(t, s, "first recovered", "second recovered")
	})
}

func TestASilenceUntilRecoveredEndsWithTheIncidentOrItsMonitor(t *testing.T) {
	s, db := newStore(t)
	recovered, ended, lasts := register(t, s, 1), register(t, s, 2), register(t, s, 3)
	for _, m := range []monitor.Monitor{recovered, ended, lasts} {
		silenceUntilRecovered(t, s, m.ID)
	}
	goBlack(t, s, recovered.ID)
	resolveIncident(t, s, recovered.ID)
	stopMonitor(t, s, ended.ID)
	route(t, s) // there is no destination
	left := values[string](t, db, `SELECT match ->> 'monitors' FROM silences WHERE ended_at IS NULL`)
	expect(t, "silences that last", left, []string{`["` + string(lasts.ID) + `"]`})
	addDestination(t, s, notify.Discord, "chat")
	goBlack(t, s, lasts.ID)
	acceptReport(t, s, recovered.ID, blackAgain(), monitor.Run)
	expectSent(t, s, "chat opened")
}
