package postgres_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/blob/blobtest"
	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
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
			Count: func(t *testing.T) (n int) {
				t.Helper()
				check(t, db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM blobs) + (SELECT count(*) FROM blob_chunks)`).Scan(&n))
				return n
			},
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
	var chunks, largest int
	check(t, db.QueryRowContext(t.Context(), `SELECT count(*), max(length(data)) FROM blob_chunks`).Scan(&chunks, &largest))
	if chunks != 3 || largest != 256<<10 {
		t.Errorf("%d chunks, the largest of %d bytes", chunks, largest)
	}
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
	if err := s.BlobStore().Put(t.Context(), evidences.NewContent(f.Digest, f.Size, source)); err == nil {
		t.Fatal("nobody noticed the end")
	}
	expectRows(t, db, "blobs", 1)
	alter(t, db, `UPDATE blobs SET created_at = created_at - interval '2 hours'`)
	alter(t, db, blobHour)
	sweep(t, open(t, dsn))
	requireEmpty(t, db, "blobs", "blob_chunks", "evidence_blobs")
}
