package httpapi

import (
	"context"
	_ "embed" // openapi.yaml
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"
)

//go:embed openapi.yaml
var document []byte

// Document is openapi.yaml, the description of both handlers.
func Document() []byte { return document }

// probeHandlers answers the probes, and serves openapi.yaml.
type probeHandlers struct {
	*responder

	ready func(context.Context) error
}

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
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	if err := h.ready(ctx); err != nil {
		if _, normal := errors.AsType[StartingOrStopping](err); normal {
			h.log.Info("readiness probe answered with 503 while the gateway starts or stops", "error", err)
		} else {
			h.log.Warn("readiness probe answered with 503, load balancers send no requests here: check the database", "error", err)
		}
		return refusef(unavailable, "the gateway is not ready; its log says why")
	}
	h.write(c, http.StatusOK, probeBody{"ready"})
	return nil
}

// openapi is GET /openapi.yaml (decision A8).
func (h probeHandlers) openapi(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", document)
	return nil
}
