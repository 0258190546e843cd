package postgres_test

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
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
		Variant: v, Digest: digestOf(data), Size: int64(len(data)), Width: 640, Height: 360, RenditionHeight: 720, TakenAt: noon, Measure: &measure,
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
	return must(s.AddEvidence(t.Context(), 1, r))(t)
}

// putBlob stores data as a worker's upload does, without a record.
func putBlob(t testing.TB, s *postgres.Store, data []byte) {
	t.Helper()
	check(t, s.BlobStore().Put(t.Context(), evidences.NewContent(digestOf(data), int64(len(data)), newReader(data))))
}

func sweep(t testing.TB, s *postgres.Store) {
	t.Helper()
	check(t, evidences.NewSweep(s, s.BlobStore(), evidence.Retention{}, slog.New(slog.DiscardHandler)).Run(t.Context()))
}

func requireEmpty(t testing.TB, db *sql.DB, tables ...string) {
	t.Helper()
	for _, table := range tables {
		expectRows(t, db, table, 0)
	}
}

func TestEvidenceIsReadAsItWasStored(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	onset, clip := []byte("a picture"), []byte("a clip")
	r := newEvidence(t, s, m.ID, file(evidence.Onset, onset), file(evidence.Clip, clip))
	r.Note, r.Class = "no picture before the onset: nothing was fetched", evidence.Quarantine
	r.Files[1].Measure = nil
	stored := upload(t, s, r, onset, clip)
	for how, got := range map[string]evidence.Record{"stored": stored, "read": must(s.Evidence(t.Context(), r.ID))(t)} {
		expect(t, how+": the measure", *got.Files[0].Measure, *r.Files[0].Measure)
		got.Files[0].Measure = r.Files[0].Measure // %+v compares addresses
		expect(t, how, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", r))
	}
}

// What is stored does not change when it is uploaded again, whatever comes with it. Only additions are in the feed.
func TestEvidenceThatIsStoredDoesNotChange(t *testing.T) {
	s, db := newStore(t)
	m, other := register(t, s, 1), register(t, s, 2)
	before, onset := []byte("the picture before"), []byte("the picture at the onset")
	r := newEvidence(t, s, m.ID, file(evidence.Before, before))
	r.Note = "no clip"
	head := feedHead(t, s, db)
	upload(t, s, r, before)
	numberFeed(t, s)
	r.Files, r.Note = []evidence.File{file(evidence.Onset, onset)}, ""
	for range 2 {
		stored := upload(t, s, r, onset)
		if len(stored.Files) != 2 || stored.Files[0].Variant != evidence.Before || !stored.CreatedAt.Equal(noon) || stored.Note != "no clip" {
			t.Errorf("stored is %+v", stored)
		}
		r.CreatedAt = noon.Add(time.Hour)
		numberFeed(t, s)
	}
	r.Note = "no clip could be fetched"
	expect(t, "a note that comes later", upload(t, s, r, onset).Note, r.Note)
	numberFeed(t, s)
	expectRows(t, db, "blobs", 2)
	for name, alter := range map[string]func(*evidence.Record){
		"another monitor":   func(r *evidence.Record) { r.MonitorID = other.ID },
		"another event":     func(r *evidence.Record) { r.EventID = uuid.NewString() },
		"another phase":     func(r *evidence.Record) { r.Phase = evidence.RecoveryPhase },
		"another condition": func(r *evidence.Record) { r.Condition = "silent" },
		"another picture":   func(r *evidence.Record) { r.Files = []evidence.File{picture([]byte("another"))} },
	} {
		altered := r
		alter(&altered)
		t.Run(name, func(t *testing.T) { requireCode(t, errorOf(s.AddEvidence(t.Context(), 1, altered)), evidence.Conflict) })
	}
	must(s.SetEvidenceClass(t.Context(), r.ID, evidence.Case))(t)
	numberFeed(t, s)
	entries := values[string](t, db, `SELECT data FROM feed WHERE version > $1 ORDER BY version`, head)
	expectLen(t, "the feed", entries, 4) // two pictures, the note and the class
	expect(t, "the last entry", entries[len(entries)-1], fmt.Sprintf(`{"evidence_id":%q,"monitor_id":%q,"event_id":%q,"incident_id":null,"condition":"black","phase":"alert",`+
		`"class":"case","variants":["before","onset"],"note":"no clip could be fetched","created_at":"2026-11-21T12:00:00Z"}`, r.ID, m.ID, r.EventID))
}

func TestOnlyTheNewestGenerationUploads(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	r := newEvidence(t, s, m.ID, picture([]byte("a picture")))
	for _, generation := range []int{0, 2} {
		requireSuperseded(t, s.ReserveBlob(t.Context(), m.ID, generation, r.Files[0]))
		requireSuperseded(t, errorOf(s.AddEvidence(t.Context(), generation, r)))
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
		var got []evidence.ID
		for _, r := range must(s.ListEvidence(t.Context(), c.filter))(t) {
			got = append(got, r.ID)
		}
		expect(t, name+": listed", got, c.want)
	}
}

func TestExpiredEvidenceIsDeletedByClass(t *testing.T) {
	s, db := newStore(t)
	m := register(t, s, 1)
	add := func(class evidence.Class, age int) evidence.ID {
		t.Helper()
		data := []byte(fmt.Sprint(class, age))
		r := newEvidence(t, s, m.ID, picture(data))
		r.Class, r.CreatedAt = class, time.Now().Add(-days(age))
		return upload(t, s, r, data).ID
	}
	kept := []evidence.ID{add(evidence.Normal, 13), add(evidence.Quarantine, 15), add(evidence.Quarantine, 59)}
	for class, age := range map[evidence.Class]int{evidence.Normal: 15, evidence.Quarantine: 61} {
		add(class, age)
	}
	held := add(evidence.Case, 10_000)
	expectKept := func(want ...evidence.ID) {
		t.Helper()
		sweep(t, s)
		var got []evidence.ID
		for _, r := range must(s.ListEvidence(t.Context(), evidences.Filter{Limit: 10}))(t) {
			got = append(got, r.ID)
		}
		slices.Reverse(got)
		expect(t, "what is kept", got, want)
	}
	expectKept(append(kept, held)...)
	expectRows(t, db, "blobs", 6) // in the hour of grace
	alter(t, db, blobHour)
	sweep(t, s)
	expectRows(t, db, "blobs", 4)

	must(s.SetEvidenceClass(t.Context(), kept[2], evidence.Case))(t)
	alter(t, db, `UPDATE evidence SET created_at = created_at - interval '60 days'`)
	expectKept(kept[2], held)
	expect(t, "the class when it is released", must(s.SetEvidenceClass(t.Context(), held, evidence.Normal))(t).Class, evidence.Normal)
	expectKept(kept[2])
	requireCode(t, errorOf(s.Evidence(t.Context(), held)), evidence.NotFound)
	requireCode(t, errorOf(s.SetEvidenceClass(t.Context(), held, evidence.Case)), evidence.NotFound)
}

func TestABlobThatNoRecordNamesIsDeletedAfterAnHour(t *testing.T) {
	s, db := newStore(t)
	m, data := register(t, s, 1), []byte("a picture")
	sweptAfterAnHour := func() {
		t.Helper()
		alter(t, db, blobHour)
		sweep(t, s)
		requireEmpty(t, db, "blobs", "blob_chunks", "evidence_blobs")
	}
	for range 2 { // the second upload renews the reservation of the first
		check(t, s.ReserveBlob(t.Context(), m.ID, 1, picture(data)))
		putBlob(t, s, data)
		sweep(t, s)
		expectRows(t, db, "blobs", 1)
		alter(t, db, `UPDATE evidence_blobs SET reserved_at = reserved_at - interval '50 minutes'`)
	}
	sweptAfterAnHour()

	putBlob(t, s, data) // one that nobody has reserved
	sweep(t, s)
	expectRows(t, db, "blobs", 1)
	sweptAfterAnHour()
}

func TestABlobIsStoredOnceAndKeptWhileARecordNamesIt(t *testing.T) {
	s, db := newStore(t)
	m, data := register(t, s, 1), []byte("a black picture")
	shared := newEvidence(t, s, m.ID, picture(data))
	shared.CreatedAt = time.Now().Add(-days(15))
	upload(t, s, shared, data)
	for n := range 2 {
		upload(t, s, newEvidence(t, s, register(t, s, 2+n).ID, picture(data)), data)
	}
	expectRows(t, db, "evidence_files", 3)
	expectRows(t, db, "blobs", 1)
	alter(t, db, blobHour)
	sweep(t, s)
	expectRows(t, db, "evidence_files", 2)
	expectRows(t, db, "blobs", 1)
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
	expectError(t, "reserving it", s.ReserveBlob(t.Context(), m.ID, 1, r.Files[0]), evidences.ErrBlobBusy)
	expectError(t, "naming it", errorOf(s.AddEvidence(t.Context(), 1, r)), evidences.ErrBlobBusy)
	claim(0)
	alter(t, db, `UPDATE evidence_blobs SET deleting_at = deleting_at - interval '6 minutes'`) // the claimant has died
	claim(1)
	check(t, s.ForgetBlobs(t.Context(), claimed))
	check(t, s.ReserveBlob(t.Context(), m.ID, 1, r.Files[0]))
}

// Uploads of the same picture run beside sweeps. Before each upload the blob is an orphan that is old enough, so either
// the claim or the reservation is first. A blob that could be reserved is there when it is named.
func TestUploadsAndSweepsDoNotLoseABlob(t *testing.T) {
	s, db := newStore(t)
	m, data := register(t, s, 1), []byte("the same picture")
	var ended atomic.Bool
	var deleted atomic.Int32
	wait := inBackground(t, func() (err error) {
		for err == nil && !ended.Load() {
			var claimed []evidence.Digest
			claimed, err = s.ClaimOrphanedBlobs(t.Context(), time.Hour, 10)
			for _, d := range claimed {
				deleted.Add(1)
				err = errors.Join(err, s.BlobStore().Delete(t.Context(), d), s.ForgetBlobs(t.Context(), claimed))
			}
		}
		return err
	})
	named := 0
	eventually(t, "50 blobs are named and 5 deleted", func() bool {
		r := newEvidence(t, s, m.ID, picture(data))
		err := s.ReserveBlob(t.Context(), m.ID, 1, r.Files[0])
		if errors.Is(err, evidences.ErrBlobBusy) { // the worker tries again
			return false
		}
		check(t, err)
		putBlob(t, s, data)
		must(s.AddEvidence(t.Context(), 1, r))(t)
		check(t, must(s.BlobStore().Open(t.Context(), r.Files[0].Digest, 0))(t).Close())
		alter(t, db, `DELETE FROM evidence`)
		alter(t, db, blobHour)
		named++
		return named >= 50 && deleted.Load() >= 5
	})
	ended.Store(true)
	wait()
}

func TestEvidenceBelongsToTheIncidentOfItsEvent(t *testing.T) {
	s, db := newStore(t)
	alert := trouble(detector.Blackout, hourAgo())
	m := registerWith(t, s, 1, alert)
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
	expect(t, "the class when the incident is severe", must(s.Evidence(t.Context(), r.ID))(t).Class, evidence.Quarantine)
	later := newEvidence(t, s, m.ID)
	later.EventID = alert.ID
	expect(t, "further evidence", upload(t, s, later).Class, evidence.Quarantine)
}
