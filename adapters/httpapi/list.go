package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

type monitorListBody struct {
	Monitors   []listedMonitorBody `json:"monitors"`
	Pagination paginationBody      `json:"pagination"`
	Next       *string             `json:"next"`
}

// listedMonitorBody has the fields of section 3.4, and those of section 16.6 after them.
type listedMonitorBody struct {
	MonitorID          monitor.ID           `json:"monitor_id"`
	Number             int                  `json:"number"`
	StreamURL          monitor.StreamURL    `json:"stream_url"`
	Status             monitor.Status       `json:"status"`
	CreatedAt          time.Time            `json:"created_at"`
	EndedAt            *time.Time           `json:"ended_at,omitempty"`
	Reason             string               `json:"reason,omitempty"`
	StreamStatus       monitor.StreamStatus `json:"stream_status"`
	Health             feed.Health          `json:"health"`
	LastError          *string              `json:"last_error"`
	BlindSince         *time.Time           `json:"blind_since"`
	PausedUntil        *time.Time           `json:"paused_until"`
	PausedBy           *string              `json:"paused_by"`
	ScheduledStartTime *time.Time           `json:"scheduled_start_time"`
	Metadata           json.RawMessage      `json:"metadata"`
	Labels             monitor.Labels       `json:"labels"`
	Revision           int                  `json:"revision"`
	Incident           *openIncidentBody    `json:"incident"`
	RecordParkedSince  *time.Time           `json:"record_parked_since,omitempty"`
	Hints              []monitor.Hint       `json:"hints,omitempty"`
	ChannelID          string               `json:"channel_id,omitempty"`
	Owner              string               `json:"owner,omitempty"`

	// With config=true.
	Config     *monitor.Config `json:"config,omitempty"`
	NoCallback wire.NoCallback `json:"callback_url,omitempty"`
}

type openIncidentBody struct {
	IncidentID  string                   `json:"incident_id"`
	Severity    int                      `json:"severity"`
	SeverityNow *int                     `json:"severity_now"`
	Conditions  []feed.IncidentCondition `json:"conditions"`
	OpenedAt    time.Time                `json:"opened_at"`
}

// list is GET /api/v1/monitors (sections 3.4, 16.6).
func (h monitorHandlers) list(c *gin.Context) error {
	query, err := readQuery(c, "status", "active", "ended", "ended_from", "ended_to", "channel_id", "trouble", "blind", "live", labelParameter, "owner", "q", "after", "limit", "offset", "config")
	if err != nil {
		return err
	}
	withConfig, err := readBool(query, "config", false)
	if err != nil {
		return err
	}
	q, err := readMonitorQuery(query)
	if err != nil {
		return err
	}
	page, err := h.reader.List(c.Request.Context(), q)
	if err != nil {
		return err
	}
	body := monitorListBody{
		Monitors:   make([]listedMonitorBody, 0, len(page.Monitors)),
		Pagination: paginationBody{page.Total, q.Limit, q.Offset},
		Next:       monitorCursor.encodeSeq(page.Next),
	}
	if next := page.NextEnded; next.ID != "" {
		body.Next = new(endedCursor.encode(next.EndedAt.UTC().Format(time.RFC3339Nano) + " " + string(next.ID)))
	}
	for _, m := range page.Monitors {
		listed := h.listedMonitorBody(m)
		if withConfig {
			whole := feed.NewMonitorIn(m.Monitor, h.zone)
			listed.Config, listed.NoCallback = &whole.Config, whole.NoCallback
		}
		body.Monitors = append(body.Monitors, listed)
	}
	h.write(c, http.StatusOK, body)
	return nil
}

func readMonitorQuery(query url.Values) (q monitors.MonitorQuery, err error) {
	if query.Has("status") {
		if q.Status, err = monitor.ParseStatus(query.Get("status")); err != nil {
			return q, err
		}
	}
	err = readFlags(query, flag{"active", &q.Active}, flag{"ended", &q.Ended}, flag{"trouble", &q.Trouble}, flag{"blind", &q.Blind}, flag{"live", &q.Live})
	if err != nil {
		return q, err
	}
	if q.Labels, err = readLabelFilter(query); err != nil {
		return q, err
	}
	q.Text, q.Owner = query.Get("q"), query.Get("owner")
	if query.Has("owner") {
		if err = monitor.CheckLine("owner", q.Owner, 1, monitor.MaxOwner); err != nil {
			return q, err
		}
	}
	if q.EndedFrom, q.EndedTo, err = timesOf(query, "ended_from", "ended_to"); err != nil {
		return q, err
	}
	q.ChannelID = strings.ToLower(query.Get("channel_id"))
	if q.Ended {
		q.BeforeEnd, err = readEndedPlace(query)
	} else {
		q.Before, err = monitorCursor.readSeq(query, "after")
	}
	if err != nil {
		return q, err
	}
	q.Limit, q.Offset, err = page(query)
	return q, err
}

// readEndedPlace reads the cursor of a list of ended monitors.
func readEndedPlace(query url.Values) (at monitors.EndedPlace, err error) {
	if !query.Has("after") {
		return at, nil
	}
	place, ok := endedCursor.decode(query.Get("after"))
	end, id, _ := strings.Cut(place, " ")
	at.EndedAt, err = time.Parse(time.RFC3339Nano, end)
	if at.ID, _ = monitor.ParseID(id); !ok || err != nil || at.ID == "" {
		return at, refuseCursor(query, "after")
	}
	return at, nil
}

func (h monitorHandlers) listedMonitorBody(m monitors.ListedMonitor) listedMonitorBody {
	body := listedMonitorBody{
		MonitorID:          m.ID,
		Number:             m.Number,
		StreamURL:          m.StreamURL,
		Status:             m.Status,
		CreatedAt:          h.localTime(m.CreatedAt),
		EndedAt:            h.localTimeOrNull(&m.EndedAt),
		Reason:             m.Reason,
		StreamStatus:       m.StreamStatus,
		Health:             feed.NewHealth(m.Health, h.zone),
		LastError:          wire.OrNull(m.Visibility.LastError),
		BlindSince:         h.localTimeOrNull(&m.Visibility.BlindSince),
		PausedUntil:        h.localTimeOrNull(&m.Pause.Until),
		PausedBy:           wire.OrNull(m.Pause.By),
		ScheduledStartTime: h.localTimeOrNull(m.Config.ScheduledStartTime),
		Metadata:           m.Metadata,
		Labels:             m.Labels,
		Revision:           m.Revision,
		Incident:           h.openIncident(m.Incident),
		RecordParkedSince:  h.localTimeOrNull(&m.RecordParkedSince),
		Hints:              feed.NewHints(m.Hints, h.zone),
		ChannelID:          m.ChannelID,
		Owner:              m.Owner,
	}
	if len(body.Metadata) == 0 {
		body.Metadata = json.RawMessage(`{}`)
	}
	return body
}

func (h monitorHandlers) openIncident(i *incident.Incident) *openIncidentBody {
	if i == nil {
		return nil
	}
	return &openIncidentBody{i.ID, i.Severity, feed.SeverityNow(*i), feed.NewConditions(i.Conditions, h.zone), h.localTime(i.OpenedAt)}
}
