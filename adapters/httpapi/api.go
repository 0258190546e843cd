package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/application/registry"
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
	Stopping       func() bool       // reports that /readyz must not use an earlier result any more; default never
	Dashboard      *ui.Dashboard     // nil: there are no pages and no sessions
	Now            func() time.Time  // clock of sessions; default time.Now
	Log            *slog.Logger      // default slog.Default
}

// Services are the parts of the application that an API calls.
type Services struct {
	Monitors  *registry.Services
	Evidence  *record.EvidenceService // nil: there are no routes for evidence
	History   *record.History         // nil: there are no routes for the history
	Incidents *record.IncidentService // nil: there are no routes for incidents
	Feed      *record.Feed            // nil: there is no route for the feed
	Routing   *routing.Services       // nil: there are no routes for destinations, routes and silences

	Keys  *keyring.Keyring // nil: there is only API_KEY, and no routes for keys
	Audit *keyring.Audit   // required with Keys

	SessionKeys *keyring.SessionKeys // required with a dashboard

	Thumbnails *record.Thumbnails // nil: there are no routes for thumbnails
	Info       *ServiceInfo       // nil: there is no route that describes the service
}

// API is the gateway's HTTP interface. Its handlers may be called concurrently.
type API struct {
	*responder

	monitors *registry.Services
	keys     *authenticator // of the public API
	audit    *keyring.Audit // nil: nothing is recorded
	evidence *record.EvidenceService
	signIn   *signIn // nil: there is no dashboard
	cfg      Config
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
	respond := &responder{log: cfg.Log.With("component", "httpapi"), zone: cfg.Zone}
	a := &API{responder: respond, monitors: services.Monitors, evidence: services.Evidence, cfg: cfg,
		keys: newAuthenticator(cfg.APIKey, services.Keys), audit: services.Audit}
	a.ready = newReadiness(ready, cfg.Stopping, cfg.Now, respond.log)
	if err := a.routePublic(probeHandlers{respond, a.ready}, services.SessionKeys); err != nil {
		return nil, err
	}
	if err := a.routeInternal(); err != nil {
		return nil, err
	}
	if services.Keys != nil {
		a.routeKeys(keyHandlers{respond, services.Keys, services.Audit})
	}
	if services.History != nil {
		a.routeHistory(historyHandlers{respond, services.History})
	}
	if services.Incidents != nil {
		a.routeIncidents(incidentHandlers{respond, services.Incidents})
	}
	if a.evidence != nil {
		a.routeEvidence(evidenceHandlers{respond, a.evidence, cfg.PublicURL})
	}
	if services.Routing != nil {
		a.routeRouting(respond, services.Routing)
	}
	if services.Routing != nil && services.Incidents != nil && len(cfg.LinkKeys) > 0 {
		actions := actionHandlers{respond, cfg.LinkKeys, services.Incidents, services.Routing, services.Audit, cfg.Now}
		a.public.GET(actionPath, actions.handle(actions.show))
		a.public.POST(actionPath, actions.handle(actions.act))
	}
	if services.Info != nil {
		a.public.GET("/api/v1/service", a.rateLimited(registry.Querying), a.answer(serviceHandlers{respond, *services.Info}.read))
	}
	if services.Thumbnails != nil {
		a.routeThumbnails(thumbnailHandlers{respond, services.Thumbnails})
	}
	if services.Feed != nil {
		a.public.GET(feedPath, a.rateLimited(registry.Querying), a.answer(feedHandlers{respond, services.Feed}.read))
	}
	return a, nil
}

