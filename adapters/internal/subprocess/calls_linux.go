package subprocess

import "golang.org/x/sys/unix"

// firstUnknown is the first number that is no call of this ABI.
const firstUnknown = 0x40000000 // x32 on amd64

// refusedCalls are what Landlock does not prevent: io_uring makes sockets, too.
var refusedCalls = always(unix.SYS_IO_URING_SETUP)

// internetOnly refuses the sockets of the machine itself, which would reach servers such as a private PostgreSQL.
var internetOnly = []callRule{with(unix.SYS_SOCKET, 0, unix.AF_UNIX)}
