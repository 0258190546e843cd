package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/blob/directory"
	"github.com/stream-monitor/stream-monitor/adapters/blob/s3"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// sweepInterval is how often expired evidence and orphaned blobs are deleted.
const sweepInterval = 5 * time.Minute

// blobStore is a store of EVIDENCE_STORE.
type blobStore interface {
	evidences.BlobStore
	evidences.BlobCleaner
}

// openBlobStore opens the store of EVIDENCE_STORE. inDatabase is the one for postgres.
// A bucket is not asked anything: it may be away when the gateway starts.
func openBlobStore(f config.EvidenceFlags, inDatabase blobStore) (blobStore, error) {
	if path, is := f.Directory(); is {
		return directory.New(path)
	}
	if bucket, prefix, is := f.Bucket(); is {
		return s3.New(s3.Config{
			Endpoint: f.EvidenceS3Endpoint, Region: f.EvidenceS3Region, Bucket: bucket, Prefix: prefix,
			AccessKey: f.EvidenceS3AccessKey, SecretKey: f.EvidenceS3SecretKey,
		})
	}
	return inDatabase, nil
}

// newEvidence makes the service of evidence, and the task that deletes what has
// expired.
func (a *assembly) newEvidence() (*evidences.Service, supervisor.LeaderTask, error) {
	c := a.settings
	blobs, err := openBlobStore(c.Evidence, a.store.BlobStore())
	if err != nil {
		return nil, supervisor.LeaderTask{}, err
	}
	retention := evidence.Retention{Normal: c.EvidenceRetention, Quarantine: c.EvidenceQuarantineRetention}
	service, err := evidences.NewService(a.store, blobs, evidences.Config{
		Keys: a.keys.Links, PublicURL: c.PublicURL, Retention: retention, Now: a.clock, Log: a.log,
	})
	sweep := evidences.NewSweep(a.store, blobs, retention, a.log)
	return service, supervisor.LeaderTask{Name: "evidence", Every: sweepInterval, Run: sweep.Run}, err
}

// checkBucket writes an object into the bucket of EVIDENCE_STORE, reads it and deletes
// it, and returns what fails.
func checkBucket(ctx context.Context, f config.EvidenceFlags) error {
	blobs, err := openBlobStore(f, nil)
	if err != nil {
		return err
	}
	data := make([]byte, 32)
	_, _ = rand.Read(data) // never fails
	digest := evidence.Digest(sha256.Sum256(data))
	if err := blobs.Put(ctx, evidences.NewContent(digest, int64(len(data)), bytes.NewReader(data))); err != nil {
		return err
	}
	err = readBack(ctx, blobs, digest, data)
	return errors.Join(err, blobs.Delete(ctx, digest))
}

func readBack(ctx context.Context, blobs blobStore, digest evidence.Digest, want []byte) error {
	r, err := blobs.Open(ctx, digest, 0)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%d bytes were written and %d others read", len(want), len(got))
	}
	return errors.Join(err, r.Close())
}
