package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var _ worker.ThumbnailStore = (*Client)(nil)

// AddThumbnail uploads a JPEG of what was just analysed (section 17.2). wanted reports
// whether a page still shows the monitor. Errors: those of Report.
func (c *Client) AddThumbnail(ctx context.Context, id monitor.ID, generation int, takenAt time.Time, jpeg []byte) (wanted bool, err error) {
	query := url.Values{"generation": {strconv.Itoa(generation)}, "taken_at": {takenAt.UTC().Format(time.RFC3339Nano)}}
	address := c.base + "/internal/v1/monitors/" + url.PathEscape(string(id)) + "/thumbnail?" + query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(jpeg))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "image/jpeg")
	var body struct {
		Wanted bool `json:"thumbnail_wanted"`
	}
	if err := c.do(c.http, req, &body); err != nil {
		return false, fmt.Errorf("upload a thumbnail to the gateway: %w", err)
	}
	return body.Wanted, nil
}
