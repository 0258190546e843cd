//go:build linux

package main

import (
	"cmp"
	"context"
	"net"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/tcpproxy"
)

// link is a proxy whose connections can be disturbed.
type link struct {
	*tcpproxy.Proxy
	address string // that it listens on
}

// disturbance says what a link does with connections and data. If data is dropped, the connections end with the fault.
type disturbance struct {
	tcpproxy.Disturbance
	resets time.Duration // if data is dropped: a connection is reset after so long; 0: it stays open
}

var (
	resetting = disturbance{tcpproxy.Disturbance{Drops: true}, 20 * time.Millisecond}
	silent    = disturbance{tcpproxy.Disturbance{Drops: true}, 0}
	slow      = disturbance{tcpproxy.Disturbance{Delay: 350 * time.Millisecond}, 0}
)

// newLink listens on a free port and forwards connections to an address, where nothing needs to listen yet.
func newLink(network, target string) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &link{tcpproxy.Start(listener, tcpproxy.To(network, target)), listener.Addr().String()}, nil
}

// disturb does what a fault does for a while.
func (l *link) disturb(ctx context.Context, d disturbance, duration time.Duration) {
	l.Disturb(d.Disturbance)
	for until := time.Now().Add(duration); ctx.Err() == nil && time.Now().Before(until); {
		pause(ctx, cmp.Or(d.resets, duration))
		if d.Drops {
			l.Reset(d.resets > 0)
		}
	}
	l.Disturb(tcpproxy.Disturbance{})
}
