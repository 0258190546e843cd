package postgres_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestTheEpochChangesOnlyWithTheOriginOfTheFeed(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	renewed := func() string {
		t.Helper()
		check(t, s.RenewFeedEpoch(t.Context()))
		return presentPosition(t, s).Epoch
	}
	first := renewed()
	expect(t, "the epoch when nothing has happened", renewed(), first)
	alter(t, db, `UPDATE feed_head SET origin = 'another server'`)
	if after := renewed(); after == first {
		t.Error("the epoch is unchanged after a restore from another server")
	}
}

func TestTheStateHasShownMonitorsAndOpenIncidents(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	active, recent, old := register(t, s, 1), register(t, s, 2), register(t, s, 3)
	for _, m := range []monitor.Monitor{recent, old} {
		must(s.End(t.Context(), m.ID, monitor.Stopped, "", nil, time.Now()))(t)
	}
	alter(t, db, `UPDATE monitors SET ended_at = now() - interval '11 minutes' WHERE id = $1`, old.ID)
	acceptReport(t, s, active.ID, report(blackout(40)), monitor.Run)
	head := feedHead(t, s, db)
	state, position, err := s.ReadState(t.Context())
	check(t, err)
	got := []monitor.ID{}
	for _, m := range state.Monitors {
		got = append(got, m.MonitorID)
	}
	expect(t, "the monitors of the state", got, []monitor.ID{active.ID, recent.ID})
	if len(state.Incidents) != 1 || state.Incidents[0].MonitorID != active.ID {
		t.Errorf("the state has the incidents %+v, want that of the alert", state.Incidents)
	}
	expect(t, "the version of the state", position.Version, head)
}

// followed is what a reader knows that has read every entry: the newest data of each
// object, of the given type.
func followed(t testing.TB, s *postgres.Store, of feed.Type, id string) map[string]string {
	t.Helper()
	numberFeed(t, s)
	page := must(s.ReadFeed(t.Context(), 0, 1000))(t)
	known := map[string]string{}
	for _, e := range page.Entries {
		if e.Type == of {
			known[fieldOf(t, e.Data, id)] = string(e.Data)
		}
	}
	return known
}

// fieldOf returns a text field of an object; "": it is null.
func fieldOf(t testing.TB, data []byte, name string) string {
	t.Helper()
	var fields map[string]any
	check(t, json.Unmarshal(data, &fields))
	text, _ := fields[name].(string)
	return text
}

// encodedAs returns the encoded objects of a state in order, and by their ids.
func encodedAs[T feed.Data](t testing.TB, all []T, id string) (ids []string, byID map[string]string) {
	t.Helper()
	byID = map[string]string{}
	for _, data := range all {
		line := must(feed.Encode(data))(t)
		ids = append(ids, fieldOf(t, line, id))
		byID[fieldOf(t, line, id)] = string(line)
	}
	return ids, byID
}

func readState(t testing.TB, s *postgres.Store) feed.State {
	t.Helper()
	state, _, err := s.ReadState(t.Context())
	check(t, err)
	return state
}

func TestTheStateHasTheDeliveriesThatAFollowerKnowsAsUndelivered(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	shown := map[monitor.ID]bool{}
	for n, outcome := range []struct {
		decision notify.Decision
		shown    bool
		age      string
	}{
		{sent, false, "0 h"},
		{failed, true, "23 hours"},
		{failed, false, "25 hours"},
		{notify.Decision{RetryAt: time.Now().Add(time.Hour)}, true, "25 hours"},
	} {
		m := register(t, s, n+1)
		acceptReport(t, s, m.ID, report(blackout(40)), monitor.Run)
		// Before the attempt, so that a follower is told the same age.
		for _, table := range []string{"monitor_events", "deliveries"} {
			alter(t, db, `UPDATE `+table+` SET created_at = now() - CAST($2 AS interval) WHERE monitor_id = $1`, m.ID, outcome.age)
		}
		recordAttempt(t, s, leaseOne(t, s), rejecting, outcome.decision)
		shown[m.ID] = outcome.shown
	}
	untried := registerWith(t, s, 5, blackout(40))
	shown[untried.ID] = true
	want := followed(t, s, feed.DeliveryUpdated, "event_id")
	maps.DeleteFunc(want, func(_, line string) bool { return !shown[monitor.ID(fieldOf(t, []byte(line), "monitor_id"))] })
	state := readState(t, s)
	if _, got := encodedAs(t, state.Deliveries, "event_id"); len(want) != 3 || !maps.Equal(got, want) || state.MoreDeliveries {
		t.Errorf("the state has the deliveries %v, more: %t, want %v", got, state.MoreDeliveries, want)
	}
}

