package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/connlimit"
)

// Limits of a connection. writeTimeout counts from the end of the header. It is
// readTimeout and the default of Config.RequestTimeout together.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// Limits of connections to a port (section 12.5).
const (
	MaxConnections    = 4096
	MaxIdlePerAddress = 256 // idle ones of one address to the public port
)

// ServerConfig configures a Server.
type ServerConfig struct {
	Name     string       // for the log: "public" or "internal"
	Addr     string       // host:port; port 0: any free one
	CertFile string       // PEM, with KeyFile: TLS 1.2 or newer (decision O6); both empty: plain HTTP
	KeyFile  string       // PEM
	Log      *slog.Logger // nil: slog.Default

	MaxConnections int            // in all; 0: the constant MaxConnections
	MaxIdle        int            // connections of each address without an accepted request; 0: no limit of its own
	TrustedProxies []netip.Prefix // addresses without MaxIdle
}

// Server serves one handler on one port.
type Server struct {
	http     *http.Server
	listener net.Listener
	secure   bool
	draining atomic.Bool // makes every response close its connection
	log      *slog.Logger
}

// Listen opens the port and loads the certificate. Serve then answers requests.
func Listen(handler http.Handler, cfg ServerConfig) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = MaxConnections
	}
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return nil, errors.New("listen: the certificate and its key must be given together")
	}
	s := &Server{
		secure: cfg.CertFile != "",
		log:    cfg.Log.With("component", "httpapi", "server", cfg.Name),
	}
	s.http = &http.Server{
		Handler:                      s.closeWhileDraining(handler),
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // its response has no envelope
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	connlimit.Limit(s.http, connlimit.Config{Max: cfg.MaxConnections, MaxIdle: cfg.MaxIdle, Apart: cfg.TrustedProxies, Log: s.log})
	if s.secure {
		cert, err := loadCertificate(cfg.CertFile, cfg.KeyFile, s.log)
		if err != nil {
			return nil, err
		}
		s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cert.get}
	}
	var err error
	if s.listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", cfg.Addr); err != nil {
		return nil, fmt.Errorf("listen for the %s API: %w", cfg.Name, err)
	}
	return s, nil
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers requests until Shutdown. It then returns nil, while Shutdown still waits
// for requests in progress. It may be called once.
func (s *Server) Serve() error {
	serve := func() error { return s.http.Serve(s.listener) }
	if s.secure {
		s.log.Info("listening with TLS", "addr", s.Addr().String())
		serve = func() error { return s.http.ServeTLS(s.listener, "", "") }
	} else {
		s.log.Info("listening without TLS: no certificate is given", "addr", s.Addr().String())
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", s.Addr(), err)
	}
	return nil
}

// Drain makes each response close its connection, so that the client sends its next
// request to another gateway. Idle connections stay open: closing one could lose a
// request that the client is sending.
func (s *Server) Drain() { s.draining.Store(true) }

func (s *Server) closeWhileDraining(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// Shutdown stops listening and waits for requests in progress. When ctx is done, it
// drops the remaining ones and returns an error. It also closes a Server before Serve.
func (s *Server) Shutdown(ctx context.Context) error {
	defer func() { _ = s.listener.Close() }() // Serve has closed it already; without Serve it is open
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
		return fmt.Errorf("requests were dropped at shutdown: %w", err)
	}
	return nil
}
