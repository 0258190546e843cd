// Package tempfile makes temporary files without a name. The kernel frees such a file
// when it is closed and when its process ends, however that ends (section 8.3).
//
// All files of a Budget together have a limit, over all processes of a host that share
// a directory for temporary files. Each file locks a byte of one empty lock file for
// every 256 KiB that it may hold. The kernel releases these locks, too, when a process
// ends.
package tempfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stream-monitor/stream-monitor/application/worker/collector"
)

// blockSize is the number of bytes that one lock stands for.
const blockSize = 256 << 10

// Budget limits the bytes of all files that are open on a host. It is safe for
// concurrent use.
type Budget struct {
	blocks   int64
	lockFile string
}

// NewBudget returns a Budget of so many MiB for the directory of os.TempDir. Each user
// of the host has one of their own.
func NewBudget(mebibytes int) *Budget {
	name := "stream-monitor-evidence-" + strconv.Itoa(os.Getuid()) + ".lock"
	return &Budget{blocks: int64(mebibytes) << 20 / blockSize, lockFile: filepath.Join(os.TempDir(), name)}
}

// File is a temporary file without a name. It is not safe for concurrent use.
type File struct {
	*os.File

	budget *Budget
	locks  *os.File // holds one lock for each block
	blocks map[int64]bool
}

// New makes an empty file in the directory of os.TempDir. The caller closes it. Error:
// collector.ErrBudget if the budget does not allow another block.
func (b *Budget) New() (*File, error) {
	locks, err := openLockFile(b.lockFile)
	if err != nil {
		return nil, fmt.Errorf("open the lock file of temporary files: %w", err)
	}
	f := &File{budget: b, locks: locks, blocks: map[int64]bool{}}
	if err := f.reserve(blockSize); err != nil {
		_ = locks.Close()
		return nil, err
	}
	if f.File, err = unnamed(); err != nil {
		_ = locks.Close()
		return nil, err
	}
	return f, nil
}

// WriteAt implements io.WriterAt. Error: collector.ErrBudget if the file would grow
// beyond the budget; nothing is written then.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	if err := f.reserve(offset + int64(len(p))); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, offset) //nolint:wrapcheck // as os.File
}

// Close frees the file and its part of the budget.
func (f *File) Close() error {
	return errors.Join(f.File.Close(), f.locks.Close())
}

// reserve locks blocks until they hold so many bytes.
func (f *File) reserve(size int64) error {
	for int64(len(f.blocks))*blockSize < size {
		if err := f.lockBlock(); err != nil {
			return err
		}
	}
	return nil
}

// lockBlock locks one block that no open file has locked.
func (f *File) lockBlock() error {
	for block := range f.budget.blocks {
		if f.blocks[block] {
			continue // to lock it again would succeed
		}
		switch locked, err := tryLock(f.locks, block); {
		case err != nil:
			return fmt.Errorf("lock a part of the budget of temporary files: %w", err)
		case locked:
			f.blocks[block] = true
			return nil
		}
	}
	return collector.ErrBudget
}

// unnamed makes an empty file and removes its name.
func unnamed() (*os.File, error) {
	f, err := os.CreateTemp("", "stream-monitor-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("remove the name of a temporary file: %w", err)
	}
	return f, nil
}
