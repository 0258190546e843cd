package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// AddEvidence uploads one file of a record, or a record without a file (section 16.2).
// The body is streamed. It is idempotent. Errors: those of Report, and *monitor.Error
// evidence.Conflict if the file differs from the stored one, or evidence.QuotaExceeded.
func (c *Client) AddEvidence(ctx context.Context, u evidence.Upload, body io.Reader) error {
	r := u.Record
	query := url.Values{
		"generation": {strconv.Itoa(u.Generation)}, "event_id": {r.EventID}, "condition": {string(r.Condition)}, "phase": {string(r.Phase)},
	}
	if u.Unclear {
		query.Set("unclear", "true")
	}
	if r.Note != "" {
		query.Set("note", r.Note)
	}
	path := "/internal/v1/monitors/" + url.PathEscape(string(r.MonitorID)) + "/evidence/" + url.PathEscape(string(r.ID))
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "", http.NoBody)
	if err != nil {
		return err
	}
	if f := u.File; f != nil {
		path += "/" + url.PathEscape(string(f.Variant))
		query.Set("sha256", f.Digest.String())
		query.Set("taken_at", f.TakenAt.UTC().Format(time.RFC3339Nano))
		for name, pixels := range map[string]int{"width": f.Width, "height": f.Height, "rendition_height": f.RenditionHeight} {
			if pixels > 0 {
				query.Set(name, strconv.Itoa(pixels))
			}
		}
		if f.Measure != nil {
			query.Set("measure", strconv.FormatFloat(*f.Measure, 'f', -1, 64))
		}
		req.Method, req.Body, req.ContentLength = http.MethodPost, io.NopCloser(body), f.Size
		req.Header.Set("Content-Type", f.Variant.MediaType())
	}
	if req.URL, err = url.Parse(c.base + path + "?" + query.Encode()); err != nil {
		return err
	}
	req.Host = req.URL.Host
	var stored struct{}
	if err := c.do(c.uploads, req, &stored); err != nil {
		return fmt.Errorf("upload evidence to the gateway: %w", err)
	}
	return nil
}
