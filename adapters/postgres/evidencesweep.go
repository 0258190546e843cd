package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// claimTerm is how long the claim of an orphaned blob lasts: longer than its deletion
// may take.
const claimTerm = 5 * time.Minute

// quarantineSevere finds normal evidence of severe incidents by two partial indexes: of the severe
// incidents, and of normal evidence. The numbers are those of the indexes.
var quarantineSevere = fmt.Sprintf(`
	UPDATE evidence SET class = '%[1]s' WHERE id = ANY (ARRAY(
		SELECT e.id FROM incidents i JOIN evidence e ON e.incident_id = i.id
		WHERE i.severity >= %[3]d AND e.class = '%[2]s' LIMIT $1 FOR UPDATE OF e SKIP LOCKED))`,
	evidence.Quarantine, evidence.Normal, evidence.SevereFrom)

// QuarantineSevereEvidence implements evidences.Expirer.
func (s *EvidenceStore) QuarantineSevereEvidence(ctx context.Context, limit int) (int, error) {
	result, err := s.db.ExecContext(ctx, quarantineSevere, limit)
	if err != nil {
		return 0, wrapError(ctx, "quarantine evidence", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// DeleteExpiredEvidence implements evidences.Expirer.
func (s *EvidenceStore) DeleteExpiredEvidence(ctx context.Context, c evidence.Class, age time.Duration, limit int) (deleted int, err error) {
	err = s.db.inTx(ctx, "delete expired evidence", func(tx *sqlx.Tx) error {
		var gone []evidenceRow
		err := tx.SelectContext(ctx, &gone, `
			DELETE FROM evidence WHERE id = ANY (ARRAY(
				SELECT id FROM evidence WHERE class = $1 AND created_at < now() - make_interval(secs => $2)
				ORDER BY created_at LIMIT $3
				FOR UPDATE SKIP LOCKED))
			RETURNING `+evidenceColumns, c, age.Seconds(), limit)
		if err != nil {
			return err
		}
		deleted = len(gone)
		changes, err := s.clearPictures(ctx, tx, gone)
		if err != nil {
			return err
		}
		return addToFeed(ctx, tx, changes...)
	})
	return deleted, err
}

// clearPictures removes the picture of each incident that is one of the deleted evidence.
// Such a picture cannot be opened, and would outrank later ones. It returns what that changes.
func (s *EvidenceStore) clearPictures(ctx context.Context, tx *sqlx.Tx, deleted []evidenceRow) ([]feedChange, error) {
	var incidents, records []string
	for _, r := range deleted {
		if r.IncidentID.Valid {
			incidents, records = append(incidents, r.IncidentID.String), append(records, r.ID)
		}
	}
	if len(incidents) == 0 {
		return nil, nil
	}
	var cleared []string
	err := tx.SelectContext(ctx, &cleared, `
		UPDATE incidents i SET picture = NULL, updated_at = clock_timestamp()
		WHERE i.id = ANY (CAST($1 AS uuid[])) AND i.picture->>'evidence_id' = ANY ($2)
		RETURNING i.id`, pq.Array(incidents), pq.Array(records))
	var changes []feedChange
	for _, id := range cleared {
		changes = append(changes, incidentChange(id))
	}
	return changes, err
}

// ClaimOrphanedBlobs implements evidences.BlobRegistry. A file that is being added
// locks its blob's row, which is then skipped. A file that was added a moment ago has
// renewed reserved_at before its upload, and FOR UPDATE checks that again after locking. So age
// has to be longer than an upload takes.
func (s *EvidenceStore) ClaimOrphanedBlobs(ctx context.Context, age time.Duration, limit int) ([]evidence.Digest, error) {
	var rows [][]byte
	err := s.db.SelectContext(ctx, &rows, `
		UPDATE evidence_blobs b SET deleting_at = now()
		WHERE sha256 = ANY (ARRAY(
			SELECT sha256 FROM evidence_blobs o
			WHERE reserved_at < now() - make_interval(secs => $1)
			  AND (deleting_at IS NULL OR deleting_at < now() - make_interval(secs => $2))
			  AND NOT EXISTS (SELECT FROM evidence_files f WHERE f.sha256 = o.sha256)
			ORDER BY reserved_at LIMIT $3
			FOR UPDATE SKIP LOCKED))
		RETURNING sha256`, age.Seconds(), claimTerm.Seconds(), limit)
	return toDigests(rows), wrapError(ctx, "find orphaned blobs", err)
}

// ForgetBlobs implements evidences.BlobRegistry.
func (s *EvidenceStore) ForgetBlobs(ctx context.Context, digests []evidence.Digest) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM evidence_blobs WHERE sha256 = ANY ($1) AND deleting_at IS NOT NULL`, fromDigests(digests))
	return wrapError(ctx, "forget deleted blobs", err)
}

// AdoptBlobs implements evidences.BlobRegistry. The size is not known and not
// needed.
func (s *EvidenceStore) AdoptBlobs(ctx context.Context, digests []evidence.Digest) (int, error) {
	result, err := s.db.ExecContext(ctx, `
		INSERT INTO evidence_blobs (sha256, size) SELECT unnest(CAST($1 AS bytea[])), 0
		ON CONFLICT (sha256) DO NOTHING`, fromDigests(digests))
	if err != nil {
		return 0, wrapError(ctx, "note unknown blobs", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}
