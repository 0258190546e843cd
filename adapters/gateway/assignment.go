package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type assignmentBody struct {
	MonitorID  monitor.ID        `json:"monitor_id"`
	Generation int               `json:"generation"`
	StreamURL  monitor.StreamURL `json:"stream_url"`
	Config     monitor.Config    `json:"config"`
	Snapshot   json.RawMessage   `json:"snapshot"`
}

// Assignment asks what to watch; generation 0 asks as whichever is the newest.
// Errors: monitor.ErrSuperseded; *monitor.Error NotFound when there is no such
// monitor or it has ended; *monitor.Error InvalidConfig when the gateway does
// not understand the question, and would not again; anything else may pass.
func (c *Client) Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	path := "/internal/v1/monitors/" + url.PathEscape(string(id))
	if generation != 0 {
		path += "?generation=" + strconv.Itoa(generation)
	}
	var body assignmentBody
	if err := c.exchange(ctx, http.MethodGet, path, nil, &body); err != nil {
		return monitor.Assignment{}, fmt.Errorf("ask the gateway for an assignment: %w", err)
	}
	if body.MonitorID != id {
		return monitor.Assignment{}, fmt.Errorf("ask the gateway for an assignment: it answered for %.60q", body.MonitorID)
	}
	if string(body.Snapshot) == "null" {
		body.Snapshot = nil
	}
	return monitor.Assignment{
		ID:         body.MonitorID,
		Generation: body.Generation,
		StreamURL:  body.StreamURL,
		Config:     body.Config,
		Snapshot:   body.Snapshot,
	}, nil
}
