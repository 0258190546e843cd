package subprocess

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// NewPrivateFile makes a file that only its user may read and write (0600), with a content. It is in memory and has no name,
// so nothing is left of it when the last process that has it open ends, in whatever way. A confined tool that has it
// as Command.File opens it by FilePath; to every other tool it does not exist. The caller closes it.
func NewPrivateFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("private", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "private")
	_, err = f.WriteAt(content, 0)
	if err = errors.Join(err, f.Chmod(0o600)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
