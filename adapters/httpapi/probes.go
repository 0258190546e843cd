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

type probeBody struct {
	Status string `json:"status"`
}

// StartingOrStopping is the error of a readiness check during a normal start or stop
// of the gateway. The API logs it as INFO, and every other error as WARN.
type StartingOrStopping string

// Error implements error.
func (s StartingOrStopping) Error() string { return string(s) }

// healthz is the liveness probe (section 8.7): a process that can answer lives.
func (a *API) healthz(c *gin.Context) error {
	a.write(c, http.StatusOK, probeBody{"ok"})
	return nil
}

// readyz is the readiness probe (section 8.7). It needs no key, so its response does
// not contain the cause; the log does.
func (a *API) readyz(c *gin.Context) error {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	if err := a.ready(ctx); err != nil {
		if _, normal := errors.AsType[StartingOrStopping](err); normal {
			a.log.Info("readiness probe answered with 503 while the gateway starts or stops", "error", err)
		} else {
			a.log.Warn("readiness probe answered with 503, load balancers send no requests here: check the database", "error", err)
		}
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
