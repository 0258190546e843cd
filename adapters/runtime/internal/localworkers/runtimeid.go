package localworkers

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

// runtimeID is the file with the ID of the supervisor.Runtime, a random UUID that is made once.
// A gateway locks it while it runs.
type runtimeID struct {
	file *os.File
	id   uuid.UUID
}

// lockRuntimeID locks the file at path and reads it. It makes the file and its directory if they do not
// exist. problem is not nil if it had to replace an unreadable ID; the caller logs it. Errors:
// another gateway holds the file; the file cannot be written.
func lockRuntimeID(path string) (r *runtimeID, problem error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	// Go opens files close-on-exec, so a worker does not hold the lock.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	r = &runtimeID{file: file}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("another gateway runs its workers with %s: stop it, or give this gateway another directory", path)
	case err != nil:
		err = fmt.Errorf("lock %s: %w", path, err)
	default:
		problem, err = r.read()
	}
	if err != nil {
		r.unlock()
		return nil, nil, err
	}
	return r, problem, nil
}

func (r *runtimeID) unlock() { _ = r.file.Close() }

// maxIDFile is more than the file of an ID has, in bytes.
const maxIDFile = 64

// read reads the ID. It makes a new one if there is none.
func (r *runtimeID) read() (problem error, err error) {
	b, err := io.ReadAll(io.LimitReader(r.file, maxIDFile))
	if err != nil {
		return nil, err
	}
	if r.id, err = uuid.ParseBytes([]byte(strings.TrimSpace(string(b)))); err == nil {
		return nil, nil
	}
	if len(b) > 0 {
		problem = fmt.Errorf("%s cannot be read and was replaced; workers that ran here count as lost when their reports are missing: %w", r.file.Name(), err)
	}
	if r.id, err = uuid.NewRandom(); err != nil {
		return nil, err
	}
	if err := r.file.Truncate(0); err != nil {
		return nil, err
	}
	if _, err := r.file.WriteAt([]byte(r.id.String()+"\n"), 0); err != nil {
		return nil, err
	}
	return problem, r.file.Sync() // the ID must survive a power failure
}
