package directory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/blob/blobtest"
	"github.com/stream-monitor/stream-monitor/adapters/blob/directory"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Harness {
		root := filepath.Join(t.TempDir(), "blobs")
		return blobtest.Harness{Store: open(t, root), Count: func(t *testing.T) int { return blobtest.CountFiles(t, root) }}
	})
}

func open(t *testing.T, root string) *directory.Store {
	t.Helper()
	return must.Get(directory.New(root))(t)
}

func TestWhatAKilledUploadLeavesIsDeletedLater(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	left := filepath.Join(root, "partial", "upload-123")
	must.Do(t, os.WriteFile(left, []byte("half a picture"), 0o600))
	if n, err := s.DeletePartial(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("%d uploads in progress were deleted: %v", n, err)
	}
	old := time.Now().Add(-2 * time.Hour)
	must.Do(t, os.Chtimes(left, old, old))
	if n, err := s.DeletePartial(t.Context(), time.Hour); n != 1 || err != nil {
		t.Errorf("%d cut uploads were deleted, want 1: %v", n, err)
	}
	if n := blobtest.CountFiles(t, root); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func TestFilesOfOthersAreNotListed(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	digest := strings.Repeat("ab", 32)
	for _, name := range []string{"ab/notes.txt", "ab/" + strings.ToUpper(digest), "cd/" + digest, digest} {
		path := filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, nil, 0o600))
	}
	if list, err := s.List(t.Context(), evidence.Digest{}, 10); len(list) != 0 || err != nil {
		t.Errorf("listed are %v: %v", list, err)
	}
}

func TestADirectoryThatCannotBeWrittenIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	expect.Failed(directory.New(file))(t, "EVIDENCE_STORE")
}
