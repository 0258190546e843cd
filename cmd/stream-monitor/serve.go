package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/process"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/control"
	"github.com/stream-monitor/stream-monitor/application/deliver"
	"github.com/stream-monitor/stream-monitor/application/supervise"
)

// Bounds on the steps of a shutdown.
const (
	requestsLimit = 10 * time.Second // for requests under way
	workersLimit  = 40 * time.Second // for workers: 30 s until SIGKILL (section 8.3), and a margin
)

// Run is the gateway. Its parts are started in the order of their dependence,
// and stopped in the reverse order: callers first, workers while they can still
// report, the dispatcher when nobody reports any more, the database last.
func (c *ServeCmd) Run(ctx context.Context, out console) error {
	outliveReaders()
	output := &lineWriter{w: out.err}
	log, err := logging.New(output, c.Log.LogLevel, time.Local)
	if err != nil {
		return err
	}
	keys, err := c.keys(log)
	if err != nil {
		return err
	}
	c.Watching.exportProxies()
	store, closeStore, err := c.Database.open(ctx, log)
	if err != nil {
		return err
	}
	defer closeStore()
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	g := &service{log: log.With("component", "gateway"), store: store}
	if err := g.assemble(c, keys, output, log); err != nil {
		return err
	}
	return g.run(ctx)
}

// keys are those of the configuration, completed with generated ones.
func (c *ServeCmd) keys(log *slog.Logger) (Keys, error) {
	keys, generated, err := loadKeys(c.Database.DataDir, c.Keys)
	if err != nil {
		return keys, err
	}
	if generated {
		log.Info("API keys were generated", "component", "gateway", "file", keysPath(c.Database.DataDir))
	}
	return keys, nil
}

// service is the parts of serve.
type service struct {
	log        *slog.Logger
	store      *postgres.Store
	launcher   *process.Launcher
	supervisor *supervise.Supervisor
	dispatcher *deliver.Dispatcher
	public     *httpapi.Server
	internal   *httpapi.Server

	listening context.CancelFunc // ends the database's wake-up calls
	resumed   atomic.Bool        // workers of active monitors have been asked for
	stopping  atomic.Bool
}

// assemble makes the parts; nothing runs yet but the ports' listeners.
func (g *service) assemble(c *ServeCmd, keys Keys, output io.Writer, log *slog.Logger) (err error) {
	signing, err := webhook.ParseKeys(strings.Join(keys.Signing, ","))
	if err != nil {
		return err
	}
	guard := webhook.NewGuard(c.CallbackAllowedNetworks, nil)
	sender := webhook.NewSender(signing, guard, webhook.Config{Version: version})
	crew := &crew{}
	desk, err := control.New(g.store, crew, guard, sender, control.Config{
		NewUUID:     func() [16]byte { return uuid.Must(uuid.NewV7()) },
		MaxMonitors: c.MaxMonitors,
		Log:         log,
	})
	if err != nil {
		return err
	}
	api, err := httpapi.New(desk, g.ready, httpapi.Config{
		APIKey: keys.API, InternalAPIKey: keys.Internal, TrustedProxies: c.TrustedProxies.Strings(), Log: log,
	})
	if err != nil {
		return err
	}
	listen := func(name, addr string) httpapi.ServerConfig {
		return httpapi.ServerConfig{Name: name, Addr: addr, CertFile: c.TLSCertFile, KeyFile: c.TLSKeyFile, Log: log}
	}
	if g.internal, err = httpapi.Listen(api.Internal(), listen("internal", c.InternalListenAddr)); err != nil {
		return err
	}
	if g.public, err = httpapi.Listen(api.Public(), listen("public", c.ListenAddr)); err != nil {
		return errors.Join(err, g.internal.Shutdown(context.Background()))
	}
	here, err := workersURL(g.internal.Addr(), c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return errors.Join(err, g.closePorts())
	}
	g.launcher, err = process.New(process.Config{
		GatewayURL: here, InternalKey: keys.Internal, LogLevel: c.Log.LogLevel, Output: output, Log: log,
	})
	if err != nil {
		return errors.Join(err, g.closePorts())
	}
	g.supervisor, err = supervise.New(g.store, g.launcher, supervise.Config{NewEventID: newEventID, Log: log})
	if err != nil {
		return errors.Join(err, g.closePorts())
	}
	crew.Supervisor = g.supervisor
	wakes, cancel := context.WithCancel(context.Background())
	g.listening = cancel
	g.dispatcher, err = deliver.New(g.store, sender, g.store.Listen(wakes), deliver.Config{Log: log, OnEnded: g.supervisor.Stop})
	if err != nil {
		cancel()
		return errors.Join(err, g.closePorts())
	}
	return nil
}

