package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// clipOf20MiB returns a clip of the largest size, whose bytes are said by name alone.
func clipOf20MiB(name string) evidence.File {
	f := file(evidence.Clip, []byte(name))
	f.Size = evidence.Clip.MaxBytes()
	return f
}

// TestFilesOfAMonitorHaveAQuota: a worker that was taken over could fill the disk.
func TestFilesOfAMonitorHaveAQuota(t *testing.T) { // section 16.2
	s, db := newStore(t)
	m, other := register(t, s, 1), register(t, s, 2)
	reserve := func(id monitor.ID, f evidence.File) error { return s.ReserveBlob(t.Context(), id, 1, f) }
	admitted := func(what string, id monitor.ID, f evidence.File) {
		t.Helper()
		if err := reserve(id, f); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for n := range 9 { // 180 MiB, of which no record exists
		admitted("a clip", m.ID, clipOf20MiB(fmt.Sprint("clip ", n)))
	}
	requireCode(t, reserve(m.ID, clipOf20MiB("one more")), evidence.QuotaExceeded)
	admitted("a clip that is stored", m.ID, clipOf20MiB("clip 3"))
	admitted("one of another monitor", other.ID, clipOf20MiB("of another"))
	picture := func(n int) evidence.File {
		f := file(evidence.Onset, fmt.Append(nil, "picture ", n))
		f.Size = evidence.Onset.MaxBytes()
		return f
	}
	for n := range 40 { // the other 20 MiB
		admitted("a picture", m.ID, picture(n))
	}
	requireCode(t, reserve(m.ID, picture(40)), evidence.QuotaExceeded)
	alter(t, db, `UPDATE evidence_blobs SET counted_at = counted_at - interval '61 minutes'`)
	admitted("an hour later, a clip", m.ID, clipOf20MiB("one more"))
}

func TestUploadsAtOnceExceedNoQuota(t *testing.T) {
	gateways, _ := newGateways(t)
	m := register(t, gateways[0], 1)
	var admitted atomic.Int32
	var uploading sync.WaitGroup
	for n := range 24 {
		uploading.Go(func() {
			if gateways[n%2].ReserveBlob(t.Context(), m.ID, 1, clipOf20MiB(fmt.Sprint(n))) == nil {
				admitted.Add(1)
			}
		})
	}
	uploading.Wait()
	if admitted.Load() != 9 {
		t.Errorf("%d clips of 20 MiB are admitted, want 9", admitted.Load())
	}
}

func TestEvidenceIsOfAStoredEventOfItsMonitor(t *testing.T) { // section 16.2
	s := open(t, database(t))
	m, other := register(t, s, 1), register(t, s, 2)
	add := func(r evidence.Record) error { _, err := s.AddEvidence(t.Context(), 1, r); return err }
	invented, foreign := newEvidence(t, s, m.ID), newEvidence(t, s, other.ID)
	invented.EventID = newID()
	requireCode(t, add(invented), evidence.Conflict)
	foreign.MonitorID = m.ID
	requireCode(t, add(foreign), evidence.Conflict)

	r := newEvidence(t, s, m.ID)
	for range evidence.MaxRecordsPerEvent {
		r.ID = newEvidenceID()
		upload(t, s, r)
	}
	upload(t, s, r) // again
	r.ID = newEvidenceID()
	requireCode(t, add(r), evidence.Conflict)
}

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
