package httpapi

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

type deliveryListBody struct {
	Deliveries []deliveryBody `json:"deliveries"`
	Next       *string        `json:"next"`
}

type deliveryBody struct {
	monitors.DeliveryRecord

	Attempts []sentAttemptBody `json:"attempts"`
}

type sentAttemptBody struct {
	attemptBody

	Request  *requestBody  `json:"request"`
	Response *responseBody `json:"response"`
}

type requestBody struct {
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`
	DurationMS int64             `json:"duration_ms"`
	Message    *string           `json:"message"`
}

type responseBody struct {
	ContentType *string `json:"content_type"`
	Body        string  `json:"body"`
	Truncated   bool    `json:"truncated"`
}

// exchangeBodies returns the request and the response of an attempt. Unknown ones are nil.
func exchangeBodies(e *event.Exchange) (*requestBody, *responseBody) {
	if e == nil {
		return nil, nil
	}
	request := &requestBody{e.URL, e.Header, e.DurationMS, wire.OrNull(e.Message)}
	if e.Answer == nil {
		return request, nil
	}
	return request, &responseBody{wire.OrNull(e.Answer.ContentType), e.Answer.Body, e.Answer.Truncated}
}

// deliveries is GET /api/v1/deliveries (section 17.1).
func (h eventHandlers) deliveries(c *gin.Context) error {
	query, err := readQuery(c, "monitor_id", "event_id", "incident_id", "destination_id", "state", "cursor", "limit")
	if err != nil {
		return err
	}
	q, err := readDeliveryQuery(query)
	if err != nil {
		return err
	}
	page, next, err := h.service.Deliveries(c.Request.Context(), q)
	return h.reply(c, deliveryListBody{each(page, h.deliveryBody), encodePlace(next)}, err)
}

func readDeliveryQuery(query url.Values) (q monitors.DeliveryQuery, err error) {
	q = monitors.DeliveryQuery{
		MonitorID: monitor.ID(query.Get("monitor_id")), EventID: query.Get("event_id"), IncidentID: query.Get("incident_id"),
		DestinationID: query.Get("destination_id"), State: monitors.DeliveryState(query.Get("state")),
	}
	for _, name := range []string{"monitor_id", "event_id", "incident_id", "destination_id", "state"} {
		if query.Has(name) && query.Get(name) == "" {
			return q, refusef(monitor.InvalidConfig, "%s is empty; accepted is a value, or to leave it out", name)
		}
	}
	if q.Limit, err = readInt(query, "limit", monitors.DefaultDeliveryPage); err != nil {
		return q, err
	}
	if query.Has("cursor") {
		var ok bool
		if q.Before, ok = decodePlace(query.Get("cursor")); !ok {
			return q, refuseCursor(query, "cursor")
		}
	}
	return q, nil
}

func (h eventHandlers) deliveryBody(d monitors.DeliveryRecord) deliveryBody {
	d.CreatedAt, d.NextAttemptAt, d.DeliveredAt = h.localTime(d.CreatedAt), h.localTimeOrNull(d.NextAttemptAt), h.localTimeOrNull(d.DeliveredAt)
	return deliveryBody{d, each(d.Attempts, h.sentAttempt)}
}

// sentAttempt shows one attempt at a delivery with what was sent and answered.
func (r *responder) sentAttempt(a event.Attempt) sentAttemptBody {
	request, response := exchangeBodies(a.Exchange)
	return sentAttemptBody{r.attempt(a), request, response}
}

// maxCursorMicros is the end of the year 9999 in µs since 1970.
const maxCursorMicros = 253402300799999999

// encodePlace returns the cursor after a place, or nil for the zero value.
func encodePlace(p monitors.DeliveryPlace) *string {
	if p.ID == "" {
		return nil
	}
	return new(deliveryCursor.encode(strconv.FormatInt(p.CreatedAt.UnixMicro(), 10) + "." + p.ID))
}

func decodePlace(s string) (p monitors.DeliveryPlace, ok bool) {
	place, ok := deliveryCursor.decode(s)
	at, id, _ := strings.Cut(place, ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || micros <= 0 || micros > maxCursorMicros || !monitor.IsUUID(id) {
		return p, false
	}
	return monitors.DeliveryPlace{CreatedAt: time.UnixMicro(micros), ID: id}, true
}
