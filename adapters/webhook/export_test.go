package webhook

import (
	"net"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
)

// WrapControl wraps the guard's check at every dial of a sender, so that a test can
// stop connections that the guard allows.
func WrapControl(s *Sender, guard *Guard, wrap func(Control) Control) {
	s.client = outbound.NewClient(wrappedGuard{guard, wrap}, s.cfg)
}

// Control is the type of net.Dialer.Control.
type Control = func(network, address string, c syscall.RawConn) error

type wrappedGuard struct {
	*Guard
	wrap func(Control) Control
}

func (g wrappedGuard) Dialer(plain bool, timeout time.Duration) *net.Dialer {
	d := g.outbound.Dialer(plain, timeout)
	d.Control = g.wrap(d.Control)
	return d
}

// Timeout returns the limit of one attempt.
func Timeout(s *Sender) time.Duration { return s.cfg.Timeout }
