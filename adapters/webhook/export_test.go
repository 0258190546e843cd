package webhook

import (
	"net/http"
	"syscall"
)

// Hold lets a test stand behind the guard at every dial of a sender, so that
// what the guard lets go does not leave the machine.
func Hold(s *Sender, guard *Guard, hold func(control Control) Control) {
	for plain, t := range map[bool]*http.Transport{true: s.httpTransport, false: s.httpsTransport} {
		d := dialer(guard, plain, s.cfg)
		d.Control = hold(d.Control)
		t.DialContext = d.DialContext
	}
}

// Control is a net.Dialer's.
type Control = func(network, address string, c syscall.RawConn) error
