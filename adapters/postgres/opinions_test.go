package postgres_test

import (
	"cmp"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// passForOpinions lets time pass for the first condition of each incident, and for deliveries.
func passForOpinions(t testing.TB, db *sql.DB, d time.Duration) {
	t.Helper()
	const earlier = `to_jsonb(CAST(conditions #>> %PATH AS timestamptz) - make_interval(secs => $1))`
	alter(t, db, `UPDATE incidents SET
		opinion_due_at = opinion_due_at - make_interval(secs => $1), asked_at = asked_at - make_interval(secs => $1),
		conditions = jsonb_set(conditions, '{0,alert,stored_at}', `+strings.Replace(earlier, "%PATH", `'{0,alert,stored_at}'`, 1)+`)`, d.Seconds())
	alter(t, db, `UPDATE incidents SET conditions = jsonb_set(conditions, '{0,alert,opinion,asked_at}', `+strings.Replace(earlier, "%PATH", `'{0,alert,opinion,asked_at}'`, 1)+`)
		WHERE conditions #>> '{0,alert,opinion,asked_at}' IS NOT NULL`, d.Seconds())
	pass(t, db, d)
}

// newAdvisedGateways returns the stores of two gateways with which second opinions drop messages.
func newAdvisedGateways(t *testing.T) ([]*postgres.Store, *sql.DB) {
	dsn := database(t)
	var stores []*postgres.Store
	for range 2 {
		s := must(postgres.Open(t.Context(), dsn, postgres.Config{Zone: tokyo, MaxConnections: 8, Secrets: reversing{first: "one"}, Opinions: notify.OpinionsDrop}))(t)
		t.Cleanup(func() { check(t, s.Close()) })
		stores = append(stores, s)
	}
	return stores, raw(t, dsn)
}

// claim claims all questions that are due, at all gateways at once.
func claim(t testing.TB, stores []*postgres.Store) (all []opinions.Question) {
	t.Helper()
	var mu sync.Mutex
	atOnce(t, 8, func(n int) error {
		questions, err := stores[n%len(stores)].ClaimQuestions(t.Context(), time.Minute, 10)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, questions...)
		return err
	})
	return all
}

// expectEventsAlone makes all deliveries that are due, and fails the test unless they are these events at these receivers.
func expectEventsAlone(t testing.TB, s *postgres.Store, want ...string) {
	t.Helper()
	route(t, s)
	var sent []string
	for _, d := range must(s.Lease(t.Context(), 100, time.Minute))(t).Deliveries {
		if d.Event == nil {
			t.Fatalf("%s is told %+v", d.Destination.Name, d.Message)
		}
		sent = append(sent, cmp.Or(d.Destination.Name, "callback")+" "+string(d.Event.EventType))
		recordOutcome(t, s, d, delivered())
	}
	slices.Sort(sent)
	expect(t, "the events", strings.Join(sent, ", "), strings.Join(want, ", "))
}

func TestAnAlertIsAskedAboutOnceByOneOfManyGateways(t *testing.T) { // section 19.9
	stores, db := newAdvisedGateways(t)
	onset := justNow()
	black := trouble(detector.Blackout, onset)
	m := registerWith(t, stores[0], 1, black)
	if early := claim(t, stores); len(early) != 0 {
		t.Fatalf("asked at once: %+v", early)
	}
	passForOpinions(t, db, incident.AskedAfter)
	questions := claim(t, stores)
	if len(questions) != 1 || questions[0].EventID != black.ID || questions[0].MonitorID != m.ID || questions[0].StreamURL != m.StreamURL || questions[0].Condition != "black" ||
		questions[0].EventType != "alert.blackout" || !strings.Contains(string(questions[0].Event), black.ID) {
		t.Fatalf("the questions are %+v", questions)
	}
	passForOpinions(t, db, incident.OpinionWithin-time.Second)
	if again := claim(t, stores); len(again) != 0 {
		t.Fatalf("asked again: %+v", again)
	}
	passForOpinions(t, db, time.Second) // the gateway that asked is gone
	if again := claim(t, stores); len(again) != 0 {
		t.Fatalf("asked again: %+v", again)
	}
	i, log, err := stores[0].GetIncident(t.Context(), onlyIncident(t, stores[0], m.ID).ID)
	if err != nil || i.Conditions[0].Alert.Opinion.Verdict != incident.OpinionUnknown || log[len(log)-1].Verdict != incident.OpinionUnknown {
		t.Errorf("the incident is %+v, its log %+v, %v", i.Conditions[0].Alert.Opinion, log, err)
	}
	expectRows(t, db, `incidents WHERE asked_at IS NOT NULL AND opinion_due_at IS NULL`, 1)
	check(t, stores[0].StoreOpinion(t.Context(), m.ID, black.ID, incident.Opinion{Verdict: incident.OpinionDrop}))
	require(t, "the opinion", onlyIncident(t, stores[0], m.ID).Conditions[0].Alert.Opinion.Verdict, incident.OpinionUnknown)
}

