package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/connlimit"
)

const (
	maxHeaderBytes = 4 << 10
	maxConnections = 256
	maxIdle        = 16 // of one address
)

// limits are the time limits of the parts of a probe.
type limits struct {
	read  time.Duration // of the request
	check time.Duration // of the check; less than write, so that its failure is still sent
	write time.Duration // from the request on, the answer included
}

// kubeletLimits suit a probe with a timeout of 5 s (section 8.7).
var kubeletLimits = limits{read: 4 * time.Second, check: 4 * time.Second, write: 5 * time.Second}

// Check returns nil, or the cause of a failure. It returns when its context is done.
type Check func(ctx context.Context) error

// Server answers probes until Close.
type Server struct {
	limits   limits
	http     http.Server
	listener net.Listener
	serving  sync.WaitGroup
}

// Listen opens a port (host:port; port 0 selects a free one) and answers probes until
// Close. The checks may run concurrently. Errors of single probes are logged at DEBUG.
// It fails if the port cannot be opened.
func Listen(addr string, alive, ready Check, log *slog.Logger) (*Server, error) {
	return listen(addr, alive, ready, kubeletLimits, log)
}

func listen(addr string, alive, ready Check, within limits, log *slog.Logger) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	log = log.With("component", "probe")
	mux := http.NewServeMux()
	s := &Server{limits: within, listener: listener, http: http.Server{
		Handler: mux, ReadTimeout: within.read, WriteTimeout: within.write, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	connlimit.Limit(&s.http, connlimit.Config{Max: maxConnections, MaxIdle: maxIdle, Log: log})
	mux.Handle("GET /healthz", s.handler(alive))
	mux.Handle("GET /readyz", s.handler(ready))
	s.serving.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("probes are no longer answered, Kubernetes will restart the container", "error", err.Error())
		}
	})
	return s, nil
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes every connection and waits until the server has ended.
func (s *Server) Close() error {
	err := s.http.Close()
	s.serving.Wait()
	return err
}

// handler answers a probe with the result of a check.
func (s *Server) handler(check Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.limits.check)
		defer cancel()
		if err := check(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok") // the kubelet probes again
	}
}