func (a *API) routePublic(probes probeHandlers, sessions *keyring.SessionKeys) (err error) {
	open := []string{"/healthz", "/readyz", "/openapi.yaml", evidencePath, actionPath}
	if a.cfg.Dashboard != nil {
		open = append(open, append(dashboardPaths(a.cfg.Dashboard), sessionPath)...)
		if a.signIn, err = newSignIn(a.responder, a.keys, sessions, a.cfg); err != nil {
			return fmt.Errorf("httpapi: PublicURL: %w", err)
		}
	}
	limit := &keyLimit{wrong: wrongKeys{max: maxWrongRequests}, now: a.cfg.Now, log: a.log}
	authenticated := a.middleware().authenticated(publicKeyHeader, a.keys, a.signIn, limit, open)
	if a.public, err = a.engine(authenticated); err != nil {
		return err
	}
	a.public.Use(a.onlyFixedMethods, a.permitted)
	if a.cfg.Dashboard != nil {
		a.routeDashboard()
	}
	a.public.GET("/healthz", a.answer(probes.healthz))
	a.public.GET("/readyz", a.answer(probes.readyz))
	a.public.GET("/openapi.yaml", a.answer(probes.openapi))
	registrations := registrationHandlers{a.responder, a.monitors.Registrar, a.monitors.Previewer, a.monitors.RateLimiter}
	monitors := monitorHandlers{a.responder, a.monitors.Monitors, a.monitors.Editor}
	events := eventHandlers{a.responder, a.monitors.Events, a.monitors.WebhookTester}
	creating, querying := a.rateLimited(registry.Creating), a.rateLimited(registry.Querying)
	v1 := a.public.Group("/api/v1")
	v1.POST("/monitors", creating, a.answer(registrations.registerOrRefuse))
	a.public.POST(batchPath, creating, a.answer(registrations.registerBatch))
	v1.GET("/monitors", querying, a.answer(monitors.list))
	v1.GET("/monitors/:monitor_id", querying, a.answer(monitors.get))
	v1.PATCH("/monitors/:monitor_id", querying, a.answer(monitors.change))
	v1.DELETE("/monitors/:monitor_id", a.answer(monitors.stop))
	v1.GET("/monitors/:monitor_id/events", querying, a.answer(events.events))
	v1.POST("/monitors/:monitor_id/events/:event_id/redeliver", querying, a.answer(events.redeliver))
	a.public.POST(previewPath, a.rateLimited(registry.Previewing), a.answer(registrations.preview))
	v1.POST("/webhooks/test", creating, a.answer(events.testWebhook))
	v1.GET("/deliveries", querying, a.answer(events.deliveries))
	return nil
}

func (a *API) routeInternal() (err error) {
	if a.internal, err = a.engine(a.middleware().authenticatedWorker(a.cfg.InternalAPIKey)); err != nil {
		return err
	}
	workers := workerHandlers{a.responder, a.monitors.Workers}
	v1 := a.internal.Group("/internal/v1")
	v1.GET("/monitors/:monitor_id", a.responder.answer(workers.assignment))
	v1.PUT("/monitors/:monitor_id/status", a.responder.answer(workers.report))
	return nil
}

func (a *API) routeKeys(keys keyHandlers) {
	querying := a.rateLimited(registry.Querying)
	v1 := a.public.Group("/api/v1")
	v1.GET("/keys", querying, a.answer(keys.list))
	v1.POST("/keys", querying, a.answer(keys.create))
	v1.DELETE("/keys/:key_id", querying, a.answer(keys.revoke))
	v1.GET("/audit", querying, a.answer(keys.listAudit))
}

func (a *API) routeHistory(history historyHandlers) {
	querying := a.rateLimited(registry.Querying)
	v1 := a.public.Group("/api/v1")
	v1.GET("/monitors/:monitor_id/timeline", querying, a.answer(history.timeline))
	v1.GET("/monitors/:monitor_id/sessions", querying, a.answer(history.sessions))
	v1.GET("/statistics", querying, a.answer(history.statistics))
}

func (a *API) routeIncidents(incidents incidentHandlers) {
	querying := a.rateLimited(registry.Querying)
	v1 := a.public.Group("/api/v1/incidents")
	v1.GET("", querying, a.answer(incidents.list))
	v1.GET("/:incident_id", querying, a.answer(incidents.get))
	v1.POST("/:incident_id/acknowledge", querying, a.answer(incidents.acknowledge))
	v1.POST("/:incident_id/resolve", querying, a.answer(incidents.resolve))
	v1.POST("/:incident_id/notes", querying, a.answer(incidents.note))
	v1.POST("/:incident_id/label", querying, a.answer(incidents.label))
}

