//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"sync"
)

// ports gives out the numbers that a gateway keeps over its restarts. They lie
// below those that the kernel gives to outgoing connections, one of which would
// take the place of a gateway that has just died.
var ports struct {
	sync.Mutex
	next int
}

// Where to look for free ports.
const (
	lowestPort  = 20000
	highestPort = 32000
)

func freePort() int {
	ports.Lock()
	defer ports.Unlock()
	if ports.next == 0 {
		ports.next = lowestPort + os.Getpid()*37%(highestPort-lowestPort)
	}
	for {
		ports.next++
		if ports.next >= highestPort {
			ports.next = lowestPort
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports.next)); err == nil {
			_ = l.Close()
			return ports.next
		}
	}
}