func TestADroppedMessageIsListedWithItsReasonAndItsEventsAreSent(t *testing.T) { // section 19.9
	stores, db := newAdvisedGateways(t)
	s := stores[0]
	chat := addDestination(t, s, notify.Discord, "chat")
	addDestination(t, s, notify.Webhook, "hook")
	in := func(state monitors.DeliveryState) []monitors.DeliveryRecord {
		return must(s.Deliveries(t.Context(), monitors.DeliveryQuery{DestinationID: chat.ID, State: state, Limit: 10}))(t)
	}
	onset := justNow()
	black, over := trouble(detector.Blackout, onset), recovery(detector.Blackout, onset, onset.Add(38*time.Second))
	m := registerWith(t, s, 1, black)
	expectEventsAlone(t, s, "callback alert.blackout", "hook alert.blackout")
	if waiting := in(monitors.DeliveryPending); len(waiting) != 1 || waiting[0].NextAttemptAt == nil {
		t.Errorf("what waits for an opinion is %+v", waiting)
	}
	passForOpinions(t, db, incident.AskedAfter)
	require(t, "the questions", len(claim(t, stores)), 1)
	check(t, s.StoreOpinion(t.Context(), m.ID, black.ID, incident.Opinion{Verdict: incident.OpinionDrop, Reason: "the end screen"}))
	expectDropped := func() {
		t.Helper()
		if all := in(monitors.DeliveryDropped); len(all) != 1 || *all[0].LastError != "dropped by the second opinion: the end screen" || all[0].Tried != 0 || all[0].NextAttemptAt != nil {
			t.Fatalf("the dropped are %+v", all)
		}
	}
	expectEventsAlone(t, s)
	expectDropped()
	acceptReport(t, s, m.ID, report(black, over), monitor.Run)
	expectEventsAlone(t, s, "callback alert.blackout_recovered", "hook alert.blackout_recovered")
	expectDropped()
	alter(t, db, `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,ended_at}', to_jsonb(now() - interval '5 minutes'))`)
	sweepIncidents(t, s)
	expectEventsAlone(t, s)
	expectDropped()
}

func TestAnAnswerIsStoredWithEachIncidentOfItsAlert(t *testing.T) { // section 19.9
	onset := justNow()
	for name, c := range map[string]struct {
		meanwhile []event.Event // beside the resolution by a person
		want      string        // newest incident first
	}{
		"the condition has ended":    {[]event.Event{recovery(detector.Blackout, onset, onset.Add(38*time.Second))}, "silent, black drop"},
		"the next incident takes it": {nil, "black drop silent, black drop"},
	} {
		t.Run(name, func(t *testing.T) {
			stores, db := newAdvisedGateways(t)
			s := stores[0]
			black := trouble(detector.Blackout, onset)
			m := registerWith(t, s, 1, black)
			passForOpinions(t, db, incident.AskedAfter)
			require(t, "the questions", len(claim(t, stores)), 1)
			check(t, act(t, s, onlyIncident(t, s, m.ID).ID, incident.WasResolved))
			acceptReport(t, s, m.ID, report(append(c.meanwhile, trouble(detector.Silence, time.Now().UTC()))...), monitor.Run)
			check(t, s.StoreOpinion(t.Context(), m.ID, black.ID, incident.Opinion{Verdict: incident.OpinionDrop}))
			var got []string
			for _, i := range listIncidents(t, s, m.ID) {
				var one []string
				for _, c := range i.Conditions {
					one = append(one, string(c.Name))
					if c.Alert.Opinion != nil {
						one = append(one, string(c.Alert.Opinion.Verdict))
					}
				}
				got = append(got, strings.Join(one, " "))
			}
			expect(t, "the incidents", strings.Join(got, ", "), c.want)
		})
	}
}

func TestAMessageGoesWhenNobodyHasAnsweredInTime(t *testing.T) { // section 19.9
	stores, db := newAdvisedGateways(t)
	s := stores[0]
	addDestination(t, s, notify.Discord, "chat")
	registerBlack(t, s, 1)
	expectSent(t, s)
	passForOpinions(t, db, incident.AskedAfter)
	require(t, "the questions", len(claim(t, stores)), 1)
	expectSent(t, s)
	passForOpinions(t, db, incident.OpinionWithin-incident.AskedAfter)
	expectSent(t, s, "chat opened")
}

func TestAlertsThatWaitForOpinionsMakeNoStorm(t *testing.T) { // sections 19.7 and 19.9
	stores, db := newAdvisedGateways(t)
	addDestination(t, stores[0], notify.Discord, "chat")
	for n := range notify.StormStreams {
		registerBlack(t, stores[0], n+1)
	}
	expectSentSoon(t, stores[0], db)
}