func TestTheStateHasTheNewestDeliveriesAndEvidenceAndSaysThatThereIsMore(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	registerWith(t, s, 1, blackout(40))
	alter(t, db, `
		WITH added AS (
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
			SELECT gen_random_uuid(), monitor_id, event_type, payload, body, CASE WHEN n % 2 = 0 THEN 'failed' ELSE 'pending' END, now() - n * interval '1 s'
			FROM monitor_events, generate_series(1, 600) n
			RETURNING *)
		INSERT INTO deliveries (id, monitor_id, event_id, state, created_at) SELECT id, monitor_id, id, webhook_status, created_at FROM added`)
	alter(t, db, `
		INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
		SELECT gen_random_uuid(), monitor_id, gen_random_uuid(), id, 'black', 'alert', 'normal', now() - n * interval '1 s'
		FROM incidents, generate_series(1, 600) n`)
	state := readState(t, s)
	if len(state.Deliveries) != feed.MaxStateDeliveries || !state.MoreDeliveries || len(state.Evidence) != feed.MaxStateEvidence || !state.MoreEvidence {
		t.Errorf("the state has %d deliveries, more: %t, and %d records of evidence, more: %t, want the limits and true",
			len(state.Deliveries), state.MoreDeliveries, len(state.Evidence), state.MoreEvidence)
	}
	oldest := time.Now().Add(-510 * time.Second)
	newest := slices.IsSortedFunc(state.Deliveries, func(a, b feed.Delivery) int { return b.CreatedAt.Compare(a.CreatedAt) }) &&
		slices.IsSortedFunc(state.Evidence, func(a, b feed.Evidence) int { return b.CreatedAt.Compare(a.CreatedAt) })
	if !newest || state.Deliveries[len(state.Deliveries)-1].CreatedAt.Before(oldest) || state.Evidence[len(state.Evidence)-1].CreatedAt.Before(oldest) {
		t.Error("the deliveries and the evidence are not the newest, these first")
	}
}

func TestTheStateHasTheEvidenceOfUnresolvedAndJustResolvedIncidents(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	var wanted []string
	var monitors []monitor.ID
	for n, resolved := range []string{"", "9 minutes", "11 minutes"} {
		m, alert := register(t, s, n+1), blackout(40)
		monitors = append(monitors, m.ID)
		acceptReport(t, s, m.ID, report(alert), monitor.Run)
		r := newEvidence(t, s, m.ID, picture([]byte("black")), file(evidence.Before, []byte("preview")))
		r.EventID, r.Note, r.CreatedAt = alert.ID, "the picture is black", noon.Add(time.Duration(n)*time.Second)
		upload(t, s, r, []byte("black"), []byte("preview"))
		if resolved != "11 minutes" {
			wanted = append(wanted, string(r.ID))
		}
		if resolved != "" {
			alter(t, db, `UPDATE incidents SET state = 'resolved', due_at = NULL, resolved_at = now() - CAST($2 AS interval) WHERE monitor_id = $1`, m.ID, resolved)
		}
	}
	upload(t, s, newEvidence(t, s, monitors[0], picture([]byte("of no incident"))), []byte("of no incident"))
	slices.Reverse(wanted) // the newest first
	state := readState(t, s)
	ids, got := encodedAs(t, state.Evidence, "evidence_id")
	if !slices.Equal(ids, wanted) || state.MoreEvidence {
		t.Errorf("the state has the evidence %v, more: %t, want %v", ids, state.MoreEvidence, wanted)
	}
	known := followed(t, s, feed.EvidenceAdded, "evidence_id")
	for id, line := range got {
		expect(t, "evidence, as a follower knows it", line, known[id])
	}
}

