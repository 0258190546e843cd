package postgres_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// TestAnIncidentLosesAPictureThatHasExpired lets the shown picture expire, and then adds
// one that shows less. The incident shows that one, which the expired one outranked.
func TestAnIncidentLosesAPictureThatHasExpired(t *testing.T) {
	s, db := newStore(t)
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
	head := feedHead(t, s, db)
	sweep(t, s)
	if p := onlyIncident(t, s, m.ID).Picture; p != nil {
		t.Errorf("the incident shows %+v, which has expired", p)
	}
	if p := onlyIncident(t, s, other.ID).Picture; p == nil {
		t.Error("another incident has lost its picture")
	}
	if lines, _ := feedSince(t, s, db, head); !slices.Equal(lines, []string{"incident.updated open"}) {
		t.Errorf("the feed has %q, want the incident", lines)
	}
	dim := add("dim", 40)
	if p := onlyIncident(t, s, m.ID).Picture; p == nil || p.EvidenceID != string(dim.ID) {
		t.Errorf("the incident shows %+v, want the only picture", p)
	}
}
