// Package workerlist is the directory in which a gateway writes down which workers it
// runs. One gateway lives there at a time.
//
//	lock   locked by the gateway that lives here
//	id     a random UUID, made once: what makes it a place (supervisor.Runtime)
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

// What every run directory has in it.
const (
	LockName   = "lock"
	IDName     = "id"
	TempPrefix = ".new-" // of a file that is being written
)

// maxFile is the largest file of a run directory that is read, in bytes.
const maxFile = 64 << 10

// Dir is a run directory that this gateway holds.
type Dir struct {
	Path string // absolute, without symbolic links
	ID   uuid.UUID
	held *os.File
}

// Acquire makes the directory if need be and takes hold of it until Close. A
// problem is told that is none any more. Errors: another gateway holds it, or it
// cannot be written.
func Acquire(path string) (d *Dir, problem error, err error) {
	d, err = lock(path)
	if err != nil {
		return nil, nil, fmt.Errorf("run directory: %w", err)
	}
	if problem, err = d.identify(); err != nil {
		d.Close()
		return nil, nil, fmt.Errorf("run directory: %w", err)
	}
	return d, problem, nil
}

// Close lets go of it.
func (d *Dir) Close() { _ = d.held.Close() }

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
	// Like all that Go opens, it is closed in every process that is started: a
	// worker does not hold the lock.
	held, err := os.OpenFile(filepath.Join(path, LockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &Dir{Path: path, held: held}, nil
	}
	_ = held.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another gateway runs its workers from %s: stop it, or give this one a directory of its own", path)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// identify reads the directory's id, and makes one where there is none yet.
func (d *Dir) identify() (problem error, err error) {
	file := filepath.Join(d.Path, IDName)
	b, err := ReadFile(file)
	if err == nil {
		if d.ID, err = uuid.ParseBytes([]byte(strings.TrimSpace(string(b)))); err == nil {
			return nil, nil
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		problem = fmt.Errorf("%s says nothing and is made anew: monitors whose workers ran here are taken for another place's: %w", file, err)
	}
	if d.ID, err = uuid.NewRandom(); err != nil {
		return nil, err
	}
	// It has to be on disk, unlike records, which mean nothing after a reboot.
	return problem, d.WriteFile(IDName, []byte(d.ID.String()+"\n"), true)
}

// WriteFile replaces a file, or leaves it as it was; durable: it is on disk then.
func (d *Dir) WriteFile(name string, content []byte, durable bool) error {
	draft := filepath.Join(d.Path, TempPrefix+name)
	err := writeFile(draft, content, durable)
	if err == nil {
		err = os.Rename(draft, filepath.Join(d.Path, name))
	}
	if err != nil {
		_ = os.Remove(draft)
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

// ReadFile reads a file that should be small and regular.
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