// routeRouting adds the routes of destinations, routes and silences, and of deliveries that
// are made again.
func (a *API) routeRouting(r *responder, services *routing.Services) {
	querying := a.rateLimited(registry.Querying)
	v1 := a.public.Group("/api/v1")
	destinations := destinationHandlers{r, services.Destinations}
	v1.GET("/destination-kinds", querying, a.answer(destinations.kinds))
	v1.GET("/destinations", querying, a.answer(destinations.list))
	v1.POST("/destinations", querying, a.answer(destinations.create))
	v1.GET("/destinations/:destination_id", querying, a.answer(destinations.get))
	v1.PATCH("/destinations/:destination_id", querying, a.answer(destinations.change))
	v1.DELETE("/destinations/:destination_id", querying, a.answer(destinations.delete))
	a.public.POST(destinationTestPath, a.rateLimited(registry.Creating), a.answer(destinations.test))
	routes := routeHandlers{r, services.Routes, services.Explainer}
	v1.GET("/routes", querying, a.answer(routes.list))
	v1.POST("/routes", querying, a.answer(routes.create))
	a.public.PUT(routeOrderPath, querying, a.answer(routes.order))
	a.public.POST(routeExplainPath, querying, a.answer(routes.explain))
	v1.GET("/routes/:route_id", querying, a.answer(routes.get))
	v1.PATCH("/routes/:route_id", querying, a.answer(routes.change))
	v1.DELETE("/routes/:route_id", querying, a.answer(routes.delete))
	silences := silenceHandlers{r, services.Silences}
	v1.GET("/silences", querying, a.answer(silences.list))
	v1.POST("/silences", querying, a.answer(silences.create))
	v1.GET("/silences/:silence_id", querying, a.answer(silences.get))
	v1.PATCH("/silences/:silence_id", querying, a.answer(silences.change))
	v1.DELETE("/silences/:silence_id", querying, a.answer(silences.end))
	replays := replayHandlers{r, services.Replays}
	v1.POST("/deliveries/replay", querying, a.answer(replays.failed))
	v1.POST("/deliveries/:delivery_id/replay", querying, a.answer(replays.one))
}

func (a *API) routeEvidence(evidence evidenceHandlers) {
	querying := a.rateLimited(registry.Querying)
	v1 := a.public.Group("/api/v1/evidence")
	v1.GET("", querying, a.answer(evidence.list))
	v1.GET("/:evidence_id", querying, a.answer(evidence.get))
	v1.POST("/:evidence_id/link", querying, a.answer(evidence.link))
	v1.POST("/:evidence_id/class", querying, a.answer(evidence.setClass))
	a.public.GET(evidencePath, a.answer(evidence.download))
	a.internal.PUT(recordPath, a.responder.answer(evidence.putRecord))
	a.internal.POST(uploadPath, a.responder.answer(evidence.upload))
}

// routeThumbnails adds the routes of thumbnails. Reading one takes no rate limit: a page
// reads hundreds a minute.
func (a *API) routeThumbnails(thumbnails thumbnailHandlers) {
	a.public.POST("/api/v1/thumbnails/watch", a.rateLimited(registry.Querying), a.answer(thumbnails.watch))
	a.public.GET("/api/v1/monitors/:monitor_id/thumbnail", a.answer(thumbnails.read))
	a.internal.PUT("/internal/v1/monitors/:monitor_id/thumbnail", a.responder.answer(thumbnails.put))
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

func (a *API) middleware() middleware { return middleware{a.responder, a.cfg.RequestTimeout} }

// engine returns a router without routes, whose requests all pass through authenticated.
// It answers every error in the envelope.
func (a *API) engine(authenticated gin.HandlerFunc) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false                 // a redirect has no envelope
	e.RemoteIPHeaders = []string{"X-Forwarded-For"} // a proxy that sets it may pass on other headers of the client
	if err := e.SetTrustedProxies(a.cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("httpapi: TrustedProxies: %w", err)
	}
	m := a.middleware()
	e.Use(m.recovered, m.limited, authenticated)
	e.NoRoute(a.answer(func(c *gin.Context) error {
		return refusef(routeNotFound, "the path %.100q does not exist; /openapi.yaml lists the paths", c.Request.URL.Path)
	}))
	e.NoMethod(a.answer(refuseMethod))
	return e, nil
}

func refuseMethod(c *gin.Context) error {
	return refusef(methodNotAllowed, "%.100q does not accept the method %.20s; the Allow header lists those that it accepts", c.Request.URL.Path, c.Request.Method)
}

// fixedPaths are the paths whose last part the router would take for an id, with the one
// method that each accepts.
var fixedPaths = map[string]string{batchPath: http.MethodPost, routeOrderPath: http.MethodPut, routeExplainPath: http.MethodPost}

// onlyFixedMethods refuses every other method on a fixed path.
func (a *API) onlyFixedMethods(c *gin.Context) {
	if accepted, fixed := fixedPaths[c.Request.URL.Path]; fixed && c.Request.Method != accepted {
		c.Abort()
		c.Header("Allow", accepted)
		a.fail(c, refuseMethod(c))
	}
}
