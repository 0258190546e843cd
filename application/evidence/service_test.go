package evidence_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// recordStore is an evidences.Store that can be read.
type recordStore struct {
	evidences.Store

	records []evidence.Record // the newest first
	alerts  map[string]string // of recoveries
	failing string            // the method that fails
}

func (s *recordStore) fail(method string) error {
	if method == s.failing {
		return errors.New("the database is gone")
	}
	return nil
}

func (s *recordStore) Evidence(_ context.Context, id evidence.ID) (evidence.Record, error) {
	for _, r := range s.records {
		if r.ID == id {
			return r, nil
		}
	}
	return evidence.Record{}, monitor.Errorf(evidence.NotFound, "there is no evidence %s", id)
}

func (s *recordStore) ListEvidence(_ context.Context, f evidences.Filter) (found []evidence.Record, err error) {
	for _, r := range s.records {
		if r.MonitorID == f.MonitorID && r.EventID == f.EventID {
			found = append(found, r)
		}
	}
	return found, s.fail("ListEvidence")
}

func (s *recordStore) AlertOf(_ context.Context, recoveryID string, _ event.Type) (string, error) {
	return s.alerts[recoveryID], s.fail("AlertOf")
}

func TestAWebhookShowsTheNewestRecordThatHasAFile(t *testing.T) { // section 16.2
	const (
		mon      = monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d")
		alert    = "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c01"
		recovery = "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c02"
		first    = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c11")
		empty    = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c12")
	)
	const outageOver = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c13")
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	store := &recordStore{alerts: map[string]string{recovery: alert}}
	keys := evidence.LinkKeys{"a key of sixteen"}
	service, err := evidences.NewService(store, nil, evidences.Config{
		Keys: keys, PublicURL: "https://monitor.example.com/", Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := service.FindEvidence(t.Context(), mon, alert, event.Blackout); got != nil || err != nil {
		t.Errorf("before anything is stored: %+v, %v", got, err)
	}
	onset := evidence.File{Variant: evidence.Onset, Size: 1, TakenAt: now}
	store.records = []evidence.Record{
		// A recovery from an outage has no event of its own.
		{ID: outageOver, MonitorID: mon, EventID: alert, Condition: "no_media", Phase: evidence.RecoveryPhase, Files: []evidence.File{onset}},
		{ID: empty, MonitorID: mon, EventID: alert, Condition: "black", Phase: evidence.AlertPhase, Note: "no media"},
		{ID: first, MonitorID: mon, EventID: alert, Condition: "black", Phase: evidence.AlertPhase, Files: []evidence.File{onset}},
	}
	for id, typ := range map[string]event.Type{alert: event.Blackout, recovery: event.BlackoutRecovered} {
		got, err := service.FindEvidence(t.Context(), mon, id, typ)
		if err != nil || got == nil {
			t.Fatalf("%s: %+v, %v", typ, got, err)
		}
		link := got.Links["onset"]
		if got.EvidenceID != string(first) || got.EventID != alert || len(got.Links) != 1 || !got.ExpiresAt.Equal(now.Add(15*time.Minute)) ||
			!strings.HasPrefix(link, "https://monitor.example.com/evidence/"+string(first)+"/onset?") {
			t.Errorf("%s: %+v", typ, got)
		}
	}
	for _, store.failing = range []string{"AlertOf", "ListEvidence"} {
		if _, err := service.FindEvidence(t.Context(), mon, recovery, event.BlackoutRecovered); err == nil || !strings.Contains(err.Error(), recovery) {
			t.Errorf("%s fails: the error is %v, which does not name the event", store.failing, err)
		}
	}
	store.failing = ""
	delete(store.alerts, recovery)
	if got, err := service.FindEvidence(t.Context(), mon, recovery, event.BlackoutRecovered); got != nil || err != nil {
		t.Errorf("a recovery whose alert is not stored: %+v, %v", got, err)
	}
}

// oneBlob is an evidences.BlobStore of one blob.
type oneBlob struct {
	evidences.BlobStore

	content []byte
}

func (b oneBlob) Open(_ context.Context, d evidence.Digest, _ int64) (io.ReadCloser, error) {
	if d != sha256.Sum256(b.content) {
		return nil, evidences.ErrNoBlob
	}
	return io.NopCloser(bytes.NewReader(b.content)), nil
}

func TestAMessageShowsThePictureOfItsIncident(t *testing.T) { // section 19.3
	const id = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c11")
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	jpeg := []byte("bytes of a picture")
	digest := evidence.Digest(sha256.Sum256(jpeg))
	file := evidence.File{Variant: evidence.Onset, Digest: digest, Size: int64(len(jpeg)), TakenAt: now, RenditionHeight: 360}
	store := &recordStore{records: []evidence.Record{{ID: id, Condition: "black", Phase: evidence.AlertPhase, Files: []evidence.File{file}}}}
	onset := incident.Picture{EvidenceID: string(id), Variant: "onset"}
	for name, c := range map[string]struct {
		publicURL string
		picture   incident.Picture
		most      int64
		bytes     []byte
		url       string
		code      monitor.Code
	}{
		"with its bytes":           {"https://monitor.example/", onset, 100, jpeg, "https://monitor.example/evidence/" + string(id) + "/onset?", ""},
		"with a link only":         {"https://monitor.example/", onset, 17, nil, "https://monitor.example/evidence/", ""},
		"without a public URL":     {"", onset, 18, jpeg, "", ""},
		"with another file":        {"", incident.Picture{EvidenceID: string(id), Variant: "level"}, 100, nil, "", evidence.NotFound},
		"whose record was deleted": {"", incident.Picture{EvidenceID: "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c12", Variant: "onset"}, 100, nil, "", evidence.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			service, err := evidences.NewService(store, oneBlob{content: jpeg}, evidences.Config{
				Keys: evidence.LinkKeys{"a key of sixteen"}, PublicURL: c.publicURL, Now: func() time.Time { return now },
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := service.MessagePicture(t.Context(), c.picture, c.most)
			var refused *monitor.Error
			if c.code != "" {
				if !errors.As(err, &refused) || refused.Code != c.code {
					t.Errorf("the error is %v, want %s", err, c.code)
				}
				return
			}
			if err != nil || !bytes.Equal(got.Bytes, c.bytes) || got.MediaType != "image/jpeg" || got.RenditionHeight != 360 || !strings.HasPrefix(got.URL, c.url) || (got.URL == "") != (c.url == "") {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// sweepStore has a number of expired records, and orphans.
type sweepStore struct {
	expired   int // of class normal
	severe    int // expired, of class quarantine
	orphans   []evidence.Digest
	claimed   []evidence.Digest
	forgotten int
	failRaise error
}

func (s *sweepStore) QuarantineSevereEvidence(context.Context, int) (int, error) {
	return 0, s.failRaise
}

func (s *sweepStore) DeleteExpiredEvidence(_ context.Context, c evidence.Class, _ time.Duration, limit int) (int, error) {
	left := &s.expired
	if c == evidence.Quarantine {
		left = &s.severe
	}
	n := min(*left, limit)
	*left -= n
	return n, nil
}

func (s *sweepStore) ClaimOrphanedBlobs(_ context.Context, _ time.Duration, limit int) ([]evidence.Digest, error) {
	n := min(len(s.orphans), limit)
	claimed := s.orphans[:n]
	s.orphans, s.claimed = s.orphans[n:], append(s.claimed, claimed...)
	return claimed, nil
}

func (s *sweepStore) ForgetBlobs(_ context.Context, digests []evidence.Digest) error {
	s.forgotten += len(digests)
	return nil
}

func (s *sweepStore) AdoptBlobs(context.Context, []evidence.Digest) (int, error) { return 0, nil }

// emptyBlobs is an evidences.BlobCleaner of no blobs, whose failure is that of Delete.
type emptyBlobs struct{ failure error }

func (b emptyBlobs) Delete(context.Context, evidence.Digest) error { return b.failure }

func (emptyBlobs) List(context.Context, evidence.Digest, int) ([]evidence.Digest, error) {
	return nil, nil
}

func (emptyBlobs) DeletePartial(context.Context, time.Duration) (int, error) { return 0, nil }

func TestASweepDeletesEverythingInBatches(t *testing.T) {
	store := &sweepStore{expired: 250, orphans: make([]evidence.Digest, 120)}
	if err := evidences.NewSweep(store, emptyBlobs{}, evidence.Retention{}, slog.New(slog.DiscardHandler)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if store.expired != 0 || len(store.orphans) != 0 || store.forgotten != 120 {
		t.Errorf("left are %d records and %d orphans; %d blobs are forgotten, want 120", store.expired, len(store.orphans), store.forgotten)
	}
}

func TestABlobStoreThatIsAwayKeepsNoRecordFromBeingDeleted(t *testing.T) {
	away := errors.New("the bucket is away")
	store := &sweepStore{expired: 3, orphans: make([]evidence.Digest, 2)}
	blobs := emptyBlobs{away}
	err := evidences.NewSweep(store, blobs, evidence.Retention{}, slog.New(slog.DiscardHandler)).Run(t.Context())
	if !errors.Is(err, away) {
		t.Errorf("the error is %v", err)
	}
	if store.expired != 0 || store.forgotten != 0 {
		t.Errorf("%d records are left; %d blobs that were not deleted are forgotten", store.expired, store.forgotten)
	}
}

func TestNormalEvidenceWaitsForTheQuarantineAndNothingElseDoes(t *testing.T) {
	slow := errors.New("the statement took too long")
	store := &sweepStore{expired: 3, severe: 2, orphans: make([]evidence.Digest, 4), failRaise: slow}
	blobs := emptyBlobs{}
	err := evidences.NewSweep(store, blobs, evidence.Retention{}, slog.New(slog.DiscardHandler)).Run(t.Context())
	if !errors.Is(err, slow) {
		t.Errorf("the error is %v", err)
	}
	if store.expired != 3 || store.severe != 0 || store.forgotten != 4 {
		t.Errorf("left are %d normal and %d severe records, want 3 and 0; %d blobs are deleted, want 4", store.expired, store.severe, store.forgotten)
	}
}
