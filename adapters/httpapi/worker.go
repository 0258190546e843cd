package httpapi

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type assignmentBody struct {
	MonitorID  monitor.ID        `json:"monitor_id"`
	Generation int               `json:"generation"`
	StreamURL  monitor.StreamURL `json:"stream_url"`
	Config     monitor.Config    `json:"config"`
	Snapshot   json.RawMessage   `json:"snapshot"`
}

// assignment is GET /internal/v1/monitors/{monitor_id} (decision O1).
func (a *API) assignment(c *gin.Context) error {
	id, err := monitor.ParseID(c.Param("monitor_id"))
	if err != nil {
		return err
	}
	query, err := readQuery(c, "generation")
	if err != nil {
		return err
	}
	generation := 0
	if query.Has("generation") {
		generation, err = strconv.Atoi(query.Get("generation"))
		if err != nil || generation < 1 || generation > math.MaxInt32 {
			return refusef(monitor.InvalidConfig, "generation is %.40q; accepted is a whole number from 1", query.Get("generation"))
		}
	}
	assigned, err := a.service.Assign(c.Request.Context(), id, generation)
	if err != nil {
		return err
	}
	body := assignmentBody{assigned.ID, assigned.Generation, assigned.StreamURL, assigned.Config, assigned.Snapshot}
	if len(body.Snapshot) == 0 {
		body.Snapshot = json.RawMessage(`null`)
	}
	a.write(c, http.StatusOK, body)
	return nil
}

// reportBody is the body of section 8.6 with the fields of decision O1. A field that is
// left out keeps its stored value.
type reportBody struct {
	Status monitor.Status `json:"status"`
	Health struct {
		Video       monitor.Condition `json:"video"`
		Audio       monitor.Condition `json:"audio"`
		LastCheckAt time.Time         `json:"last_check_at"`
	} `json:"health"`
	Visibility *struct {
		LastError      string    `json:"last_error"`
		BlindSince     time.Time `json:"blind_since"`
		LastObservedAt time.Time `json:"last_observed_at"`
	} `json:"visibility"`
	Statistics   monitor.Statistics   `json:"statistics"`
	StreamStatus monitor.StreamStatus `json:"stream_status"`
	Events       []event.Event        `json:"events"`
	Snapshot     json.RawMessage      `json:"snapshot"`
	Generation   int                  `json:"generation"`
	At           time.Time            `json:"at"`
}

type orderBody struct {
	Order monitor.Order `json:"order"`
}

// report is PUT /internal/v1/monitors/{monitor_id}/status (section 8.6).
func (a *API) report(c *gin.Context) error {
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
	if string(body.Snapshot) == "null" {
		body.Snapshot = nil
	}
	order, err := a.service.Report(c.Request.Context(), id, monitor.Report{
		Generation:   body.Generation,
		At:           body.At,
		Status:       body.Status,
		StreamStatus: body.StreamStatus,
		Health:       monitor.Health(body.Health),
		Visibility:   (*monitor.Visibility)(body.Visibility),
		Statistics:   body.Statistics,
		Events:       body.Events,
		Snapshot:     body.Snapshot,
	})
	if err != nil {
		return err
	}
	a.write(c, http.StatusOK, orderBody{order})
	return nil
}
