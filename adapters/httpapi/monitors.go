package httpapi

import (
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// monitorHandlers answers requests about monitors.
type monitorHandlers struct {
	*responder

	reader *monitors.MonitorReader
	editor *monitors.Editor
}

type stoppedBody struct {
	MonitorID monitor.ID     `json:"monitor_id"`
	Status    monitor.Status `json:"status"`
	StoppedAt time.Time      `json:"stopped_at"`
}

// stop is DELETE /api/v1/monitors/{monitor_id} (section 3.2).
func (h monitorHandlers) stop(c *gin.Context, id monitor.ID) error {
	query, err := readQuery(c, "release")
	if err != nil {
		return err
	}
	release, err := readBool(query, "release", false)
	if err != nil {
		return err
	}
	stop := h.editor.Stop
	if release {
		stop = h.editor.Release
	}
	m, err := stop(c.Request.Context(), id)
	return h.reply(c, stoppedBody{m.ID, m.Status, h.localTime(m.EndedAt)}, err)
}

// get is GET /api/v1/monitors/{monitor_id} (section 3.3). Beside the specified fields
// it returns the registration (config, metadata, revision) and the visibility of the stream
// (last_error, blind_since, last_observed_at). Of an ended monitor it also returns
// ended_at and the reason of a failure; of a parked one, record_parked_since. It does not
// return callback_url, because receivers keep tokens there.
func (h monitorHandlers) get(c *gin.Context, id monitor.ID) error {
	m, err := h.reader.Get(c.Request.Context(), id)
	return h.reply(c, feed.NewMonitorIn(m, h.zone), err)
}
