package httpapi

import (
	"context"
	_ "embed" // openapi.yaml
	"net/http"

	"github.com/gin-gonic/gin"
)

//go:embed openapi.yaml
var document []byte

// Document is openapi.yaml, the description of both handlers.
func Document() []byte { return document }

type probeBody struct {
	Status string `json:"status"`
}

// healthz is the liveness probe (section 8.7): a process that can answer lives.
func (a *API) healthz(c *gin.Context) error {
	a.write(c, http.StatusOK, probeBody{"ok"})
	return nil
}

// readyz is the readiness probe (section 8.7). Why it is not ready stands in
// the log; the answer goes to whoever asks.
func (a *API) readyz(c *gin.Context) error {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	if err := a.ready(ctx); err != nil {
		a.log.Warn("not ready", "error", err)
		return refusef(unavailable, "the gateway is not ready; its log says why")
	}
	a.write(c, http.StatusOK, probeBody{"ready"})
	return nil
}

// openapi is GET /openapi.yaml (decision A8).
func (a *API) openapi(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", document)
	return nil
}
