package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/adapters/internal/connlimit"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// eventSubTimeout is how long Twitch waits for an answer here: one that is late counts as a failure, and is sent again.
const eventSubTimeout = time.Second

// eventSubHandlers answers the webhooks of Twitch (decision S28). The signature is the only permission that they need.
type eventSubHandlers struct {
	*responder

	service *pushes.Service
	wrong   *wrongAttempts // signatures
	now     func() time.Time
}

// receive is POST /eventsub/twitch. A message that Twitch has signed is taken however many wrong ones came from its address, which may be
// that of a proxy.
func (h eventSubHandlers) receive(c *gin.Context) error {
	body, err := readBytes(c, "application/json")
	if err != nil {
		return err
	}
	field := func(name string) string { return c.GetHeader("Twitch-Eventsub-Message-" + name) }
	header := eventsub.Header{ID: field("Id"), Kind: field("Type"), Timestamp: field("Timestamp"), Signature: field("Signature")}
	reply, err := h.service.Receive(c.Request.Context(), header, body)
	if refusal, is := errors.AsType[*monitor.Error](err); is && refusal.Code == eventsub.Forged {
		return h.refuseForged(c, refusal)
	}
	if err != nil {
		return err
	}
	connlimit.Accept(c.Request.Context())
	if reply == "" {
		c.Status(http.StatusNoContent)
		return nil
	}
	c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(reply))
	return nil
}

// refuseForged counts a wrong signature of an address.
func (h eventSubHandlers) refuseForged(c *gin.Context, refusal error) error {
	address := addressOf(c)
	if wait := h.wrong.wait(address, h.now()); wait > 0 {
		retryAfter(c, wait)
		return refusef(monitor.RateLimitExceeded, "%d messages with a wrong signature in a minute came from this address; wait before the next", maxWrongRequests)
	}
	if h.wrong.add(address, h.now()) {
		h.log.Warn("messages that claim to be of Twitch are refused with 429 for up to a minute, too many with a wrong signature came from this address: find out who sends them", "client", address)
	}
	return refusal
}
