package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/blob/blobtest"
	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestTheBlobStoreConforms(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Harness {
		dsn := database(t)
		proxied := startProxy(t, dsn)
		s := must(postgres.Open(t.Context(), proxied.dsn, postgres.Config{MaxConnections: 4, StatementTimeout: time.Second}))(t)
		t.Cleanup(func() { _ = s.Close() }) // its connections may be broken
		db := raw(t, dsn)
		return blobtest.Harness{
			Store: s.BlobStore(),
			Count: func(t *testing.T) int { t.Helper(); return countRows(t, db, "blobs") + countRows(t, db, "blob_chunks") },
			Hang: func(t *testing.T) {
				proxied.dropAll.Store(true)
				t.Cleanup(proxied.drop)
			},
			Kill:  func(*testing.T) { proxied.close() },
			Limit: 15 * time.Second,
		}
	})
}

func TestAChunkHas256KiB(t *testing.T) {
	s, db := newStore(t)
	data := make([]byte, 600_000)
	putBlob(t, s, data)
	lengths := values[int](t, db, `SELECT length(data) FROM blob_chunks ORDER BY 1`)
	expect(t, "the lengths of the chunks", lengths, []int{600_000 - 2*(256<<10), 256 << 10, 256 << 10})
}

// The database is gone in the middle of an upload, and comes back.
func TestAnUploadThatTheDatabaseCutLeavesNoBlob(t *testing.T) {
	dsn := database(t)
	proxied := startProxy(t, dsn)
	s, db := openSlow(t, proxied.dsn), raw(t, dsn)
	m := register(t, s, 1)
	data := make([]byte, 2<<20)
	f := picture(data)
	check(t, s.ReserveBlob(t.Context(), m.ID, 1, f))
	source := readerFunc(func(p []byte) (int, error) {
		if len(data) < 1<<20 {
			proxied.close()
		}
		n := copy(p, data)
		data = data[n:]
		return n, nil
	})
	expectFailure(t, "an upload that is cut", s.BlobStore().Put(t.Context(), evidences.NewContent(f.Digest, f.Size, source)))
	expectRows(t, db, "blobs", 1)
	alter(t, db, `UPDATE blobs SET created_at = created_at - interval '2 hours'`)
	alter(t, db, blobHour)
	sweep(t, open(t, dsn))
	requireEmpty(t, db, "blobs", "blob_chunks", "evidence_blobs")
}

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
	for n := range 9 { // 180 MiB, of which no record exists
		check(t, reserve(m.ID, clipOf20MiB(fmt.Sprint("clip ", n))))
	}
	requireCode(t, reserve(m.ID, clipOf20MiB("one more")), evidence.QuotaExceeded)
	check(t, reserve(m.ID, clipOf20MiB("clip 3"))) // which is stored
	check(t, reserve(other.ID, clipOf20MiB("of another")))
	picture := func(n int) evidence.File {
		f := file(evidence.Onset, fmt.Append(nil, "picture ", n))
		f.Size = evidence.Onset.MaxBytes()
		return f
	}
	for n := range 40 { // the other 20 MiB
		check(t, reserve(m.ID, picture(n)))
	}
	requireCode(t, reserve(m.ID, picture(40)), evidence.QuotaExceeded)
	alter(t, db, `UPDATE evidence_blobs SET counted_at = counted_at - interval '61 minutes'`)
	check(t, reserve(m.ID, clipOf20MiB("one more")))
}

