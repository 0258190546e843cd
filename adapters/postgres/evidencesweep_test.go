package postgres_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// TestAnIncidentLosesAPictureThatHasExpired lets the shown picture expire, and then adds
// one that shows less. The incident shows that one, which the expired one outranked.
func TestAnIncidentLosesAPictureThatHasExpired(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	m, other := register(t, s, 1), register(t, s, 2)
	alert := trouble(detector.Blackout, hourAgo())
	acceptReport(t, s, m.ID, report(alert), monitor.Run)
	acceptReport(t, s, other.ID, report(trouble(detector.Blackout, hourAgo())), monitor.Run)
	alter(t, db, `UPDATE incidents SET severity = 1, picture = '{"evidence_id": "of another record"}' WHERE monitor_id = $1`, other.ID)
	alter(t, db, `UPDATE incidents SET severity = 1 WHERE monitor_id = $1`, m.ID)
	add := func(name string, luma float64) evidence.Record {
		r := newEvidence(t, s, m.ID, picture([]byte(name)))
		r.EventID, r.Files[0].Measure = alert.ID, &luma
		return upload(t, s, r, []byte(name))
	}
	best := add("best", 0)
	if p := onlyIncident(t, s, m.ID).Picture; p == nil || p.EvidenceID != string(best.ID) {
		t.Fatalf("the incident shows %+v", p)
	}
	alter(t, db, `UPDATE evidence SET created_at = now() - interval '15 days'`)
	head := feedHead(t, db)
	sweep(t, s)
	if p := onlyIncident(t, s, m.ID).Picture; p != nil {
		t.Errorf("the incident shows %+v, which has expired", p)
	}
	if p := onlyIncident(t, s, other.ID).Picture; p == nil {
		t.Error("another incident has lost its picture")
	}
	if lines, _ := feedSince(t, db, head); !slices.Equal(lines, []string{"incident.updated open"}) {
		t.Errorf("the feed has %q, want the incident", lines)
	}
	dim := add("dim", 40)
	if p := onlyIncident(t, s, m.ID).Picture; p == nil || p.EvidenceID != string(dim.ID) {
		t.Errorf("the incident shows %+v, want the only picture", p)
	}
}

// TestTheQuarantineReadsNoEvidenceOfMildIncidents adds 20,000 records of mild incidents, and
// 20 severe incidents whose evidence is in quarantine. A sweep does not read them.
func TestTheQuarantineReadsNoEvidenceOfMildIncidents(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	m := register(t, s, 1)
	insert := func(n int, severity int, class evidence.Class) {
		alter(t, db, `
			WITH i AS (
				INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, quiet_sec, reopened, updated_at)
				SELECT gen_random_uuid(), $1, 'resolved', $3, '[]', now(), now(), 60, 0, now() FROM generate_series(1, $2) RETURNING id)
			INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
			SELECT gen_random_uuid(), $1, gen_random_uuid(), i.id, 'black', 'alert', $4, now() FROM i`, m.ID, n, severity, class)
	}
	insert(20_000, 1, evidence.Normal)
	insert(20, 3, evidence.Quarantine)
	insert(3, 2, evidence.Normal)
	alter(t, db, `ANALYZE`)
	if pages, plan := explain(t, db, postgres.QuarantineSevere, 100); pages > 250 {
		t.Errorf("the sweep looked at %d pages: %s", pages, plan)
	}
	if n := countRows(t, db, `evidence WHERE class = 'normal'`); n != 20_000 {
		t.Errorf("%d records are normal, want those of mild incidents", n)
	}
}
