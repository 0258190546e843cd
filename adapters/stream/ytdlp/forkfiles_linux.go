package ytdlp

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileSocket makes a socket by which a fork server gets the files of its runs.
func fileSocket() (ends [2]*os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ends, os.NewSyscallError("socketpair", err)
	}
	return [2]*os.File{os.NewFile(uintptr(fds[0]), "files"), os.NewFile(uintptr(fds[1]), "files of a fork server")}, nil
}

// sendFile sends a file to the other end of a socket. It does not wait for room: a process that takes no files hangs.
func sendFile(socket, file *os.File) error {
	return os.NewSyscallError("sendmsg", unix.Sendmsg(int(socket.Fd()), []byte{0}, unix.UnixRights(int(file.Fd())), nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL))
}
