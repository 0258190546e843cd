// Package loopback finds addresses for servers that a test starts as processes.
package loopback

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// The ports are below those that Linux gives to connections and to listeners without a
// port. So nobody takes one between the probe and the start of the server, or while the
// server restarts.
const firstPort, ports = 20_000, 8_000

var portsTried atomic.Int64

// FreeAddress returns an address of the loopback interface that is unused, and that no
// other call in this process returns. A server that is started later can listen there.
func FreeAddress() (string, error) {
	for range 100 {
		port := firstPort + (37*os.Getpid()+int(portsTried.Add(1)))%ports
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", errors.New("100 ports of the loopback interface are in use")
}
