package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile is locked by the one gateway that may run a server on a directory. The
// kernel releases the lock when the process ends. The file's text is the temporary
// directory of the socket, if there is one.
type lockFile struct{ f *os.File }

// lockDir locks dir, or fails at once if another process has locked it.
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

// rememberTempDir stores a directory that the next holder of the lock removes; empty:
// none.
func (l lockFile) rememberTempDir(tempDir string) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(tempDir), 0)
	return err
}

// tempDir returns the directory that the previous holder left behind; empty: none.
func (l lockFile) tempDir() string {
	const maxPath = 4096 // PATH_MAX of Linux, in bytes
	text, err := io.ReadAll(io.NewSectionReader(l.f, 0, maxPath))
	if err != nil {
		return ""
	}
	return string(text)
}

// release unlocks the directory; no temporary directory is left.
func (l lockFile) release() {
	_ = l.rememberTempDir("")
	_ = l.f.Close()
}
