package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// Adviser asks an HTTP endpoint for second opinions about alerts (section 19.9). It may be used concurrently.
type Adviser struct {
	url    string
	keys   Keys
	now    func() time.Time
	client *outbound.Client
}

var _ opinions.Adviser = (*Adviser)(nil)

// NewAdviser returns an adviser that asks the endpoint at url, signs with keys as a Sender does, and connects
// only where guard allows it.
func NewAdviser(url string, keys Keys, guard *Guard, cfg Config) *Adviser {
	client := cfg.client(opinions.AskTimeout)
	return &Adviser{url, keys, client.Now, outbound.NewClient(guard.outbound, client)}
}

// Close closes the idle connections. Call it when no Ask is under way.
func (a *Adviser) Close() { a.client.Close() }

// askedAlert is the JSON part of a question. The names of its pictures are those of the parts with their bytes.
type askedAlert struct {
	Schema     int             `json:"schema"`
	Test       bool            `json:"test,omitempty"` // nothing has happened
	AskedAt    time.Time       `json:"asked_at"`
	IncidentID string          `json:"incident_id"`
	Condition  incident.Name   `json:"condition"`
	Event      json.RawMessage `json:"event"`
	Pictures   []askedPicture  `json:"pictures"`
}

type askedPicture struct {
	Name      evidence.Variant `json:"name"`
	MediaType string           `json:"media_type"`
	TakenAt   time.Time        `json:"taken_at"`
	Width     int              `json:"width"`
	Height    int              `json:"height"`
	Measure   *float64         `json:"measure"` // mean luma 0 to 255, or dBFS; null: unknown

	RenditionHeight int `json:"rendition_height"` // lines; 0: unknown
}

// Ask implements opinions.Adviser. It reads at most 64 KiB of the answer, for at most 1 s.
func (a *Adviser) Ask(ctx context.Context, q opinions.Question) incident.Opinion {
	req, err := a.request(ctx, q)
	if err != nil {
		return incident.NoOpinion("the question cannot be written: " + err.Error())
	}
	attempt, answer := a.client.Do(req, outbound.Redactor(append([]string{a.url}, a.keys...)...))
	if attempt.Status == 0 {
		return incident.NoOpinion(attempt.Error)
	}
	return incident.ReadOpinion(attempt.Status, answer)
}

func (a *Adviser) request(ctx context.Context, q opinions.Question) (*http.Request, error) {
	asked := askedAlert{opinions.Schema, q.Test, q.AskedAt.UTC(), q.IncidentID, q.Condition, q.Event, []askedPicture{}}
	parts := make([]outbound.FormPart, 1, 1+len(q.Pictures))
	for _, p := range q.Pictures {
		asked.Pictures = append(asked.Pictures, askedPicture{p.Variant, p.Variant.MediaType(), p.TakenAt, p.Width, p.Height, p.Measure, p.RenditionHeight})
		parts = append(parts, outbound.FormPart{
			Name: string(p.Variant), FileName: p.Variant.FileName(evidence.ID(q.EventID)), ContentType: p.Variant.MediaType(), Bytes: p.Bytes,
		})
	}
	parts[0] = outbound.FormPart{Name: "alert", JSON: asked}
	body, contentType, err := outbound.NewForm(parts)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Close = true // else a second answer to this question might be taken for that to the next, about another stream
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("X-Event-Id", q.EventID)
	req.Header.Set("X-Event-Type", q.EventType)
	return req, a.keys.sign(req.Header, q.EventID, body, a.now())
}
