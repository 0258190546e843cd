package evidence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// Sizes and ages of the sweep. Small batches keep every lock below 100 ms.
const (
	evidenceBatch = 50 // records
	orphanBatch   = 50 // blobs
	listBatch     = 1000
	orphanAge     = time.Hour       // longer than any upload takes
	deleteTimeout = 2 * time.Minute // of one batch of orphans; shorter than a claim
)

// SweepStore finds what is to be deleted. Its methods may be called
// concurrently, by several gateways; ages count by the store's clock.
type SweepStore interface {
	Expirer
	BlobRegistry
}

// Expirer changes records of evidence as time passes.
type Expirer interface {
	// QuarantineSevereEvidence gives class quarantine to up to limit normal records whose
	// incident has become severe (evidence.SevereFrom), and returns how many.
	QuarantineSevereEvidence(ctx context.Context, limit int) (int, error)

	// DeleteExpiredEvidence deletes up to limit records of a class that are older than
	// age, oldest first, and returns how many. An incident that shows a picture of them
	// loses it.
	DeleteExpiredEvidence(ctx context.Context, c evidence.Class, age time.Duration, limit int) (int, error)
}

// BlobRegistry knows which blobs the blob store has, and which of them are orphans.
type BlobRegistry interface {
	// ClaimOrphanedBlobs claims up to limit blobs that no file names and that nobody
	// has reserved for age. A claimed blob cannot be reserved until it is forgotten.
	// A claim that was not finished for five minutes is given out again.
	ClaimOrphanedBlobs(ctx context.Context, age time.Duration, limit int) ([]evidence.Digest, error)

	// ForgetBlobs ends the claim of blobs that were deleted.
	ForgetBlobs(ctx context.Context, digests []evidence.Digest) error

	// AdoptBlobs notes the blobs of a list that the database does not know, as after the
	// restore of an older backup. They are orphans from now on. It returns how many.
	AdoptBlobs(ctx context.Context, digests []evidence.Digest) (int, error)
}

// Sweep deletes expired evidence and orphaned blobs. One gateway at a time
// runs it: the elected one.
type Sweep struct {
	store     SweepStore
	blobs     BlobCleaner
	retention evidence.Retention
	log       *slog.Logger

	listed evidence.Digest // the end of the part of the blob store that was listed last
}

// NewSweep makes a Sweep. A retention of 0 is the default of its class.
func NewSweep(store SweepStore, blobs BlobCleaner, retention evidence.Retention, log *slog.Logger) *Sweep {
	return &Sweep{store: store, blobs: blobs, retention: retention.OrDefaults(), log: log.With("component", "evidence")}
}

// Run deletes everything that is due, in small batches, and logs what it has deleted.
// It may be cut at any point: the next run goes on. A step that fails stops no other,
// with one exception: nothing normal is deleted before severe evidence is quarantined.
func (s *Sweep) Run(ctx context.Context) error {
	deleted := map[evidence.Class]int{}
	var errs []error
	quarantined, err := inBatches(evidenceBatch, func() (int, error) { return s.store.QuarantineSevereEvidence(ctx, evidenceBatch) })
	expiring := []evidence.Class{evidence.Quarantine}
	if err == nil {
		expiring = []evidence.Class{evidence.Normal, evidence.Quarantine}
	}
	errs = append(errs, err)
	for _, class := range expiring {
		n, err := s.deleteExpired(ctx, class)
		deleted[class] = n
		errs = append(errs, err)
	}
	adopted, err := s.adopt(ctx)
	errs = append(errs, err)
	orphans, err := inBatches(orphanBatch, func() (int, error) { return s.deleteOrphans(ctx) })
	errs = append(errs, err)
	partial, err := s.blobs.DeletePartial(ctx, orphanAge)
	errs = append(errs, err)
	if quarantined > 0 {
		s.log.Info("evidence of severe incidents is kept for longer", "quarantined", quarantined)
	}
	if deleted[evidence.Normal]+deleted[evidence.Quarantine]+adopted+orphans+partial > 0 {
		s.log.Info("evidence was deleted", "normal", deleted[evidence.Normal], "quarantine", deleted[evidence.Quarantine],
			"blobs", orphans, "partial_uploads", partial, "unknown_blobs", adopted)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("delete expired evidence: %w", err)
	}
	return nil
}

func (s *Sweep) deleteExpired(ctx context.Context, class evidence.Class) (int, error) {
	age, limited := s.retention.Of(class)
	if !limited {
		return 0, nil
	}
	return inBatches(evidenceBatch, func() (int, error) { return s.store.DeleteExpiredEvidence(ctx, class, age, evidenceBatch) })
}

// inBatches repeats a step until it has had less to do than a whole batch, of size, or
// fails. It returns how much all steps have done.
func inBatches(size int, step func() (done int, err error)) (total int, err error) {
	for {
		n, err := step()
		total += n
		if err != nil || n < size {
			return total, err
		}
	}
}

// adopt lists one part of the blob store, after the part of the last run, and notes the
// blobs that the database does not know.
func (s *Sweep) adopt(ctx context.Context) (int, error) {
	digests, err := s.blobs.List(ctx, s.listed, listBatch)
	if err != nil {
		return 0, err
	}
	s.listed = evidence.Digest{}
	if len(digests) == listBatch {
		s.listed = digests[len(digests)-1]
	}
	if len(digests) == 0 {
		return 0, nil
	}
	return s.store.AdoptBlobs(ctx, digests)
}

// deleteOrphans deletes one batch of orphans. If it cannot forget a deleted blob, a later
// sweep claims and deletes the blob again.
func (s *Sweep) deleteOrphans(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	orphans, err := s.store.ClaimOrphanedBlobs(ctx, orphanAge, orphanBatch)
	if err != nil {
		return 0, err
	}
	for i, d := range orphans {
		if err := s.blobs.Delete(ctx, d); err != nil {
			return i, errors.Join(err, s.store.ForgetBlobs(ctx, orphans[:i]))
		}
	}
	if len(orphans) == 0 {
		return 0, nil
	}
	return len(orphans), s.store.ForgetBlobs(ctx, orphans)
}
