//go:build linux

package main

import (
	"cmp"
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/tcpproxy"
)

// link is a proxy whose connections can be disturbed.
type link struct{ *tcpproxy.Proxy }

// address is what it listens on.
func (l *link) address() string { return l.Addr().String() }

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
