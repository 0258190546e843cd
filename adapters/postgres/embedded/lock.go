package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile is held by the only gateway that may run a database in a directory.
// The lock goes with the process, however it ends. Its text is the directory
// of the socket when that is to be removed afterwards.
type lockFile struct{ f *os.File }

// lockDir takes the lock of dir, or fails at once.
func lockDir(dir string) (lockFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, "postgres.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return lockFile{}, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return lockFile{}, fmt.Errorf("another stream-monitor runs on %s: stop it, or choose another DATA_DIR", dir)
		}
		return lockFile{}, fmt.Errorf("lock %s: %w", dir, err)
	}
	return lockFile{f}, nil
}

// note keeps a directory for the next holder of the lock to remove; empty:
// none.
func (l lockFile) note(scratch string) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(scratch), 0)
	return err
}

// noted is what the last holder left; empty: nothing.
func (l lockFile) noted() string {
	const maxPath = 4096 // PATH_MAX of Linux, in bytes
	text, err := io.ReadAll(io.NewSectionReader(l.f, 0, maxPath))
	if err != nil {
		return ""
	}
	return string(text)
}

// release ends the lock, with nothing left to be removed.
func (l lockFile) release() {
	_ = l.note("")
	_ = l.f.Close()
}
