package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Assignment requests the assignment of a monitor.
// Errors: monitor.ErrSuperseded; *monitor.Error NotFound if the monitor is unknown or has
// ended; *monitor.Error InvalidConfig if the gateway rejects the request for good. After any
// other error a later call may succeed.
func (c *Client) Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	path := "/internal/v1/monitors/" + url.PathEscape(string(id)) + "?generation=" + strconv.Itoa(generation)
	var assigned monitor.Assignment
	if err := c.exchange(ctx, http.MethodGet, path, nil, &assigned); err != nil {
		return monitor.Assignment{}, fmt.Errorf("request an assignment from the gateway: %w", err)
	}
	if assigned.ID != id {
		return monitor.Assignment{}, fmt.Errorf("request an assignment from the gateway: the response is for %.60q", assigned.ID)
	}
	if string(assigned.Snapshot) == "null" {
		assigned.Snapshot = nil
	}
	return assigned, nil
}
