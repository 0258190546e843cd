package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Report delivers one report and is idempotent. The gateway accepts at most 1000 events
// and 1 MiB in a report. Errors:
//
//   - monitor.ErrSuperseded.
//   - *monitor.Error NotFound: the monitor is unknown or has ended.
//   - *monitor.Error InvalidConfig, with the gateway's message: the gateway rejects this
//     report for good (HTTP 400 or 413).
//   - *monitor.Error Internal: the gateway has failed; a later call may succeed.
//   - Any other: the gateway did not answer; a later call may succeed.
func (c *Client) Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return monitor.Answer{}, fmt.Errorf("encode a report: %w", err)
	}
	var answer monitor.Answer
	if err := c.exchange(ctx, http.MethodPut, "/internal/v1/monitors/"+url.PathEscape(string(id))+"/status", raw, &answer); err != nil {
		return monitor.Answer{}, fmt.Errorf("report to the gateway: %w", err)
	}
	if answer.Order != monitor.Run && answer.Order != monitor.Stop {
		return monitor.Answer{}, fmt.Errorf("report to the gateway: the response has the unknown order %.40q", answer.Order)
	}
	return answer, nil
}