func TestUploadsAtOnceExceedNoQuota(t *testing.T) {
	gateways, _ := newGateways(t)
	m := register(t, gateways[0], 1)
	var admitted atomic.Int32
	atOnce(t, 24, func(n int) error {
		if gateways[n%2].ReserveBlob(t.Context(), m.ID, 1, clipOf20MiB(fmt.Sprint(n))) == nil {
			admitted.Add(1)
		}
		return nil
	})
	expect(t, "admitted clips of 20 MiB", admitted.Load(), 9)
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

// The shown picture expires. Then one is added that shows less, which the expired one outranked.
func TestAnIncidentLosesAPictureThatHasExpired(t *testing.T) {
	s, db := newStore(t)
	alert := trouble(detector.Blackout, hourAgo())
	m, other := registerWith(t, s, 1, alert), registerWith(t, s, 2, trouble(detector.Blackout, hourAgo()))
	alter(t, db, `UPDATE incidents SET severity = 1`)
	alter(t, db, `UPDATE incidents SET picture = '{"evidence_id": "of another record"}' WHERE monitor_id = $1`, other.ID)
	add := func(name string, luma float64) evidence.Record {
		r := newEvidence(t, s, m.ID, picture([]byte(name)))
		r.EventID, r.Files[0].Measure = alert.ID, &luma
		return upload(t, s, r, []byte(name))
	}
	expectPicture := func(id monitor.ID, want string) {
		t.Helper()
		got := ""
		if p := onlyIncident(t, s, id).Picture; p != nil {
			got = p.EvidenceID
		}
		expect(t, "the picture of the incident", got, want)
	}
	expectPicture(m.ID, "")
	best := add("best", 0)
	expectPicture(m.ID, string(best.ID))
	alter(t, db, `UPDATE evidence SET created_at = now() - interval '15 days'`)
	head := feedHead(t, s, db)
	sweep(t, s)
	expectPicture(m.ID, "")
	expectPicture(other.ID, "of another record")
	expect(t, "the feed", feedSince(t, s, head), []string{"incident.updated open"})
	dim := add("dim", 40)
	expectPicture(m.ID, string(dim.ID))
}

func wanted(t *testing.T, s *postgres.Store, id monitor.ID) bool {
	t.Helper()
	return must(s.Accept(t.Context(), id, report()))(t).ThumbnailWanted
}

func TestAThumbnailGoesFromOneGatewayToTheOther(t *testing.T) {
	dsn := database(t)
	first, second := open(t, dsn), open(t, dsn)
	m, other := register(t, first, 1), register(t, first, 2)
	ctx, cancel := context.WithCancel(t.Context())
	announced := make(chan feed.Thumbnail, 10)
	wakes := second.ListenFeed(ctx, func(n feed.Thumbnail) { announced <- n })
	defer func() {
		cancel()
		for range wakes { // closed when it listens no more
		}
	}()
	<-wakes // it listens

	thumbnail := evidences.Thumbnail{MonitorID: m.ID, TakenAt: noon, JPEG: []byte("jpeg\x00\xff")}
	if is, err := first.PutThumbnail(t.Context(), thumbnail, 1); err != nil || is || wanted(t, first, m.ID) {
		t.Errorf("before a page asked, a thumbnail is wanted: %v, %v", is, err)
	}
	requireCode(t, errorOf(second.GetThumbnail(t.Context(), m.ID)), monitor.NotFound)
	for range 2 {
		check(t, second.LeaseThumbnails(t.Context(), []monitor.ID{m.ID, "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"}, 30*time.Second))
	}
	if !wanted(t, first, m.ID) || wanted(t, first, other.ID) {
		t.Error("the lease is not seen by the answers to reports")
	}
	older := thumbnail
	older.TakenAt, older.JPEG = noon.Add(-time.Second), []byte("old")
	for _, put := range []evidences.Thumbnail{thumbnail, older, thumbnail} {
		if is, err := first.PutThumbnail(t.Context(), put, 1); err != nil || !is {
			t.Errorf("wanted is %v, %v", is, err)
		}
	}
	got, err := second.GetThumbnail(t.Context(), m.ID)
	if err != nil || string(got.JPEG) != "jpeg\x00\xff" || !got.TakenAt.Equal(noon) {
		t.Errorf("the thumbnail is %+v, %v", got, err)
	}
	expect(t, "the announcement", <-announced, feed.NewThumbnail(m.ID, noon))
	expect(t, "announcements of an older thumbnail, or of the same one again", len(announced), 0)
	requireSuperseded(t, errorOf(first.PutThumbnail(t.Context(), thumbnail, 2)))
	acceptReport(t, first, m.ID, monitor.Report{Generation: 1, At: noon, Status: monitor.Completed}, monitor.Stop)
	requireCode(t, errorOf(first.PutThumbnail(t.Context(), thumbnail, 1)), monitor.NotFound)
}

func TestThumbnailsEndWithTheirLease(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	check(t, s.LeaseThumbnails(t.Context(), []monitor.ID{m.ID}, 30*time.Second))
	must(s.PutThumbnail(t.Context(), evidences.Thumbnail{MonitorID: m.ID, TakenAt: noon, JPEG: []byte("j")}, 1))(t)
	check(t, s.LeaseThumbnails(t.Context(), []monitor.ID{m.ID}, -time.Second))
	expect(t, "after a shorter lease it is wanted", wanted(t, s, m.ID), true)
	check(t, s.DeleteThumbnails(t.Context(), time.Hour))
	must(s.GetThumbnail(t.Context(), m.ID))(t)
	check(t, s.DeleteThumbnails(t.Context(), 0))
	requireCode(t, errorOf(s.GetThumbnail(t.Context(), m.ID)), monitor.NotFound)
}
