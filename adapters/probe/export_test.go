package probe

import (
	"log/slog"
	"time"
)

// Lose takes the port from a server that has not been closed.
func (s *Server) Lose() error { return s.listener.Close() }

// ListenWithin is Listen with other limits.
func ListenWithin(addr string, alive, ready Check, read, ask, write time.Duration, log *slog.Logger) (*Server, error) {
	return listen(addr, alive, ready, limits{read, ask, write}, log)
}

// Usual are the limits of Listen.
func Usual() (read, ask, write time.Duration) {
	return kubeletLimits.read, kubeletLimits.check, kubeletLimits.write
}
