package postgres

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged is for net.Dialer.Control. Without it the kernel repeats
// what is not acknowledged for a quarter of an hour (tcp(7), TCP_USER_TIMEOUT).
func limitUnacknowledged(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(acknowledgedIn.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