func TestTheCheckerCountsMonitorsThatAreLateBlindOrFailing(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	var ids []monitor.ID
	for n := range 7 {
		m := register(t, s, n+1)
		r := report()
		r.At, r.Health.LastCheckAt = time.Now(), time.Now()
		r.Visibility = &monitor.Visibility{LastObservedAt: time.Now()}
		if egress, is := map[int]string{0: "", 2: "", 4: "b", 6: "c"}[n]; is {
			r.Visibility.Unseen = monitor.Unseen{Since: noon.Add(-time.Duration(n) * time.Minute), Class: monitor.NoDNS, Egress: egress}
		}
		acceptReport(t, s, m.ID, r, monitor.Run)
		ids = append(ids, m.ID)
	}
	// ids[0] is only unseen.
	alter(t, db, `UPDATE monitors SET updated_at = now() - interval '31 seconds' WHERE id = $1`, ids[1])
	alter(t, db, `UPDATE monitors SET updated_at = now() - interval '31 seconds', config = jsonb_set(config, '{check_interval_sec}', '60') WHERE id = $1`, ids[2])
	alter(t, db, `UPDATE monitors SET last_observed_at = now() - interval '31 seconds', created_at = now() - interval '1 hour' WHERE id = $1`, ids[3])
	alter(t, db, `UPDATE monitor_stats SET last_check_at = now() - interval '31 seconds' WHERE monitor_id = $1`, ids[3])
	alter(t, db, `UPDATE monitors SET last_observed_at = now() - interval '31 seconds', last_error = 'yt-dlp: no answer', blind_since = now() WHERE id = $1`, ids[4])
	alter(t, db, `UPDATE monitors SET last_error = 'yt-dlp: no answer' WHERE id = $1`, ids[5])
	alter(t, db, `UPDATE monitors SET reserved_until = now() WHERE id = $1`, ids[6])
	got := must(s.ReadChecker(t.Context()))(t)
	if b := got.BlindSpot; b == nil || b.Monitors != 3 || b.Watched != 6 || !b.Since.Equal(noon.Add(-4*time.Minute)) || b.Class == nil || *b.Class != monitor.NoDNS || b.Egress != nil {
		t.Errorf("the blind spot is %+v", b)
	}
	got.BlindSpot = nil
	want := feed.Checker{
		Watched: 6, Blind: 1, Late: 2, LateMonitors: []monitor.ID{ids[1], ids[3]},
		Failing: 2, Failures: []feed.Failure{{Error: "yt-dlp: no answer", Monitors: 2}},
	}
	expect(t, "the checker", got, want)
}

func TestOldEntriesAreDeletedInBatchesWithoutAGap(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	alter(t, db, `
		WITH head AS (UPDATE feed_head SET version = version + 2500 RETURNING version - 2500 AS base)
		INSERT INTO feed SELECT base + n, 'monitor.updated', now() - interval '73 hours', '{}' FROM head, generate_series(1, 2500) n`)
	alter(t, db, `UPDATE feed SET at = now() WHERE version = (SELECT max(version) - 9 FROM feed)`) // a clock that was set back
	before := presentPosition(t, s)
	for i, want := range []int64{1000, 1000, 490, 0} {
		deleted, more, err := s.DeleteFeed(t.Context(), 72*time.Hour)
		if err != nil || deleted != want || more != (want == 1000) {
			t.Fatalf("batch %d deleted %d, %t, %v, want %d", i, deleted, more, err, want)
		}
	}
	page := must(s.ReadFeed(t.Context(), before.Version-11, 100))(t)
	tooOld := feed.Position{Epoch: before.Epoch, Version: before.Version - 11}
	oldest := feed.Position{Epoch: before.Epoch, Version: before.Version - 10}
	if len(page.Entries) != 10 || tooOld.Continues(page) || !oldest.Continues(page) {
		t.Errorf("%d entries are left; the position before the deleted one continues: %t, the oldest: %t", len(page.Entries), tooOld.Continues(page), oldest.Continues(page))
	}
}