// crew is the supervisor, which can only be made after the service it serves.
type crew struct{ *supervise.Supervisor }

var _ control.Crew = (*crew)(nil)

// ready tells whether the gateway can do its work.
func (g *service) ready(ctx context.Context) error {
	switch {
	case g.stopping.Load():
		return errors.New("the gateway is stopping")
	case !g.resumed.Load():
		return errors.New("the workers of active monitors are not yet started")
	}
	return g.store.Ping(ctx)
}

// run runs the parts until ctx is done or one of them fails.
func (g *service) run(ctx context.Context) error {
	var failed error
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	dispatch := start(g.dispatcher.Run)
	internal := start(func(context.Context) { cancel(g.internal.Serve()) })
	supervise := start(g.supervisor.Run)
	public := start(func(context.Context) { cancel(g.public.Serve()) })
	resume := start(g.resume)

	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		failed = err
	}
	g.stopping.Store(true)
	g.log.Info("the gateway stops")
	resume.stop()
	failed = errors.Join(failed, bounded(requestsLimit, g.public.Shutdown))
	public.stop()
	supervise.stop()
	failed = errors.Join(failed, bounded(workersLimit, g.launcher.Close))
	failed = errors.Join(failed, bounded(requestsLimit, g.internal.Shutdown))
	internal.stop()
	dispatch.stop()
	g.listening()
	return failed
}

// resume asks for the workers of all monitors that were active when the last
// gateway stopped, until it has been done (section 10.4).
func (g *service) resume(ctx context.Context) {
	for {
		err := g.supervisor.Resume(ctx)
		if err == nil {
			g.resumed.Store(true)
			return
		}
		g.log.Warn("the workers of active monitors could not all be started; trying again", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func (g *service) closePorts() error {
	return errors.Join(g.public.Shutdown(context.Background()), g.internal.Shutdown(context.Background()))
}

// part is something that runs.
type part struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
}

// start runs a part in a goroutine that stop waits for.
func start(run func(context.Context)) part {
	ctx, cancel := context.WithCancel(context.Background())
	p := part{cancel, make(chan struct{})}
	go func() {
		defer close(p.done)
		run(ctx)
	}()
	return p
}

func (p part) stop() {
	p.cancel()
	<-p.done
}

// bounded gives a step of the shutdown its time.
func bounded(limit time.Duration, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return step(ctx)
}

// workersURL is where workers on this machine reach the internal API. With TLS
// they verify the certificate, so it must be good for localhost.
func workersURL(addr net.Addr, certFile, keyFile string) (string, error) {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "", fmt.Errorf("the internal API's address: %w", err)
	}
	if certFile == "" {
		return "http://" + net.JoinHostPort("127.0.0.1", port), nil
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return "", fmt.Errorf("TLS_CERT_FILE, TLS_KEY_FILE: %w", err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return "", fmt.Errorf("TLS_CERT_FILE: %w", err)
	}
	if err := leaf.VerifyHostname("localhost"); err != nil {
		return "", fmt.Errorf("TLS_CERT_FILE is not valid for localhost, where workers of WORKER_RUNTIME=process reach the internal API: %w", err)
	}
	return "https://" + net.JoinHostPort("localhost", port), nil
}

// lineWriter lets the gateway and its workers write their log lines to one
// place, each whole.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
