package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// workerHandlers answers the requests of workers (section 8.6).
type workerHandlers struct {
	*responder

	service *registry.WorkerService
}

type assignmentBody struct {
	MonitorID  monitor.ID        `json:"monitor_id"`
	Generation int               `json:"generation"`
	Revision   int               `json:"revision,omitempty"`
	StreamURL  monitor.StreamURL `json:"stream_url"`
	Config     monitor.Config    `json:"config"`
	Snapshot   json.RawMessage   `json:"snapshot"`
}

// assignment is GET /internal/v1/monitors/{monitor_id} (decision O1).
func (h workerHandlers) assignment(c *gin.Context) error {
	id, err := monitor.ParseID(c.Param("monitor_id"))
	if err != nil {
		return err
	}
	query, err := readQuery(c, "generation")
	if err != nil {
		return err
	}
	generation, err := readGeneration(c, query)
	if err != nil {
		return err
	}
	assigned, err := h.service.Assign(c.Request.Context(), id, generation)
	if err != nil {
		return err
	}
	body := assignmentBody{assigned.ID, assigned.Generation, assigned.Revision, assigned.StreamURL, assigned.Config, assigned.Snapshot}
	if len(body.Snapshot) == 0 {
		body.Snapshot = json.RawMessage(`null`)
	}
	h.write(c, http.StatusOK, body)
	return nil
}

// reportBody is the body of section 8.6 with the fields of decision O1. A field that is
// left out keeps its stored value.
type reportBody struct {
	Status monitor.Status `json:"status"`
	Health struct {
		Video       monitor.TrackHealth `json:"video"`
		Audio       monitor.TrackHealth `json:"audio"`
		LastCheckAt time.Time           `json:"last_check_at"`
	} `json:"health"`
	Visibility *struct {
		LastError      string         `json:"last_error"`
		BlindSince     time.Time      `json:"blind_since"`
		LastObservedAt time.Time      `json:"last_observed_at"`
		Unseen         monitor.Unseen `json:"unseen"`
	} `json:"visibility"`
	Statistics   monitor.Statistics   `json:"statistics"`
	StreamStatus monitor.StreamStatus `json:"stream_status"`
	Events       []event.Event        `json:"events"`
	Signals      []monitor.Signal     `json:"signals"`
	Minutes      []monitor.Minute     `json:"minutes"`
	Snapshot     json.RawMessage      `json:"snapshot"`
	Generation   int                  `json:"generation"`
	At           time.Time            `json:"at"`
	SentAt       time.Time            `json:"sent_at"`
}

type answerBody struct {
	Order           monitor.Order `json:"order"`
	Revision        int           `json:"revision,omitempty"`
	ThumbnailWanted bool          `json:"thumbnail_wanted,omitempty"`
}

// report is PUT /internal/v1/monitors/{monitor_id}/status (section 8.6).
func (h workerHandlers) report(c *gin.Context) error {
	id, err := monitor.ParseID(c.Param("monitor_id"))
	if err != nil {
		return err
	}
	raw, err := readJSON(c, maxInternalBody)
	if err != nil {
		return err
	}
	var body reportBody
	if err := decode(raw, &body); err != nil {
		return err
	}
	if err := checkGeneration(c, body.Generation); err != nil {
		return err
	}
	if string(body.Snapshot) == "null" {
		body.Snapshot = nil
	}
	answer, err := h.service.Report(c.Request.Context(), id, monitor.Report{
		Generation:   body.Generation,
		At:           body.At,
		SentAt:       body.SentAt,
		Status:       body.Status,
		StreamStatus: body.StreamStatus,
		Health:       monitor.Health(body.Health),
		Visibility:   (*monitor.Visibility)(body.Visibility),
		Statistics:   body.Statistics,
		Events:       body.Events,
		Signals:      body.Signals,
		Minutes:      body.Minutes,
		Snapshot:     body.Snapshot,
	})
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, answerBody(answer))
	return nil
}
