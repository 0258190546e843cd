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
	EventID          string          `json:"event_id"`
	EventType        event.Type      `json:"event_type"`
	CreatedAt        time.Time       `json:"created_at"`
	WebhookStatus    string          `json:"webhook_status"`
	WebhookLastError *string         `json:"webhook_last_error"`
	SentAt           *time.Time      `json:"sent_at"`
	ResolvedAt       *time.Time      `json:"resolved_at,omitempty"`
	LongSchedule     bool            `json:"long_schedule,omitempty"`
	Attempts         []attemptBody   `json:"attempts"`
	Payload          json.RawMessage `json:"payload"`
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
	body := historyBody{make([]recordBody, 0, len(records)), paginationBody{total, limit, offset}}
	for _, r := range records {
		record := recordBody{
			EventID:          r.EventID,
			EventType:        r.EventType,
			CreatedAt:        h.localTime(r.CreatedAt),
			WebhookStatus:    r.Status,
			WebhookLastError: wire.OrNull(r.LastError),
			SentAt:           h.localTimeOrNull(&r.SentAt),
			ResolvedAt:       h.localTimeOrNull(&r.ResolvedAt),
			LongSchedule:     r.LongSchedule,
			Attempts:         make([]attemptBody, 0, len(r.Attempts)),
			Payload:          r.Payload,
		}
		for _, attempt := range r.Attempts {
			record.Attempts = append(record.Attempts, h.attempt(attempt))
		}
		body.Events = append(body.Events, record)
	}
	h.write(c, http.StatusOK, body)
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
