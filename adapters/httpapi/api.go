package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/registry"
)

// Limits of a request.
const (
	maxPublicBody   = 64 << 10 // bytes (decision A3)
	maxInternalBody = 1 << 20  // bytes
	readyTimeout    = 3 * time.Second
)

// Config holds the settings of an API.
type Config struct {
	APIKey         string         // API_KEY; required
	InternalAPIKey string         // INTERNAL_API_KEY; required
	TrustedProxies []string       // addresses and CIDRs whose X-Forwarded-For is used; none by default
	RequestTimeout time.Duration  // of one request, body included; 0: 15 s
	Zone           *time.Location // of every time shown (decision A11); nil: time.Local
	Log            *slog.Logger   // nil: slog.Default
}

// API answers HTTP. Its handlers may be used concurrently.
type API struct {
	service  *registry.Service
	ready    func(context.Context) error
	cfg      Config
	log      *slog.Logger
	failures failureLog
	public   *gin.Engine
	internal *gin.Engine
}

// New makes an API over a Service. ready checks whether the gateway can do its
// work, and is asked on every /readyz, for at most 3 s. It fails only on a
// Config that is not valid.
func New(service *registry.Service, ready func(context.Context) error, cfg Config) (*API, error) {
	switch {
	case cfg.APIKey == "":
		return nil, errors.New("httpapi: APIKey is required")
	case cfg.InternalAPIKey == "":
		return nil, errors.New("httpapi: InternalAPIKey is required")
	case cfg.APIKey == cfg.InternalAPIKey:
		return nil, errors.New("httpapi: APIKey and InternalAPIKey must differ: a worker must not be able to use the public API")
	}
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = 15 * time.Second
	}
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	a := &API{service: service, ready: ready, cfg: cfg, log: cfg.Log.With("component", "httpapi")}

	var err error
	if a.public, err = a.engine(publicKeyHeader, cfg.APIKey, "/healthz", "/readyz", "/openapi.yaml"); err != nil {
		return nil, err
	}
	a.public.GET("/healthz", a.answer(a.healthz))
	a.public.GET("/readyz", a.answer(a.readyz))
	a.public.GET("/openapi.yaml", a.answer(a.openapi))
	v1 := a.public.Group("/api/v1")
	creating, querying := a.rateLimited(registry.Creating), a.rateLimited(registry.Querying)
	v1.POST("/monitors", creating, a.answer(a.registerOrRefuse))
	v1.GET("/monitors", querying, a.answer(a.list))
	v1.GET("/monitors/:monitor_id", querying, a.answer(a.get))
	v1.DELETE("/monitors/:monitor_id", a.answer(a.stop))
	v1.GET("/monitors/:monitor_id/events", querying, a.answer(a.events))
	v1.POST("/monitors/:monitor_id/events/:event_id/redeliver", querying, a.answer(a.redeliver))
	v1.POST("/webhooks/test", creating, a.answer(a.testWebhook))

	if a.internal, err = a.engine(internalKeyHeader, cfg.InternalAPIKey); err != nil {
		return nil, err
	}
	inner := a.internal.Group("/internal/v1")
	inner.GET("/monitors/:monitor_id", a.answer(a.assignment))
	inner.PUT("/monitors/:monitor_id/status", a.answer(a.report))
	return a, nil
}

// Public is the handler of LISTEN_ADDR.
func (a *API) Public() http.Handler { return a.public }

// Internal is the handler of INTERNAL_LISTEN_ADDR (decision O1).
func (a *API) Internal() http.Handler { return a.internal }

// engine makes a router that answers every error in the envelope and asks
// header for key on every path but the open ones.
func (a *API) engine(header, key string, open ...string) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false                 // a redirect is an answer without the envelope
	e.RemoteIPHeaders = []string{"X-Forwarded-For"} // proxies that append to it may hand through any other
	if err := e.SetTrustedProxies(a.cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("httpapi: TrustedProxies: %w", err)
	}
	e.Use(a.recovered, a.limited, a.authenticated(header, sha256.Sum256([]byte(key)), open))
	e.NoRoute(a.answer(func(c *gin.Context) error {
		return refusef(routeNotFound, "there is no %.100q here; /openapi.yaml describes what there is", c.Request.URL.Path)
	}))
	e.NoMethod(a.answer(func(c *gin.Context) error {
		return refusef(methodNotAllowed, "%.100q does not take %.20s; the Allow header says what it takes", c.Request.URL.Path, c.Request.Method)
	}))
	return e, nil
}
