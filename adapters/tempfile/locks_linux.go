package tempfile

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openLockFile opens the lock file and makes it if it does not exist. It stays empty.
// It may be in a directory that all users write to, so it must not be a symbolic link.
func openLockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
}

// tryLock locks one byte of a file for this opening of it. It returns false if another
// opening, of any process, has locked that byte.
func tryLock(f *os.File, offset int64) (bool, error) {
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: offset, Len: 1})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("fcntl", err)
}
