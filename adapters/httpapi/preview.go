package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// previewTimeout is the time limit of a preview, the check of the registration included.
const previewTimeout = monitors.PreviewTimeout + 5*time.Second

type previewBody struct {
	Source           *monitor.SourceName `json:"source"`
	StreamURL        *monitor.StreamURL  `json:"stream_url"`
	Title            *string             `json:"title"`
	Channel          *string             `json:"channel"`
	State            string              `json:"state"`
	Reason           *watch.StreamState  `json:"reason"`
	Detail           *string             `json:"detail"`
	ScheduledStartAt *time.Time          `json:"scheduled_start_at"`
	Problems         []problemBody       `json:"problems"`
}

// preview is POST /api/v1/preview (section 17.3).
func (h registrationHandlers) preview(c *gin.Context) error {
	request, err := requestOf(c)
	if err != nil {
		return err
	}
	p, err := h.previewer.Preview(c.Request.Context(), request)
	if err != nil {
		return err
	}
	r := p.Resolution
	body := previewBody{
		Title: wire.OrNull(r.Title), Channel: wire.OrNull(r.Channel), State: shownState(r.State), Reason: wire.OrNull(r.State), Detail: wire.OrNull(r.Detail),
		ScheduledStartAt: h.localTimeOrNull(&r.ScheduledStart), Problems: make([]problemBody, 0, len(p.Problems)),
	}
	if p.StreamURL != "" {
		body.StreamURL, body.Source = &p.StreamURL, new(p.StreamURL.Source())
	}
	for _, problem := range p.Problems {
		body.Problems = append(body.Problems, newProblemBody(h.callerError(c, problem)))
	}
	h.write(c, http.StatusOK, body)
	return nil
}

// shownState is the state of a stream in a preview.
func shownState(s watch.StreamState) string {
	switch s {
	case watch.Live, watch.Offline:
		return "live"
	case watch.Upcoming:
		return "upcoming"
	case watch.Ended:
		return "ended"
	case watch.ServerDown: // the watch waits for it
		return "unknown"
	}
	if s.Known() {
		return "unavailable"
	}
	return "unknown"
}
