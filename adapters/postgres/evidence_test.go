package postgres_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const blobHour = `UPDATE evidence_blobs SET reserved_at = reserved_at - interval '61 minutes'`

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func digestOf(data []byte) evidence.Digest { return sha256.Sum256(data) }
func newReader(data []byte) io.Reader      { return bytes.NewReader(data) }
func picture(data []byte) evidence.File    { return file(evidence.Onset, data) }
func newEvidenceID() evidence.ID           { return evidence.ID(uuid.Must(uuid.NewV7()).String()) }
func days(n int) time.Duration             { return time.Duration(n) * 24 * time.Hour }

func file(v evidence.Variant, data []byte) evidence.File {
	measure := 16.5
	return evidence.File{
		Variant: v, Digest: digestOf(data), Size: int64(len(data)), Width: 640, Height: 360, TakenAt: noon, Measure: &measure,
	}
}

// newEvidence returns a record of a new event of a monitor, with files of the given contents.
func newEvidence(t testing.TB, s *postgres.Store, id monitor.ID, files ...evidence.File) evidence.Record {
	t.Helper()
	eventID := newID()
	check(t, s.InsertEvent(t.Context(), id, eventID))
	return evidence.Record{
		ID: newEvidenceID(), MonitorID: id, EventID: eventID, Condition: "black",
		Phase: evidence.AlertPhase, Class: evidence.Normal, CreatedAt: noon, Files: files,
	}
}

// upload does what a worker's upload does.
func upload(t testing.TB, s *postgres.Store, r evidence.Record, contents ...[]byte) evidence.Record {
	t.Helper()
	for i, data := range contents {
		check(t, s.ReserveBlob(t.Context(), r.MonitorID, 1, r.Files[i]))
		putBlob(t, s, data)
	}
	stored := must(s.AddEvidence(t.Context(), 1, r))(t)
	return stored
}

// putBlob stores data as a worker's upload does, without a record.
func putBlob(t testing.TB, s *postgres.Store, data []byte) {
	t.Helper()
	check(t, s.BlobStore().Put(t.Context(), evidences.NewContent(digestOf(data), int64(len(data)), newReader(data))))
}

// sweep deletes what is due.
func sweep(t testing.TB, s *postgres.Store) {
	t.Helper()
	check(t, evidences.NewSweep(s, s.BlobStore(), evidence.Retention{}, slog.New(slog.DiscardHandler)).Run(t.Context()))
}

func requireEmpty(t testing.TB, db *sql.DB, tables ...string) {
	t.Helper()
	for _, table := range tables {
		if n := countRows(t, db, table); n != 0 {
			t.Errorf("%s has %d rows, want none", table, n)
		}
	}
}

func TestEvidenceIsReadAsItWasStored(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	onset, clip := []byte("a picture"), []byte("a clip")
	r := newEvidence(t, s, m.ID, file(evidence.Onset, onset), file(evidence.Clip, clip))
	r.Note, r.Class = "no picture before the onset: nothing was fetched", evidence.Quarantine
	r.Files[0].Measure, r.Files[1].Measure = nil, nil // %+v would compare addresses
	want := fmt.Sprintf("%+v", r)
	stored := upload(t, s, r, onset, clip)
	read := must(s.Evidence(t.Context(), r.ID))(t)
	for how, got := range map[string]evidence.Record{"stored": stored, "read": read} {
		if fmt.Sprintf("%+v", got) != want {
			t.Errorf("%s is\n%+v, want\n%s", how, got, want)
		}
	}
}

func TestAMeasureIsKept(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	data := []byte("a picture")
	stored := upload(t, s, newEvidence(t, s, m.ID, picture(data)), data)
	if got := stored.Files[0].Measure; got == nil || *got != 16.5 {
		t.Errorf("the measure is %v", got)
	}
}

