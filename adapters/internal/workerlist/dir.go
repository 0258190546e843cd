// Package workerlist manages the run directory, in which a gateway records its workers.
// One gateway holds the directory at a time. Every run directory has these files:
//
//	lock   locked by the gateway that holds the directory
//	id     a random UUID, made once: the ID of the supervisor.Runtime
package workerlist

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

// The files of every run directory.
const (
	LockName   = "lock"
	IDName     = "id"
	TempPrefix = ".new-" // of a file being written
)

// maxFile is the largest file of a run directory that is read, in bytes.
const maxFile = 64 << 10

// Dir is a run directory that this gateway holds.
type Dir struct {
	Path     string // absolute, without symbolic links
	ID       uuid.UUID
	lockFile *os.File
}

// Acquire makes the directory if it does not exist, and holds it until Close. problem is
// not nil if Acquire had to replace an unreadable ID; the caller logs it. Errors: another
// gateway holds the directory; the directory cannot be written.
func Acquire(path string) (d *Dir, problem error, err error) {
	d, err = lock(path)
	if err != nil {
		return nil, nil, fmt.Errorf("run directory: %w", err)
	}
	if problem, err = d.readID(); err != nil {
		d.Close()
		return nil, nil, fmt.Errorf("run directory: %w", err)
	}
	return d, problem, nil
}

// Close releases the directory.
func (d *Dir) Close() { _ = d.lockFile.Close() }

func lock(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	// Go opens files close-on-exec, so a worker does not hold the lock.
	lockFile, err := os.OpenFile(filepath.Join(path, LockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lockFile.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &Dir{Path: path, lockFile: lockFile}, nil
	}
	_ = lockFile.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another gateway runs its workers from %s: stop it, or give this gateway another directory", path)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// readID reads the directory's ID. It makes a new ID if the file is missing or cannot be
// read.
func (d *Dir) readID() (problem error, err error) {
	file := filepath.Join(d.Path, IDName)
	b, err := ReadFile(file)
	if err == nil {
		if d.ID, err = uuid.ParseBytes([]byte(strings.TrimSpace(string(b)))); err == nil {
			return nil, nil
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		problem = fmt.Errorf("%s cannot be read and was replaced; workers that ran here count as lost when their reports are missing: %w", file, err)
	}
	if d.ID, err = uuid.NewRandom(); err != nil {
		return nil, err
	}
	// The ID must survive a power failure. Records need not, because no worker survives it.
	return problem, d.WriteFile(IDName, []byte(d.ID.String()+"\n"), true)
}

// WriteFile replaces a file, or leaves it unchanged after an error. If durable, the new
// content is on disk when WriteFile returns.
func (d *Dir) WriteFile(name string, content []byte, durable bool) error {
	temp := filepath.Join(d.Path, TempPrefix+name)
	err := writeFile(temp, content, durable)
	if err == nil {
		err = os.Rename(temp, filepath.Join(d.Path, name))
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

func writeFile(path string, content []byte, durable bool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// ReadFile reads a regular file of at most 64 KiB.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(b) > maxFile {
		return nil, fmt.Errorf("longer than %d bytes", maxFile)
	}
	return b, err
}
