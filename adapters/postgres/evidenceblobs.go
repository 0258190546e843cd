package postgres

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

const (
	chunkSize     = 256 << 10       // bytes in a row of blob_chunks
	deleteChunks  = 16              // rows deleted in one transaction: 4 MiB
	discardLimit  = 5 * time.Second // for deleting what a failed upload has left
	partialsBatch = 50              // cut uploads deleted in one call
)

// BlobStore keeps blobs in the database, in chunks. It implements evidences.BlobStore
// and evidences.BlobCleaner. It holds one chunk of a blob in memory, and no transaction
// while it waits for the sender: the server would end it (idle transactions).
type BlobStore struct{ db *database }

var (
	_ evidences.BlobStore   = (*BlobStore)(nil)
	_ evidences.BlobCleaner = (*BlobStore)(nil)
)

// BlobStore returns the blob store in this database.
func (s *Store) BlobStore() *BlobStore { return &BlobStore{s.db} }

// Put implements evidences.BlobStore.
func (s *BlobStore) Put(ctx context.Context, c *evidences.Content) error {
	stored, err := s.find(ctx, c.Digest)
	switch {
	case err != nil:
		return wrapError(ctx, "look for blob "+c.Digest.String(), err)
	case stored != "":
		return c.Discard()
	}
	upload := uuid.Must(uuid.NewV7()).String()
	if err := s.upload(ctx, upload, c); err != nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardLimit)
		defer cancel()
		_ = s.deleteUpload(limited, upload) // else DeletePartial does it later
		return wrapError(ctx, "store blob "+c.Digest.String(), err)
	}
	return nil
}

// upload stores a blob under a new key. Of uploads of the same blob at once, one
// becomes complete.
func (s *BlobStore) upload(ctx context.Context, upload string, c *evidences.Content) error {
	if err := s.exec(ctx, `INSERT INTO blobs (upload, sha256, size) VALUES ($1, $2, $3) ON CONFLICT (upload) DO NOTHING`,
		upload, c.Digest[:], c.Size); err != nil {
		return err
	}
	chunk := make([]byte, min(chunkSize, c.Size))
	for number := 0; ; number++ {
		n, err := io.ReadFull(c, chunk)
		if n > 0 && (err == nil || errors.Is(err, io.ErrUnexpectedEOF) && c.Err() == nil) {
			if err := s.exec(ctx, `INSERT INTO blob_chunks (upload, number, data) VALUES ($1, $2, $3) ON CONFLICT (upload, number) DO NOTHING`,
				upload, number, chunk[:n]); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		if c.Err() != nil {
			return c.Err()
		}
		break // the end
	}
	err := s.exec(ctx, `UPDATE blobs SET complete = true WHERE upload = $1`, upload)
	if pq.As(err, pqerror.UniqueViolation) != nil { // another upload of this blob was faster
		return s.deleteUpload(ctx, upload)
	}
	return err
}

// exec runs a repeatable statement in a transaction of its own.
func (s *BlobStore) exec(ctx context.Context, statement string, args ...any) error {
	return s.db.inTx(ctx, "write a blob", func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
}

// find returns the upload that has a blob; "": none has.
func (s *BlobStore) find(ctx context.Context, d evidence.Digest) (upload string, err error) {
	err = s.db.GetContext(ctx, &upload, `SELECT upload FROM blobs WHERE sha256 = $1 AND complete`, d[:])
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return upload, err
}

// Open implements evidences.BlobStore.
func (s *BlobStore) Open(ctx context.Context, d evidence.Digest, offset int64) (io.ReadCloser, error) {
	upload, err := s.find(ctx, d)
	switch {
	case err != nil:
		return nil, wrapError(ctx, "open blob "+d.String(), err)
	case upload == "":
		return nil, evidences.ErrNoBlob
	}
	return &chunkReader{ctx: ctx, db: s.db, upload: upload, next: int(offset / chunkSize), skip: int(offset % chunkSize)}, nil
}

// chunkReader reads the chunks of one upload, one at a time.
type chunkReader struct {
	ctx    context.Context
	db     *database
	upload string
	next   int // the number of the chunk to read next
	skip   int // bytes of it to leave out
	chunk  []byte
}

// Read implements io.Reader.
func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.chunk) == 0 {
		var data []byte
		err := r.db.GetContext(r.ctx, &data, `SELECT data FROM blob_chunks WHERE upload = $1 AND number = $2`, r.upload, r.next)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, wrapError(r.ctx, "read a blob", err)
		}
		r.chunk = data[min(r.skip, len(data)):]
		r.next, r.skip = r.next+1, 0
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

// Close implements io.Closer.
func (r *chunkReader) Close() error {
	r.chunk = nil
	return nil
}

// Delete implements evidences.BlobCleaner. Its first transaction makes the blob impossible to
// find. Several more delete the chunks, so that none holds a lock for long.
func (s *BlobStore) Delete(ctx context.Context, d evidence.Digest) error {
	upload, err := s.find(ctx, d)
	if err == nil && upload != "" {
		err = s.deleteUpload(ctx, upload)
	}
	return wrapError(ctx, "delete blob "+d.String(), err)
}

func (s *BlobStore) deleteUpload(ctx context.Context, upload string) error {
	if err := s.exec(ctx, `UPDATE blobs SET complete = false WHERE upload = $1`, upload); err != nil {
		return err
	}
	for deleted := int64(deleteChunks); deleted == deleteChunks; {
		result, err := s.db.ExecContext(ctx, `
			DELETE FROM blob_chunks WHERE upload = $1 AND number IN (
				SELECT number FROM blob_chunks WHERE upload = $1 ORDER BY number LIMIT $2)`, upload, deleteChunks)
		if err != nil {
			return err
		}
		if deleted, err = result.RowsAffected(); err != nil {
			return err
		}
	}
	return s.exec(ctx, `DELETE FROM blobs WHERE upload = $1`, upload)
}

// List implements evidences.BlobCleaner.
func (s *BlobStore) List(ctx context.Context, after evidence.Digest, limit int) ([]evidence.Digest, error) {
	var rows [][]byte
	err := s.db.SelectContext(ctx, &rows, `SELECT sha256 FROM blobs WHERE complete AND sha256 > $1 ORDER BY sha256 LIMIT $2`, after[:], limit)
	return toDigests(rows), wrapError(ctx, "list blobs", err)
}

// DeletePartial implements evidences.BlobCleaner.
func (s *BlobStore) DeletePartial(ctx context.Context, age time.Duration) (int, error) {
	var uploads []string
	err := s.db.SelectContext(ctx, &uploads, `
		SELECT upload FROM blobs WHERE NOT complete AND created_at < now() - make_interval(secs => $1)
		ORDER BY created_at LIMIT $2`, age.Seconds(), partialsBatch)
	for i, upload := range uploads {
		if err := s.deleteUpload(ctx, upload); err != nil {
			return i, wrapError(ctx, "delete cut uploads", err)
		}
	}
	return len(uploads), wrapError(ctx, "find cut uploads", err)
}

func toDigests(rows [][]byte) []evidence.Digest {
	digests := make([]evidence.Digest, 0, len(rows))
	for _, raw := range rows {
		var d evidence.Digest
		copy(d[:], raw)
		digests = append(digests, d)
	}
	return digests
}

// fromDigests makes a bytea array.
func fromDigests(digests []evidence.Digest) pq.ByteaArray {
	rows := make(pq.ByteaArray, len(digests))
	for i := range digests {
		rows[i] = digests[i][:]
	}
	return rows
}