func TestARepeatedUploadChangesNothing(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	m := register(t, s, 1)
	before, onset := []byte("the picture before"), []byte("the picture at the onset")
	r := newEvidence(t, s, m.ID, file(evidence.Before, before))
	upload(t, s, r, before)
	r.Files = []evidence.File{file(evidence.Onset, onset)}
	first := upload(t, s, r, onset)
	r.CreatedAt = noon.Add(time.Hour)
	second := upload(t, s, r, onset)
	if len(first.Files) != 2 || first.Files[0].Variant != evidence.Before || !second.CreatedAt.Equal(noon) || len(second.Files) != 2 {
		t.Errorf("stored are\n%+v\n%+v", first, second)
	}
	if n := countRows(t, raw(t, dsn), "blobs"); n != 2 {
		t.Errorf("%d blobs are stored, want 2", n)
	}
}

func TestOnlyAChangeOfEvidenceIsAppendedToTheFeed(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	m := register(t, s, 1)
	data := []byte("a picture")
	r := newEvidence(t, s, m.ID, picture(data))
	for range 2 {
		upload(t, s, r, data)
		numberFeed(t, s)
	}
	r.Files, r.Note = nil, "no clip"
	for range 2 {
		upload(t, s, r)
		numberFeed(t, s)
	}
	must(s.SetEvidenceClass(t.Context(), r.ID, evidence.Case))(t)
	numberFeed(t, s)
	var entries int
	var last string
	err := raw(t, dsn).QueryRowContext(t.Context(), `
		SELECT count(*), (SELECT data FROM feed WHERE type = 'evidence.added' ORDER BY version DESC LIMIT 1)
		FROM feed WHERE type = 'evidence.added'`).Scan(&entries, &last)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"evidence_id":%q,"monitor_id":%q,"event_id":%q,"incident_id":null,"condition":"black","phase":"alert",`+
		`"class":"case","variants":["onset"],"note":"no clip","created_at":"2026-11-21T12:00:00Z"}`, r.ID, m.ID, r.EventID)
	if entries != 3 || last != want {
		t.Errorf("%d entries, the last is\n%s, want 3 and\n%s", entries, last, want)
	}
}

func TestTheSamePictureIsStoredOnce(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	data := []byte("a black picture")
	for n := range 3 {
		m := register(t, s, n)
		upload(t, s, newEvidence(t, s, m.ID, picture(data)), data)
	}
	db := raw(t, dsn)
	if files, blobs := countRows(t, db, "evidence_files"), countRows(t, db, "blobs"); files != 3 || blobs != 1 {
		t.Errorf("%d files name %d blobs, want 3 and 1", files, blobs)
	}
}

func TestEvidenceThatIsStoredDoesNotChange(t *testing.T) {
	s := open(t, database(t))
	m, other := register(t, s, 1), register(t, s, 2)
	data := []byte("a picture")
	r := newEvidence(t, s, m.ID, picture(data))
	upload(t, s, r, data)
	for name, alter := range map[string]func(*evidence.Record){
		"another monitor":   func(r *evidence.Record) { r.MonitorID = other.ID },
		"another event":     func(r *evidence.Record) { r.EventID = uuid.NewString() },
		"another phase":     func(r *evidence.Record) { r.Phase = evidence.RecoveryPhase },
		"another condition": func(r *evidence.Record) { r.Condition = "silent" },
		"another picture":   func(r *evidence.Record) { r.Files = []evidence.File{picture([]byte("another"))} },
	} {
		altered := r
		alter(&altered)
		_, err := s.AddEvidence(t.Context(), 1, altered)
		var refused *monitor.Error
		if !errors.As(err, &refused) || refused.Code != evidence.Conflict {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestANoteNeedsNoFile(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	r := newEvidence(t, s, m.ID)
	r.Note = "no segment could be fetched"
	upload(t, s, r)
	r.Note = ""
	if stored := upload(t, s, r); stored.Note != "no segment could be fetched" {
		t.Errorf("the note is %q", stored.Note)
	}
}

func TestOnlyTheNewestGenerationUploads(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	r := newEvidence(t, s, m.ID, picture([]byte("a picture")))
	for _, generation := range []int{0, 2} {
		if err := s.ReserveBlob(t.Context(), m.ID, generation, r.Files[0]); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("generation %d reserves a blob: %v", generation, err)
		}
		if _, err := s.AddEvidence(t.Context(), generation, r); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("generation %d adds evidence: %v", generation, err)
		}
	}
	unknown := registration(2).ID
	requireCode(t, s.ReserveBlob(t.Context(), unknown, 1, r.Files[0]), monitor.NotFound)
	r.MonitorID = unknown
	requireCode(t, errorOf(s.AddEvidence(t.Context(), 1, r)), monitor.NotFound)
}

func TestEvidenceIsListedNewestFirst(t *testing.T) {
	s := open(t, database(t))
	m, other := register(t, s, 1), register(t, s, 2)
	var all []evidence.Record
	for range 3 {
		all = append(all, upload(t, s, newEvidence(t, s, m.ID)))
	}
	foreign := upload(t, s, newEvidence(t, s, other.ID))
	for name, c := range map[string]struct {
		filter evidences.Filter
		want   []evidence.ID
	}{
		"all":               {evidences.Filter{}, []evidence.ID{foreign.ID, all[2].ID, all[1].ID, all[0].ID}},
		"of a monitor":      {evidences.Filter{MonitorID: m.ID}, []evidence.ID{all[2].ID, all[1].ID, all[0].ID}},
		"the next page":     {evidences.Filter{MonitorID: m.ID, Before: all[1].ID}, []evidence.ID{all[0].ID}},
		"of an event":       {evidences.Filter{EventID: all[1].EventID}, []evidence.ID{all[1].ID}},
		"of no incident":    {evidences.Filter{IncidentID: uuid.NewString()}, nil},
		"two":               {evidences.Filter{Limit: 2}, []evidence.ID{foreign.ID, all[2].ID}},
		"of both, no match": {evidences.Filter{MonitorID: other.ID, EventID: all[1].EventID}, nil},
	} {
		if c.filter.Limit == 0 {
			c.filter.Limit = 10
		}
		list, err := s.ListEvidence(t.Context(), c.filter)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []evidence.ID
		for _, r := range list {
			got = append(got, r.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: listed are %v, want %v", name, got, c.want)
		}
	}
}

func TestExpiredEvidenceIsDeletedByClass(t *testing.T) {
	s, db := newStore(t)
	m := register(t, s, 1)
	ages := map[evidence.Class][]int{evidence.Normal: {13, 15}, evidence.Quarantine: {15, 59, 61}, evidence.Case: {10_000}}
	kept := map[string]bool{}
	for class, list := range ages {
		for _, age := range list {
			r := newEvidence(t, s, m.ID, picture([]byte(fmt.Sprint(class, age))))
			r.Class, r.CreatedAt = class, time.Now().Add(-days(age))
			upload(t, s, r, []byte(fmt.Sprint(class, age)))
			if expired := class == evidence.Normal && age > 14 || class == evidence.Quarantine && age > 60; !expired {
				kept[string(r.ID)] = true
			}
		}
	}
	sweep(t, s)
	list := must(s.ListEvidence(t.Context(), evidences.Filter{Limit: 10}))(t)
	for _, r := range list {
		if !kept[string(r.ID)] {
			t.Errorf("kept is %s evidence of %v", r.Class, r.CreatedAt)
		}
	}
	if len(list) != len(kept) {
		t.Errorf("%d records are kept, want %d", len(list), len(kept))
	}
	expectRows(t, db, "blobs", 6)
	alter(t, db, blobHour)
	sweep(t, s)
	if n := countRows(t, db, "blobs"); n != len(kept) {
		t.Errorf("%d blobs are left, want %d", n, len(kept))
	}
}

func TestACaseIsKeptUntilItIsReleased(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	m := register(t, s, 1)
	r := newEvidence(t, s, m.ID)
	r.CreatedAt = time.Now().Add(-days(100))
	upload(t, s, r)
	must(s.SetEvidenceClass(t.Context(), r.ID, evidence.Case))(t)
	sweep(t, s)
	if got, err := s.Evidence(t.Context(), r.ID); err != nil || got.Class != evidence.Case {
		t.Fatalf("the class is %q: %v", got.Class, err)
	}
	must(s.SetEvidenceClass(t.Context(), r.ID, evidence.Normal))(t)
	sweep(t, s)
	requireCode(t, errorOf(s.Evidence(t.Context(), r.ID)), evidence.NotFound)
	requireCode(t, errorOf(s.SetEvidenceClass(t.Context(), r.ID, evidence.Case)), evidence.NotFound)
}

func TestABlobThatIsNamedIsNoOrphan(t *testing.T) {
	s, db := newStore(t)
	m := register(t, s, 1)
	data := []byte("a picture")
	upload(t, s, newEvidence(t, s, m.ID, picture(data)), data)
	shared := newEvidence(t, s, m.ID, picture(data))
	shared.CreatedAt = time.Now().Add(-days(15))
	upload(t, s, shared, data)
	alter(t, db, blobHour)
	sweep(t, s)
	if files, blobs := countRows(t, db, "evidence_files"), countRows(t, db, "blobs"); files != 1 || blobs != 1 {
		t.Errorf("%d files and %d blobs are left, want 1 and 1", files, blobs)
	}
}

// TestAnUploadCutBeforeItsRecordLeavesNoBlob is a gateway that was killed after the
// blob was stored.
func TestAnUploadCutBeforeItsRecordLeavesNoBlob(t *testing.T) {
	s, db := newStore(t)
	m := register(t, s, 1)
	data := []byte("a picture")
	f := picture(data)
	check(t, s.ReserveBlob(t.Context(), m.ID, 1, f))
	putBlob(t, s, data)
	alter(t, db, blobHour)
	sweep(t, s)
	requireEmpty(t, db, "blobs", "blob_chunks", "evidence_blobs")
}

func TestAReservedBlobIsNoOrphanForAnHour(t *testing.T) {
	s, db := newStore(t)
	m := register(t, s, 1)
	data := []byte("a picture")
	f := picture(data)
	for range 2 { // the second upload renews the reservation of the first
		check(t, s.ReserveBlob(t.Context(), m.ID, 1, f))
		putBlob(t, s, data)
		sweep(t, s)
		if n := countRows(t, db, "blobs"); n != 1 {
			t.Fatalf("%d blobs are left, want 1", n)
		}
		alter(t, db, blobHour)
	}
	sweep(t, s)
	requireEmpty(t, db, "blobs", "evidence_blobs")
}

func TestAClaimedBlobIsNotReservedAndNotNamed(t *testing.T) {
	s, db := newStore(t)
	m := register(t, s, 1)
	r := newEvidence(t, s, m.ID, picture([]byte("a picture")))
	check(t, s.ReserveBlob(t.Context(), m.ID, 1, r.Files[0]))
	alter(t, db, blobHour)
	claim := func(want int) []evidence.Digest {
		t.Helper()
		claimed, err := s.ClaimOrphanedBlobs(t.Context(), time.Hour, 10)
		if err != nil || len(claimed) != want {
			t.Fatalf("%d orphans are claimed, want %d: %v", len(claimed), want, err)
		}
		return claimed
	}
	claimed := claim(1)
	if err := s.ReserveBlob(t.Context(), m.ID, 1, r.Files[0]); !errors.Is(err, evidences.ErrBlobBusy) {
		t.Errorf("reserving it: %v", err)
	}
	if _, err := s.AddEvidence(t.Context(), 1, r); !errors.Is(err, evidences.ErrBlobBusy) {
		t.Errorf("naming it: %v", err)
	}
	claim(0)
	alter(t, db, `UPDATE evidence_blobs SET deleting_at = deleting_at - interval '6 minutes'`) // the claimant has died
	claim(1)
	check(t, s.ForgetBlobs(t.Context(), claimed))
	if err := s.ReserveBlob(t.Context(), m.ID, 1, r.Files[0]); err != nil {
		t.Errorf("reserving it after its deletion: %v", err)
	}
}

func TestABlobThatTheDatabaseDoesNotKnowIsDeletedAfterAnHour(t *testing.T) {
	s, db := newStore(t)
	data := []byte("a picture")
	putBlob(t, s, data)
	sweep(t, s)
	if n := countRows(t, db, "blobs"); n != 1 {
		t.Fatalf("%d blobs are left, want 1", n)
	}
	alter(t, db, blobHour)
	sweep(t, s)
	requireEmpty(t, db, "blobs", "evidence_blobs")
}

// TestUploadsAndSweepsDoNotLoseABlob runs uploads of the same picture beside sweeps. Before each
// upload the blob is an orphan that is old enough, so either the claim or the reservation is
// first. A blob that could be reserved is there when it is named.
func TestUploadsAndSweepsDoNotLoseABlob(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	m := register(t, s, 1)
	db, data := raw(t, dsn), []byte("the same picture")
	ctx, cancel := context.WithCancel(t.Context())
	var sweeping sync.WaitGroup
	var deleted atomic.Int32
	sweeping.Go(func() {
		for ctx.Err() == nil {
			claimed, err := s.ClaimOrphanedBlobs(ctx, time.Hour, 10)
			for _, d := range claimed {
				err = errors.Join(err, s.BlobStore().Delete(t.Context(), d))
			}
			if len(claimed) > 0 {
				err = errors.Join(err, s.ForgetBlobs(t.Context(), claimed))
				deleted.Add(1)
			}
			if err != nil && ctx.Err() == nil {
				t.Errorf("sweep: %v", err)
				return
			}
		}
	})
	defer sweeping.Wait()
	defer cancel()
	named, busy := 0, 0
	for deadline := time.Now().Add(time.Minute); named < 50 || deleted.Load() < 5; {
		if time.Now().After(deadline) {
			t.Fatalf("in a minute %d blobs were named and %d deleted", named, deleted.Load())
		}
		r := newEvidence(t, s, m.ID, picture(data))
		err := s.ReserveBlob(t.Context(), m.ID, 1, r.Files[0])
		if errors.Is(err, evidences.ErrBlobBusy) { // the worker tries again
			busy++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		putBlob(t, s, data)
		if _, err := s.AddEvidence(t.Context(), 1, r); err != nil {
			t.Fatalf("naming a blob that is reserved: %v", err)
		}
		named++
		open, err := s.BlobStore().Open(t.Context(), r.Files[0].Digest, 0)
		if err != nil {
			t.Fatalf("the blob of stored evidence is gone: %v", err)
		}
		_ = open.Close()
		alter(t, db, `DELETE FROM evidence`)
		alter(t, db, blobHour)
	}
	t.Logf("%d blobs were named and %d deleted; %d reservations came during a deletion", named, deleted.Load(), busy)
}

func TestEvidenceBelongsToTheIncidentOfItsEvent(t *testing.T) {
	s, db := newStore(t)
	m := register(t, s, 1)
	alert := trouble(detector.Blackout, hourAgo())
	acceptReport(t, s, m.ID, report(alert), monitor.Run)
	i := onlyIncident(t, s, m.ID)
	alter(t, db, `UPDATE incidents SET severity = 1`)
	before, onset := []byte("before"), []byte("onset")
	r := newEvidence(t, s, m.ID, file(evidence.Before, before))
	r.EventID = alert.ID
	stored := upload(t, s, r, before)
	if stored.IncidentID != i.ID || stored.Class != evidence.Normal || onlyIncident(t, s, m.ID).Picture != nil {
		t.Errorf("stored is %+v", stored)
	}
	r.Files = []evidence.File{file(evidence.Onset, onset)}
	upload(t, s, r, onset)
	if p := onlyIncident(t, s, m.ID).Picture; p == nil || p.EvidenceID != string(r.ID) || p.Variant != "onset" || p.Condition != "black" {
		t.Errorf("the incident shows %+v", p)
	}
	list, err := s.ListEvidence(t.Context(), evidences.Filter{IncidentID: i.ID, Limit: 10})
	if err != nil || len(list) != 1 || list[0].ID != r.ID {
		t.Errorf("of the incident are listed %+v: %v", list, err)
	}
	alter(t, db, `UPDATE incidents SET severity = 2`)
	sweep(t, s)
	if got, err := s.Evidence(t.Context(), r.ID); err != nil || got.Class != evidence.Quarantine {
		t.Errorf("when the incident is severe, the class is %s: %v", got.Class, err)
	}
	later := newEvidence(t, s, m.ID)
	later.EventID = alert.ID
	if got := upload(t, s, later); got.Class != evidence.Quarantine {
		t.Errorf("further evidence is %s", got.Class)
	}
}
