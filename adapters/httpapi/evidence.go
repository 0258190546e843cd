package httpapi

import (
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// evidenceHandlers answers the requests about evidence (section 16.2).
type evidenceHandlers struct {
	*responder

	service   *evidences.Service
	publicURL string // how links begin; "": they are paths
}

type evidenceBody struct {
	EvidenceID evidence.ID    `json:"evidence_id"`
	MonitorID  monitor.ID     `json:"monitor_id"`
	EventID    string         `json:"event_id"`
	IncidentID *string        `json:"incident_id"`
	Condition  trouble.Name   `json:"condition"`
	Phase      evidence.Phase `json:"phase"`
	Class      evidence.Class `json:"class"`
	Note       *string        `json:"note"`
	CreatedAt  time.Time      `json:"created_at"`
	ExpiresAt  *time.Time     `json:"expires_at"`
	Variants   []variantBody  `json:"variants"`
}

type variantBody struct {
	Variant   evidence.Variant `json:"variant"`
	MediaType string           `json:"media_type"`
	SHA256    string           `json:"sha256"`
	Size      int64            `json:"size"`
	Width     *int             `json:"width"`
	Height    *int             `json:"height"`
	TakenAt   time.Time        `json:"taken_at"`
	Measure   *float64         `json:"measure"`

	RenditionHeight *int `json:"rendition_height"`
}

func (h evidenceHandlers) body(r evidence.Record) evidenceBody {
	expiresAt := h.service.ExpiresAt(r)
	body := evidenceBody{
		r.ID, r.MonitorID, r.EventID, wire.OrNull(r.IncidentID), r.Condition, r.Phase, r.Class, wire.OrNull(r.Note),
		h.localTime(r.CreatedAt), h.localTimeOrNull(&expiresAt), make([]variantBody, 0, len(r.Files)),
	}
	for _, f := range r.Files {
		body.Variants = append(body.Variants, variantBody{
			f.Variant, f.Variant.MediaType(), f.Digest.String(), f.Size, wire.OrNull(f.Width), wire.OrNull(f.Height), h.localTime(f.TakenAt), f.Measure,
			wire.OrNull(f.RenditionHeight),
		})
	}
	return body
}

// get is GET /api/v1/evidence/{evidence_id} (section 16.2).
func (h evidenceHandlers) get(c *gin.Context, id evidence.ID) error {
	r, err := h.service.Evidence(c.Request.Context(), id)
	return h.reply(c, h.body(r), err)
}

type evidenceListBody struct {
	Evidence []evidenceBody `json:"evidence"`
	Next     *evidence.ID   `json:"next"`
}

// list is GET /api/v1/evidence (section 16.2).
func (h evidenceHandlers) list(c *gin.Context) error {
	query, err := readQuery(c, "monitor_id", "incident_id", "event_id", "before", "limit")
	if err != nil {
		return err
	}
	f, err := readEvidenceFilter(query)
	if err != nil {
		return err
	}
	records, err := h.service.List(c.Request.Context(), f)
	if err != nil {
		return err
	}
	body := evidenceListBody{Evidence: each(records, h.body)}
	if len(records) == f.Limit {
		body.Next = &records[len(records)-1].ID
	}
	h.write(c, http.StatusOK, body)
	return nil
}

func readEvidenceFilter(query url.Values) (f evidences.Filter, err error) {
	f = evidences.Filter{
		MonitorID: monitor.ID(query.Get("monitor_id")), IncidentID: query.Get("incident_id"), EventID: query.Get("event_id"),
		Before: evidence.ID(query.Get("before")),
	}
	if query.Has("monitor_id") {
		if _, err := monitor.ParseID(query.Get("monitor_id")); err != nil {
			return f, refusef(monitor.InvalidConfig, "monitor_id is %.60q; accepted is mon- and a UUIDv7 without hyphens", query.Get("monitor_id"))
		}
	}
	for _, name := range []string{"incident_id", "event_id", "before"} {
		if !query.Has(name) {
			continue
		}
		if !monitor.IsUUID(query.Get(name)) {
			return f, refusef(monitor.InvalidConfig, "%s is %.60q; accepted is a UUID", name, query.Get(name))
		}
	}
	f.Limit, err = readInt(query, "limit", evidences.DefaultPage)
	return f, err
}

// setClass is POST /api/v1/evidence/{evidence_id}/class (section 16.2).
func (h evidenceHandlers) setClass(c *gin.Context, id evidence.ID) error {
	body, err := readFields(c, "class")
	if err != nil {
		return err
	}
	var name string
	body.text("class", &name)
	if err := body.err(); err != nil {
		return err
	}
	class, err := evidence.ParseClass(name)
	if err != nil {
		return err
	}
	r, err := h.service.SetEvidenceClass(c.Request.Context(), id, class)
	return h.reply(c, h.body(r), err)
}
