package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// eventHandlers answers requests about the events of a monitor, and test webhooks.
type eventHandlers struct {
	*responder

	service *monitors.EventService
	tester  *monitors.WebhookTester
}

type historyBody struct {
	Events     []recordBody   `json:"events"`
	Pagination paginationBody `json:"pagination"`
}

type recordBody struct {
	monitors.EventRecord

	Attempts []attemptBody   `json:"attempts"`
	Payload  json.RawMessage `json:"payload"`
}

func (h eventHandlers) recordBody(r monitors.EventRecord) recordBody {
	r.CreatedAt, r.SentAt, r.ResolvedAt = h.localTime(r.CreatedAt), h.localTimeOrNull(r.SentAt), h.localTimeOrNull(r.ResolvedAt)
	return recordBody{r, each(r.Attempts, h.attempt), r.Payload}
}

type attemptBody struct {
	At     time.Time `json:"at"`
	Status *int      `json:"status"`
	Error  *string   `json:"error"`
}

// attempt shows one attempt at a delivery.
func (r *responder) attempt(a event.Attempt) attemptBody {
	return attemptBody{r.localTime(a.At), wire.OrNull(a.Status), wire.OrNull(a.Error)}
}

// events is GET /api/v1/monitors/{monitor_id}/events (decision A8).
func (h eventHandlers) events(c *gin.Context, id monitor.ID) error {
	query, err := readQuery(c, "limit", "offset")
	if err != nil {
		return err
	}
	limit, offset, err := page(query)
	if err != nil {
		return err
	}
	records, total, err := h.service.Events(c.Request.Context(), id, limit, offset)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, historyBody{each(records, h.recordBody), paginationBody{total, limit, offset}})
	return nil
}

type redeliveryBody struct {
	EventID       string `json:"event_id"`
	WebhookStatus string `json:"webhook_status"`
}

// redeliver is POST /api/v1/monitors/{monitor_id}/events/{event_id}/redeliver
// (decision A8).
func (h eventHandlers) redeliver(c *gin.Context, id monitor.ID) error {
	eventID := c.Param("event_id")
	if err := h.service.Redeliver(c.Request.Context(), id, eventID); err != nil {
		return err
	}
	h.write(c, http.StatusAccepted, redeliveryBody{eventID, "pending"})
	return nil
}

type webhookTestBody struct {
	EventID   string        `json:"event_id"`
	Delivered bool          `json:"delivered"`
	Status    *int          `json:"status"`
	Error     *string       `json:"error"`
	Body      string        `json:"body"`
	Request   *requestBody  `json:"request"`
	Response  *responseBody `json:"response"`
}

// testWebhook is POST /api/v1/webhooks/test (decision A8).
func (h eventHandlers) testWebhook(c *gin.Context) error {
	body, err := readFields(c, "callback_url")
	if err != nil {
		return err
	}
	var callback string
	body.text("callback_url", &callback)
	if err := body.err(); err != nil {
		return err
	}
	if host := Origin(callback); host != "" { // its path may be a secret
		changed(c, host)
	}
	result, err := h.tester.TestWebhook(c.Request.Context(), callback)
	if err != nil {
		return err
	}
	request, response := exchangeBodies(result.Attempt.Exchange)
	h.write(c, http.StatusOK, webhookTestBody{
		result.EventID, result.Attempt.Error == "", wire.OrNull(result.Attempt.Status), wire.OrNull(result.Attempt.Error), string(result.Body), request, response,
	})
	return nil
}
