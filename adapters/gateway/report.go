package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type reportBody struct {
	Status       monitor.Status       `json:"status,omitempty"`
	Health       healthBody           `json:"health,omitzero"`
	Visibility   *visibilityBody      `json:"visibility,omitempty"`
	Statistics   monitor.Statistics   `json:"statistics,omitzero"`
	StreamStatus monitor.StreamStatus `json:"stream_status,omitempty"`
	Events       []event.Event        `json:"events,omitempty"`
	Signals      []monitor.Signal     `json:"signals,omitempty"`
	Minutes      []monitor.Minute     `json:"minutes,omitempty"`
	Snapshot     json.RawMessage      `json:"snapshot,omitempty"`
	Generation   int                  `json:"generation,omitempty"`
	At           time.Time            `json:"at,omitzero"`
	SentAt       time.Time            `json:"sent_at,omitzero"`
}

type healthBody struct {
	Video       monitor.TrackHealth `json:"video,omitempty"`
	Audio       monitor.TrackHealth `json:"audio,omitempty"`
	LastCheckAt time.Time           `json:"last_check_at,omitzero"`
}

type visibilityBody struct {
	LastError      string         `json:"last_error,omitempty"`
	BlindSince     time.Time      `json:"blind_since,omitzero"`
	LastObservedAt time.Time      `json:"last_observed_at,omitzero"`
	Unseen         monitor.Unseen `json:"unseen,omitzero"`
}

type answerBody struct {
	Order           monitor.Order `json:"order"`
	Revision        int           `json:"revision"`
	ThumbnailWanted bool          `json:"thumbnail_wanted,omitempty"`
}

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
	raw, err := json.Marshal(reportBody{
		Status:       r.Status,
		Health:       healthBody(r.Health),
		Visibility:   (*visibilityBody)(r.Visibility),
		Statistics:   r.Statistics,
		StreamStatus: r.StreamStatus,
		Events:       r.Events,
		Signals:      r.Signals,
		Minutes:      r.Minutes,
		Snapshot:     r.Snapshot,
		Generation:   r.Generation,
		At:           r.At,
		SentAt:       r.SentAt,
	})
	if err != nil {
		return monitor.Answer{}, fmt.Errorf("encode a report: %w", err)
	}
	var body answerBody
	if err := c.exchange(ctx, http.MethodPut, "/internal/v1/monitors/"+url.PathEscape(string(id))+"/status", raw, &body); err != nil {
		return monitor.Answer{}, fmt.Errorf("report to the gateway: %w", err)
	}
	if body.Order != monitor.Run && body.Order != monitor.Stop {
		return monitor.Answer{}, fmt.Errorf("report to the gateway: the response has the unknown order %.40q", body.Order)
	}
	return monitor.Answer(body), nil
}
