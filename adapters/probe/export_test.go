package probe

import (
	"log/slog"
	"time"
)

// CloseListener closes the port of a server that still runs.
func (s *Server) CloseListener() error { return s.listener.Close() }

// ListenWithin is Listen with other limits.
func ListenWithin(addr string, alive, ready Check, read, check, write time.Duration, log *slog.Logger) (*Server, error) {
	return listen(addr, alive, ready, limits{read, check, write}, log)
}

// DefaultLimits returns the limits of Listen.
func DefaultLimits() (read, check, write time.Duration) {
	return kubeletLimits.read, kubeletLimits.check, kubeletLimits.write
}
