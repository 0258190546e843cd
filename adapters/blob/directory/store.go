// Package directory keeps blobs as files in a directory (EVIDENCE_STORE=dir:PATH).
//
//	PATH/
//	├── ab/abcd…   one file a blob, named by its SHA-256
//	└── partial/   uploads in progress, and what is left of those that were cut
//
// Guarantees:
//
//   - A blob is complete as soon as it has its name: it is written below partial,
//     synced to disk and then renamed.
//   - Several gateways may use one directory, if all see each other's renames.
//   - Only files that are named like a blob are listed or deleted.
//
// Failure behaviour: an upload that fails removes its file. One that is killed leaves
// it, until DeletePartial removes it. A file system that hangs, such as one on a
// network, cannot be interrupted: its calls hang with it.
package directory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

const (
	dirMode = 0o700
	partial = "partial"
)

// Store keeps blobs in a directory. It may be used concurrently.
type Store struct{ root string }

var (
	_ evidences.BlobStore   = (*Store)(nil)
	_ evidences.BlobCleaner = (*Store)(nil)
)

// New returns the store in a directory, which is made if it does not exist. Errors:
// nothing can be written there.
func New(root string) (*Store, error) {
	s := &Store{root}
	if err := os.MkdirAll(filepath.Join(root, partial), dirMode); err != nil {
		return nil, fmt.Errorf("make the directory of EVIDENCE_STORE: %w", err)
	}
	probe, err := s.create()
	if err != nil {
		return nil, fmt.Errorf("write to the directory of EVIDENCE_STORE: %w", err)
	}
	return s, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func (s *Store) create() (*os.File, error) {
	return os.CreateTemp(filepath.Join(s.root, partial), "upload-*") // mode 0600
}

func (s *Store) path(d evidence.Digest) string {
	name := d.String()
	return filepath.Join(s.root, name[:2], name)
}

// Put implements evidences.BlobStore.
func (s *Store) Put(_ context.Context, c *evidences.Content) error {
	if info, err := os.Stat(s.path(c.Digest)); err == nil && info.Size() == c.Size {
		return c.Discard()
	}
	if err := s.write(c); err != nil {
		return fmt.Errorf("store blob %s: %w", c.Digest, err)
	}
	return nil
}

func (s *Store) write(c *evidences.Content) error {
	file, err := s.create()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it is renamed, or it failed
	_, err = io.Copy(file, c)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	path := s.path(c.Digest)
	if err := os.Mkdir(filepath.Dir(path), dirMode); err == nil {
		err = syncDir(s.root)
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new name in a directory survive a crash.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Open implements evidences.BlobStore.
func (s *Store) Open(_ context.Context, d evidence.Digest, offset int64) (io.ReadCloser, error) {
	file, err := os.Open(s.path(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, evidences.ErrNoBlob
	}
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w", d, err)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("open blob %s: %w", d, errors.Join(err, file.Close()))
	}
	return file, nil
}

// Delete implements evidences.BlobCleaner.
func (s *Store) Delete(_ context.Context, d evidence.Digest) error {
	if err := os.Remove(s.path(d)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob %s: %w", d, err)
	}
	return nil
}

// List implements evidences.BlobCleaner. It reads only the directories from that of
// after on.
func (s *Store) List(ctx context.Context, after evidence.Digest, limit int) ([]evidence.Digest, error) {
	var found []evidence.Digest
	for prefix := int(after[0]); prefix <= 0xff && len(found) < limit && ctx.Err() == nil; prefix++ {
		entries, err := os.ReadDir(filepath.Join(s.root, fmt.Sprintf("%02x", prefix))) // in the order of names
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list blobs: %w", err)
		}
		for _, e := range entries {
			d, err := evidence.ParseDigest(e.Name())
			if err != nil || d.String() != e.Name() || e.Name() <= after.String() || int(d[0]) != prefix {
				continue
			}
			if found = append(found, d); len(found) == limit {
				break
			}
		}
	}
	return found, ctx.Err()
}

// DeletePartial implements evidences.BlobCleaner.
func (s *Store) DeletePartial(_ context.Context, age time.Duration) (int, error) {
	dir := filepath.Join(s.root, partial)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("list cut uploads: %w", err)
	}
	deleted := 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), "upload-") || time.Since(info.ModTime()) < age {
			continue // it has ended meanwhile, or it goes on
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return deleted, fmt.Errorf("delete a cut upload: %w", err)
		}
		deleted++
	}
	return deleted, nil
}
