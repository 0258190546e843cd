package evidence

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ErrNoBlob says that a blob store has no blob of a digest.
var ErrNoBlob = errors.New("the blob store has no such blob")

// BlobStore keeps blobs by their digest. Its methods may be called concurrently, by
// several gateways. Each ends with its context; a store that does not answer ends a
// call with an error within the store's own time limit. A store holds at most one
// part of a blob in memory.
type BlobStore interface {
	// Put stores a blob, completely or not at all. A blob that is stored already
	// stays as it is; its content is read all the same. Errors: that of the Content.
	Put(ctx context.Context, c *Content) error

	// Open reads a blob from an offset of 0 or more to its end. The reader ends with
	// ctx. Errors: ErrNoBlob.
	Open(ctx context.Context, d evidence.Digest, offset int64) (io.ReadCloser, error)
}

// BlobCleaner deletes from a blob store. Its methods may be called concurrently.
type BlobCleaner interface {
	// Delete deletes a blob; one that is not stored is no error.
	Delete(ctx context.Context, d evidence.Digest) error

	// List returns up to limit digests after one, in ascending order. The zero Digest
	// starts at the beginning.
	List(ctx context.Context, after evidence.Digest, limit int) ([]evidence.Digest, error)

	// DeletePartial deletes what uploads have left that began more than age ago and
	// were cut. It returns how many there were.
	DeletePartial(ctx context.Context, age time.Duration) (int, error)
}

// Content is a blob that is being put into a store. It is a Reader that verifies what it
// reads. If size or digest is wrong, it returns an error in place of the last bytes. So no
// store ever has a whole blob with a wrong digest.
type Content struct {
	Digest evidence.Digest
	Size   int64 // bytes, 1 or more

	source io.Reader
	hash   hash.Hash
	read   int64
	err    error
}

// NewContent makes a Content of a source that should have size bytes.
func NewContent(d evidence.Digest, size int64, source io.Reader) *Content {
	return &Content{Digest: d, Size: size, source: source, hash: sha256.New()}
}

// Read implements io.Reader. Errors: *monitor.Error InvalidConfig when the source is
// too short or has another digest; else that of the source.
func (c *Content) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if left := c.Size - c.read; int64(len(p)) > left {
		p = p[:left]
	}
	if len(p) == 0 {
		if c.read == c.Size {
			c.err = io.EOF
		}
		return 0, c.err
	}
	n, err := c.source.Read(p)
	_, _ = c.hash.Write(p[:n]) // never fails
	c.read += int64(n)
	switch {
	case c.read == c.Size && evidence.Digest(c.hash.Sum(nil)) != c.Digest:
		c.err = monitor.Errorf(monitor.InvalidConfig, "the body has another SHA-256 than %s", c.Digest)
		return 0, c.err
	case c.read == c.Size:
		return n, nil
	case errors.Is(err, io.EOF):
		c.err = monitor.Errorf(monitor.InvalidConfig, "the body ended after %d of %d bytes", c.read, c.Size)
		return n, c.err
	case err != nil:
		c.err = err
	}
	return n, err
}

// Err returns why the content could not be read; nil: it could, as far as it was read.
func (c *Content) Err() error {
	if errors.Is(c.err, io.EOF) {
		return nil
	}
	return c.err
}

// Discard verifies the rest without keeping it.
func (c *Content) Discard() error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// blobReader reads one blob at any offset. It opens the blob at the first read after
// a seek, so that only the bytes that are asked for are fetched.
type blobReader struct {
	ctx    context.Context
	blobs  BlobStore
	digest evidence.Digest
	size   int64

	offset int64
	open   io.ReadCloser // nil: to be opened at offset
}

// Read implements io.Reader.
func (b *blobReader) Read(p []byte) (int, error) {
	if b.offset >= b.size {
		return 0, io.EOF
	}
	if b.open == nil {
		open, err := b.blobs.Open(b.ctx, b.digest, b.offset)
		if err != nil {
			return 0, err
		}
		b.open = open
	}
	n, err := b.open.Read(p[:min(int64(len(p)), b.size-b.offset)])
	b.offset += int64(n)
	if errors.Is(err, io.EOF) && b.offset < b.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Seek implements io.Seeker.
func (b *blobReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.offset
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of a blob")
	}
	if offset == b.offset {
		return offset, nil
	}
	b.offset = offset
	return offset, b.Close()
}

// Close implements io.Closer.
func (b *blobReader) Close() error {
	if b.open == nil {
		return nil
	}
	err := b.open.Close()
	b.open = nil
	return err
}
