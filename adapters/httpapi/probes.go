package httpapi

import (
	"context"
	_ "embed" // openapi.yaml
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

//go:embed openapi.yaml
var document []byte

// Document is openapi.yaml, the description of both handlers.
func Document() []byte { return document }

// probeHandlers answers the probes, and serves openapi.yaml.
type probeHandlers struct {
	*responder

	ready *readiness
}

// readinessLifetime is how long the result of a readiness check is used.
const readinessLifetime = 500 * time.Millisecond

// readiness checks whether the gateway is ready: one check at a time, and at most one in a
// readinessLifetime. Anybody may ask, and each check takes a connection of the database.
type readiness struct {
	check    func(context.Context) error
	stopping func() bool // nil: never
	now      func() time.Time
	log      *slog.Logger

	running chan struct{} // holds one value during a check
	err     error         // of the last check
	until   time.Time     // when err is out of date; zero: there was no check
}

func newReadiness(check func(context.Context) error, stopping func() bool, now func() time.Time, log *slog.Logger) *readiness {
	return &readiness{check: check, stopping: stopping, now: now, log: log, running: make(chan struct{}, 1)}
}

// get returns the result of the last check, or of a new one if that is out of date. A gateway
// that stops says so at once: the time for its load balancers runs. The check goes on if its
// caller leaves: others wait for it.
func (r *readiness) get(ctx context.Context) error {
	select {
	case r.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.running }()
	if r.now().Before(r.until) && (r.stopping == nil || !r.stopping()) {
		return r.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	r.err = r.check(ctx)
	r.until = r.now().Add(readinessLifetime)
	if r.err == nil {
		return nil
	}
	if _, normal := errors.AsType[StartingOrStopping](r.err); normal {
		r.log.Info("readiness probe answered with 503 while the gateway starts or stops", "error", r.err)
	} else {
		r.log.Warn("readiness probe answered with 503, load balancers send no requests here: check the database", "error", r.err)
	}
	return r.err
}

// errNotReady is what anybody may read who asks whether the gateway is ready.
var errNotReady = errors.New("the gateway is not ready; its log says why")

type probeBody struct {
	Status string `json:"status"`
}

// StartingOrStopping is the error of a readiness check during a normal start or stop
// of the gateway. The API logs it as INFO, and every other error as WARN.
type StartingOrStopping string

// Error implements error.
func (s StartingOrStopping) Error() string { return string(s) }

// healthz is the liveness probe (section 8.7). It always succeeds: the answer itself
// shows that the process is alive.
func (h probeHandlers) healthz(c *gin.Context) error {
	h.write(c, http.StatusOK, probeBody{"ok"})
	return nil
}

// readyz is the readiness probe (section 8.7). It needs no key, so its response does
// not contain the cause; the log does.
func (h probeHandlers) readyz(c *gin.Context) error {
	if err := h.ready.get(c.Request.Context()); err != nil {
		return refusef(unavailable, "%v", errNotReady)
	}
	h.write(c, http.StatusOK, probeBody{"ready"})
	return nil
}

// openapi is GET /openapi.yaml (decision A8).
func (h probeHandlers) openapi(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", document)
	return nil
}
