package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// registrationHandlers answers registrations, alone and in batches, and previews of them.
type registrationHandlers struct {
	*responder

	registrar   *monitors.Registrar
	previewer   *monitors.Previewer
	rateLimiter *monitors.RateLimiter
}

// requestOf reads the registration in the body of a request.
func requestOf(c *gin.Context) (monitors.Request, error) {
	raw, err := readJSON(c)
	if err != nil {
		return monitors.Request{}, err
	}
	return readRegistration(raw)
}

// readRegistration decodes the body of section 3.1 and sets its defaults. The request
// lists the wrong fields, which package monitors refuses with its own.
func readRegistration(raw []byte) (monitors.Request, error) {
	r := monitors.Request{Config: monitor.DefaultConfig()}
	body, err := readObject(raw, "", "stream_url", "callback_url", "config", "metadata", "labels")
	if err != nil {
		return r, err
	}
	body.text("stream_url", &r.StreamURL)
	r.CallbackURL = body.callback()
	r.Metadata = body.fields["metadata"]
	r.Labels = monitor.Labels{}.With(readLabels(body))
	config, refused := readConfig(body, monitor.EndMonitor)
	config.Apply(&r.Config)
	r.Headers, r.TokenURL = config.Headers, config.TokenURL
	r.Unreadable = refused
	return r, nil
}

// configFields are the fields of config (section 3.1).
func configFields() []string {
	fields := []string{"preset", "cookie_jar", "http_headers", "token_url", "copy_query", "detectors", "scheduled_start_time", "scheduled_end_time", "on_callback_failure"}
	for _, s := range monitor.Settings() {
		fields = append(fields, s.Field)
	}
	return fields
}

type registeredBody struct {
	MonitorID monitor.ID     `json:"monitor_id"`
	Status    monitor.Status `json:"status"`
	CreatedAt time.Time      `json:"created_at"`
	LateBySec int64          `json:"late_by_sec,omitempty"`
}

// registerOrRefuse is POST /api/v1/monitors (section 3.1). A refusal counts
// against a rate limit of its own (section 12.3).
func (h registrationHandlers) registerOrRefuse(c *gin.Context) error {
	refusal := h.register(c)
	if !refused(refusal) {
		return refusal
	}
	wait, err := h.rateLimiter.CountRefusal(c.Request.Context(), countedClient(c))
	if err != nil {
		retryAfter(c, wait)
		return err
	}
	return refusal
}

// register stores a monitor. With an idempotency key it may be repeated
// (decision A9).
func (h registrationHandlers) register(c *gin.Context) error {
	key, keyed, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	request, err := requestOf(c)
	if err != nil {
		return err
	}
	var m monitor.Monitor
	replayed := false
	if keyed {
		m, replayed, err = h.registrar.RegisterIdempotent(c.Request.Context(), request, key)
	} else {
		m, err = h.registrar.Register(c.Request.Context(), request)
	}
	if err != nil {
		return err
	}
	if replayed {
		c.Header(replayedHeader, "true")
	}
	changed(c, string(m.ID))
	c.Header("Location", "/api/v1/monitors/"+string(m.ID))
	h.write(c, http.StatusCreated, registeredBody{m.ID, m.Status, h.localTime(m.CreatedAt), int64(m.LateBy() / time.Second)})
	return nil
}
