// Package s3 keeps blobs in S3-compatible object storage
// (EVIDENCE_STORE=s3://BUCKET/PREFIX).
//
//	BUCKET/PREFIX/blobs/abcd…   one object a blob, named by its SHA-256
//
// Guarantees:
//
//   - A blob is uploaded by one PUT, so it exists completely or not at all, and no
//     parts of it are left. Nothing but one buffer of it is held in memory.
//   - Only objects below PREFIX/blobs that are named like a blob are listed or deleted.
//
// Failure behaviour: a call fails when the server makes no progress for Config.Timeout.
// Waiting for the sender of an upload does not count. Nothing is sent twice: who
// uploads or reads may try again.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// DefaultEndpoint is that of Amazon S3.
const DefaultEndpoint = "https://s3.amazonaws.com"

// Config configures a Store.
type Config struct {
	Endpoint  string        // EVIDENCE_S3_ENDPOINT, an http or https URL; "": DefaultEndpoint
	Region    string        // EVIDENCE_S3_REGION; "": us-east-1
	AccessKey string        // EVIDENCE_S3_ACCESS_KEY; required
	SecretKey string        // EVIDENCE_S3_SECRET_KEY; required
	Bucket    string        // required; it must exist
	Prefix    string        // of the objects' names, without a slash at either end; "": none
	Timeout   time.Duration // how long the server may make no progress; 0: 10 s
}

// Connections to a server. They are dropped early: a server that drops one first makes
// an upload fail.
const (
	idleTimeout        = 10 * time.Second
	maxIdleConnections = 16
)

// Store keeps blobs in one bucket. It may be used concurrently.
type Store struct {
	core    *minio.Core
	bucket  string
	prefix  string // with a slash at the end
	timeout time.Duration
}

var (
	_ evidences.BlobStore   = (*Store)(nil)
	_ evidences.BlobCleaner = (*Store)(nil)
)

// New returns the store in a bucket. It asks the server nothing. Errors: a value of cfg
// is missing or malformed.
func New(cfg Config) (*Store, error) {
	if cfg.Endpoint == "" {
		cfg.Endpoint = DefaultEndpoint
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	endpoint, err := url.Parse(cfg.Endpoint)
	switch {
	case err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https":
		return nil, fmt.Errorf("s3: the endpoint is %q; accepted is http://HOST or https://HOST", cfg.Endpoint)
	case cfg.Bucket == "":
		return nil, errors.New("s3: the bucket is missing")
	case cfg.AccessKey == "" || cfg.SecretKey == "":
		return nil, errors.New("s3: the access key or the secret key is missing")
	}
	core, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds:      credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, ""),
		Secure:     endpoint.Scheme == "https",
		Region:     cfg.Region,
		MaxRetries: 1, // one try
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: cfg.Timeout}).DialContext,
			TLSHandshakeTimeout: cfg.Timeout,
			IdleConnTimeout:     idleTimeout,
			MaxIdleConnsPerHost: maxIdleConnections,
			DisableCompression:  true,
			ForceAttemptHTTP2:   true,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	s := &Store{core: core, bucket: cfg.Bucket, prefix: "blobs/", timeout: cfg.Timeout}
	if prefix := strings.Trim(cfg.Prefix, "/"); prefix != "" {
		s.prefix = prefix + "/blobs/"
	}
	return s, nil
}

func (s *Store) object(d evidence.Digest) string { return s.prefix + d.String() }

// wrap names what failed, and why if the server made no progress.
func (s *Store) wrap(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), errStalled) {
		err = fmt.Errorf("%w for %v", errStalled, s.timeout)
	}
	return fmt.Errorf("%s in bucket %s: %w", what, s.bucket, err)
}

func notFound(err error) bool { return minio.ToErrorResponse(err).StatusCode == http.StatusNotFound }

// noKey reports that there is no such object. A bucket that is missing is another
// error.
func noKey(err error) bool {
	return notFound(err) && minio.ToErrorResponse(err).Code != minio.NoSuchBucket
}

// Put implements evidences.BlobStore.
func (s *Store) Put(ctx context.Context, c *evidences.Content) error {
	w := s.watch(ctx)
	defer w.stop()
	info, err := s.core.StatObject(w.ctx, s.bucket, s.object(c.Digest), minio.StatObjectOptions{})
	switch {
	case err == nil && info.Size == c.Size:
		w.pause()
		return c.Discard()
	case err != nil && !noKey(err):
		return s.wrap(w.ctx, "look for blob "+c.Digest.String(), err)
	}
	_, err = s.core.Client.PutObject(w.ctx, s.bucket, s.object(c.Digest), &sender{c, w}, c.Size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", DisableMultipart: true,
	})
	return s.wrap(w.ctx, "store blob "+c.Digest.String(), err)
}

// Open implements evidences.BlobStore.
func (s *Store) Open(ctx context.Context, d evidence.Digest, offset int64) (io.ReadCloser, error) {
	w := s.watch(ctx)
	var options minio.GetObjectOptions
	if offset > 0 {
		if err := options.SetRange(offset, 0); err != nil { // 0: to the end
			w.stop()
			return nil, s.wrap(w.ctx, "open blob "+d.String(), err)
		}
	}
	body, _, _, err := s.core.GetObject(w.ctx, s.bucket, s.object(d), options)
	if err != nil {
		defer w.stop()
		if noKey(err) {
			return nil, evidences.ErrNoBlob
		}
		return nil, s.wrap(w.ctx, "open blob "+d.String(), err)
	}
	w.pause()
	return &receiver{body, w, s}, nil
}

// Delete implements evidences.BlobCleaner.
func (s *Store) Delete(ctx context.Context, d evidence.Digest) error {
	w := s.watch(ctx)
	defer w.stop()
	err := s.core.RemoveObject(w.ctx, s.bucket, s.object(d), minio.RemoveObjectOptions{})
	if err != nil && noKey(err) {
		return nil
	}
	return s.wrap(w.ctx, "delete blob "+d.String(), err)
}

// List implements evidences.BlobCleaner.
func (s *Store) List(ctx context.Context, after evidence.Digest, limit int) ([]evidence.Digest, error) {
	w := s.watch(ctx)
	defer w.stop()
	options := minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true, MaxKeys: min(limit, 1000)}
	if after != (evidence.Digest{}) {
		options.StartAfter = s.object(after)
	}
	var found []evidence.Digest
	for object := range s.core.ListObjectsIter(w.ctx, s.bucket, options) {
		if object.Err != nil {
			return nil, s.wrap(w.ctx, "list blobs", object.Err)
		}
		w.progress()
		name := strings.TrimPrefix(object.Key, s.prefix)
		if d, err := evidence.ParseDigest(name); err == nil && d.String() == name {
			found = append(found, d)
		}
		if len(found) == limit {
			break
		}
	}
	return found, s.wrap(w.ctx, "list blobs", w.ctx.Err())
}

// DeletePartial implements evidences.BlobCleaner. An upload that is cut leaves nothing.
func (s *Store) DeletePartial(context.Context, time.Duration) (int, error) { return 0, nil }
