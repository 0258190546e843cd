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
	Revision   int               `json:"revision"`
	StreamURL  monitor.StreamURL `json:"stream_url"`
	Config     monitor.Config    `json:"config"`
	Snapshot   json.RawMessage   `json:"snapshot"`
}

// Assignment requests the assignment of a monitor.
// Errors: monitor.ErrSuperseded; *monitor.Error NotFound if the monitor is unknown or has
// ended; *monitor.Error InvalidConfig if the gateway rejects the request for good. After any
// other error a later call may succeed.
func (c *Client) Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	path := "/internal/v1/monitors/" + url.PathEscape(string(id)) + "?generation=" + strconv.Itoa(generation)
	var body assignmentBody
	if err := c.exchange(ctx, http.MethodGet, path, nil, &body); err != nil {
		return monitor.Assignment{}, fmt.Errorf("request an assignment from the gateway: %w", err)
	}
	if body.MonitorID != id {
		return monitor.Assignment{}, fmt.Errorf("request an assignment from the gateway: the response is for %.60q", body.MonitorID)
	}
	if string(body.Snapshot) == "null" {
		body.Snapshot = nil
	}
	return monitor.Assignment{
		ID:         body.MonitorID,
		Generation: body.Generation,
		Revision:   body.Revision,
		StreamURL:  body.StreamURL,
		Config:     body.Config,
		Snapshot:   body.Snapshot,
	}, nil
}
