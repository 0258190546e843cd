package evidence_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

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
