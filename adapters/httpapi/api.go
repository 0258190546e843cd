package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// Limits of a request.
const (
	maxPublicBody   = 64 << 10 // bytes (decision A3)
	maxInternalBody = 1 << 20  // bytes
	readyTimeout    = 3 * time.Second
)

// Config holds the settings of an API.
type Config struct {
	APIKey         string            // API_KEY; required
	InternalAPIKey string            // INTERNAL_API_KEY, from which the tokens of workers come; required
	TrustedProxies []string          // addresses and CIDRs of proxies whose X-Forwarded-For is used; default none
	RequestTimeout time.Duration     // of one request, body included; default 15 s
	PublicURL      string            // PUBLIC_URL: how links to evidence begin; default: they are paths
	Zone           *time.Location    // of the times in responses (decision A11); default time.Local
	LinkKeys       evidence.LinkKeys // check the links in messages; none: there are no routes for them
	IngestEnabled  bool              // there is an OAuth client to use the logins of owners with (decision S24)
	Stopping       func() bool       // reports that /readyz must not use an earlier result any more; default never
	Dashboard      *ui.Dashboard     // nil: there are no pages and no sessions
	Now            func() time.Time  // clock of sessions; default time.Now
	Log            *slog.Logger      // default slog.Default
}

// Services are the parts of the application that an API calls. A gateway has all of them; a
// test may leave out those that it does not ask.
type Services struct {
	Monitors   *monitors.Services
	Workers    *intake.WorkerService
	Evidence   *evidences.Service
	Thumbnails *evidences.Thumbnails
	References *references.Service
	CookieJars *cookiejars.Service

	IngestLogins *ingests.Logins

	History   *histories.Service
	Incidents *incidents.Service
	Feed      *feeds.Feed
	Routing   *routing.Services
	Info      *ServiceInfo
	Channels  *channels.Service
	Pushes    *pushes.Service

	Keys        *keyring.Keyring     // nil: there is only API_KEY
	Audit       *keyring.Audit       // nil: nothing is recorded
	SessionKeys *keyring.SessionKeys // required with a dashboard
}

// API is the gateway's HTTP interface. Its handlers may be called concurrently.
type API struct {
	*responder

	rates    *monitors.RateLimiter
	keys     *authenticator // of the public API
	audit    *keyring.Audit // nil: nothing is recorded
	signIn   *signIn        // nil: there is no dashboard
	cfg      Config
	table    []route
	public   *gin.Engine
	internal *gin.Engine
	ready    *readiness
}

// New returns an API that calls the Services. ready has 3 s to report
// whether the gateway can do its work; /readyz calls it at most twice a second. Errors: cfg is not valid.
func New(services Services, ready func(context.Context) error, cfg Config) (*API, error) {
	switch {
	case cfg.APIKey == "":
		return nil, errors.New("httpapi: APIKey is required")
	case cfg.InternalAPIKey == "":
		return nil, errors.New("httpapi: InternalAPIKey is required")
	case cfg.APIKey == cfg.InternalAPIKey:
		return nil, errors.New("httpapi: APIKey and InternalAPIKey must differ: a worker must not be able to use the public API")
	}
	if cfg.Dashboard != nil && services.SessionKeys == nil {
		return nil, errors.New("httpapi: SessionKeys are required with a dashboard")
	}
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = 15 * time.Second
	}
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	a := &API{responder: &responder{log: cfg.Log.With("component", "httpapi"), zone: cfg.Zone}, cfg: cfg,
		keys: newAuthenticator(cfg.APIKey, services.Keys), audit: services.Audit}
	a.ready = newReadiness(ready, cfg.Stopping, cfg.Now, a.log)
	limit := &keyLimit{wrong: wrongAttempts{max: maxWrongRequests}, now: cfg.Now, log: a.log}
	holder := func(r route) gin.HandlerFunc { return a.authenticated(r, limit) }
	token := authenticatedWorker(cfg.InternalAPIKey, a.responder)
	worker := func(route) gin.HandlerFunc { return token }
	var err error
	if a.public, err = a.engine(holder); err != nil {
		return nil, err
	}
	if a.internal, err = a.engine(worker); err != nil {
		return nil, err
	}
	a.rates, a.table = services.Monitors.RateLimiter, a.routes(services)
	if cfg.Dashboard != nil {
		if a.signIn, err = newSignIn(a.responder, a.keys, services.SessionKeys, cfg); err != nil {
			return nil, fmt.Errorf("httpapi: PublicURL: %w", err)
		}
		a.table = append(a.table, a.dashboardRoutes()...)
	}
	for _, r := range a.table {
		engine, authenticated := a.public, holder
		if r.internal() {
			engine, authenticated = a.internal, worker
		}
		engine.Handle(r.method, r.path, a.limited(r), authenticated(r), a.onlyFixedMethods, a.permitted(r), a.counted(r.rate), a.recorded(r))
	}
	return a, nil
}

// Public returns the handler of the public API and the probes (LISTEN_ADDR).
func (a *API) Public() http.Handler { return a.public }

// Internal returns the handler of the workers' API (INTERNAL_LISTEN_ADDR, decision O1).
func (a *API) Internal() http.Handler { return a.internal }

// Ready is the check behind /readyz, for a listener of its own. Its error does not contain the
// cause; the log does.
func (a *API) Ready(ctx context.Context) error {
	if a.ready.get(ctx) != nil {
		return errNotReady
	}
	return nil
}

// engine returns a router without routes. It answers every error in the envelope.
func (a *API) engine(authenticated func(route) gin.HandlerFunc) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false                 // a redirect has no envelope
	e.RemoteIPHeaders = []string{"X-Forwarded-For"} // a proxy that sets it may pass on other headers of the client
	if err := e.SetTrustedProxies(a.cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("httpapi: TrustedProxies: %w", err)
	}
	e.Use(a.recovered)
	// Paths that do not exist need a key too, so that callers without one cannot find paths.
	unknown := route{right: access.Read}
	e.NoRoute(a.limited(unknown), authenticated(unknown), a.answer(func(c *gin.Context) error {
		return refusef(routeNotFound, "the path %.100q does not exist; /openapi.yaml lists the paths", c.Request.URL.Path)
	}))
	known := authenticated(unknown)
	e.NoMethod(a.limited(unknown), func(c *gin.Context) {
		if !a.open(c.Request.URL.Path) {
			known(c)
		}
	}, a.onlyFixedMethods, a.answer(refuseMethod))
	return e, nil
}

// open reports whether a path needs no key: then it needs none to refuse a method either.
func (a *API) open(path string) bool {
	return slices.ContainsFunc(a.table, func(r route) bool { return r.right == noKey && !r.internal() && matchesRoute(r.path, path) })
}

func refuseMethod(c *gin.Context) error {
	return refusef(methodNotAllowed, "%.100q does not accept the method %.20s; the Allow header lists those that it accepts", c.Request.URL.Path, c.Request.Method)
}

// onlyFixedMethods refuses a method that the path without parameters does not have, although
// the router would take the last part of the path for an id.
func (a *API) onlyFixedMethods(c *gin.Context) {
	path := c.Request.URL.Path
	var accepted []string
	for _, r := range a.table {
		if r.path == path {
			accepted = append(accepted, r.method)
		}
	}
	if len(accepted) > 0 && !slices.Contains(accepted, c.Request.Method) {
		c.Abort()
		c.Header("Allow", strings.Join(accepted, ", "))
		a.fail(c, refuseMethod(c))
	}
}
