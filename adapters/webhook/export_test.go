package webhook

import (
	"net/http"
	"syscall"
)

// WrapControl wraps the guard's check at every dial of a sender, so that a test can
// stop connections that the guard allows.
func WrapControl(s *Sender, guard *Guard, wrap func(control Control) Control) {
	for plain, t := range map[bool]*http.Transport{true: s.httpTransport, false: s.httpsTransport} {
		d := dialer(guard, plain, s.cfg)
		d.Control = wrap(d.Control)
		t.DialContext = d.DialContext
	}
}

// Control is the type of net.Dialer.Control.
type Control = func(network, address string, c syscall.RawConn) error
