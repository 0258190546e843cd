package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// incidentHandlers answers the requests about incidents (section 16.1).
type incidentHandlers struct {
	*responder

	service *incidents.Service
}

type incidentBody struct {
	feed.Incident

	StreamURL monitor.StreamURL `json:"stream_url"`
	Labels    monitor.Labels    `json:"labels"`
	QuietSec  int64             `json:"quiet_sec"`
	UpdatedAt time.Time         `json:"updated_at"`

	Log   []incidentLineBody `json:"log,omitzero"`    // nil: a list leaves it out
	Hints []monitor.Hint     `json:"hints,omitempty"` // of its time
}

func (h incidentHandlers) body(i incidents.Incident) incidentBody {
	return incidentBody{
		Incident: feed.NewIncidentIn(i.MonitorID, i.Incident, h.zone), StreamURL: i.StreamURL, Labels: i.Labels, QuietSec: int64(i.Quiet / time.Second), UpdatedAt: h.localTime(i.UpdatedAt),
	}
}

type incidentListBody struct {
	Incidents []incidentBody `json:"incidents"`
	Next      *string        `json:"next"`
}

// list is GET /api/v1/incidents.
func (h incidentHandlers) list(c *gin.Context) error {
	query, err := readQuery(c, "state", "condition", "severity", "monitor_id", labelParameter, "from", "to", "after", "limit")
	if err != nil {
		return err
	}
	f, wrong := readIncidentFilter(query)
	if err := monitor.Join(append(wrong, f.Check())...); err != nil {
		return err
	}
	page, next, err := h.service.List(c.Request.Context(), f)
	if err != nil {
		return err
	}
	body := incidentListBody{Incidents: each(page, h.body)}
	body.Next = incidentCursor.encodeSeq(next)
	h.write(c, http.StatusOK, body)
	return nil
}

// readIncidentFilter reads the filters, and returns an error for each that cannot be
// read. incidents.Filter.Check checks the others.
func readIncidentFilter(query url.Values) (f incidents.Filter, wrong []error) {
	f = incidents.Filter{State: incident.State(query.Get("state")), Condition: incident.Name(query.Get("condition")), Limit: incidents.DefaultPage}
	refuse := func(name, accepted string) {
		wrong = append(wrong, refusef(monitor.InvalidConfig, "%s is %.60q; accepted is %s", name, query.Get(name), accepted))
	}
	if query.Has("monitor_id") {
		id, err := monitor.ParseID(query.Get("monitor_id"))
		if f.MonitorID = id; err != nil {
			refuse("monitor_id", "mon- and a UUIDv7 without hyphens")
		}
	}
	for name, into := range map[string]*int{"severity": &f.MinSeverity, "limit": &f.Limit} {
		if !query.Has(name) {
			continue
		}
		n, err := strconv.Atoi(query.Get(name))
		if err != nil {
			refuse(name, "a whole number")
			continue
		}
		*into = n
	}
	for name, into := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if !query.Has(name) {
			continue
		}
		at, ok := parseTimestamp(json.RawMessage(strconv.Quote(query.Get(name))))
		if !ok {
			refuse(name, "an ISO 8601 time with an offset, such as 2024-01-15T20:00:00Z; write a + as %2B")
		}
		*into = at
	}
	for _, name := range []string{"state", "condition"} {
		if query.Has(name) && query.Get(name) == "" {
			refuse(name, "a value, or to leave it out")
		}
	}
	before, err := incidentCursor.readSeq(query, "after")
	labels, labelErr := readLabelFilter(query)
	f.Before, f.Labels = before, labels
	return f, append(wrong, err, labelErr)
}

type incidentLineBody struct {
	incidentEntryBody

	Severity *int             `json:"severity"`
	Verdict  incident.Verdict `json:"verdict,omitempty"`
}

type incidentEntryBody struct {
	Kind          incident.EntryKind `json:"kind"`
	At            time.Time          `json:"at"`
	By            *string            `json:"by"`
	Text          *string            `json:"text"`
	FalsePositive *bool              `json:"false_positive"`
}

func (h incidentHandlers) entry(e incident.Entry) incidentEntryBody {
	return incidentEntryBody{e.Kind, h.localTime(e.At), wire.OrNull(e.By), wire.OrNull(e.Text), e.FalsePositive}
}

func (h incidentHandlers) line(e incident.Entry) incidentLineBody {
	line := incidentLineBody{incidentEntryBody: h.entry(e), Verdict: e.Verdict}
	if e.Kind == incident.SeverityRaised {
		line.Severity = &e.Severity
	}
	return line
}

// get is GET /api/v1/incidents/{incident_id}.
func (h incidentHandlers) get(c *gin.Context) error {
	i, log, err := h.service.Get(c.Request.Context(), c.Param("incident_id"))
	if err != nil {
		return err
	}
	body := h.body(i)
	body.Log, body.Hints = each(log, h.line), feed.NewHints(i.Hints, h.zone)
	h.write(c, http.StatusOK, body)
	return nil
}

type actionBody struct {
	IncidentID string `json:"incident_id"`
	OpID       string `json:"op_id"`
	incidentEntryBody
}

// acknowledge is POST /api/v1/incidents/{incident_id}/acknowledge.
func (h incidentHandlers) acknowledge(c *gin.Context) error { return h.act(c, incident.Acknowledged) }

// resolve is POST /api/v1/incidents/{incident_id}/resolve.
func (h incidentHandlers) resolve(c *gin.Context) error { return h.act(c, incident.WasResolved) }

// note is POST /api/v1/incidents/{incident_id}/notes.
func (h incidentHandlers) note(c *gin.Context) error { return h.act(c, incident.Noted, "text") }

// label is POST /api/v1/incidents/{incident_id}/label.
func (h incidentHandlers) label(c *gin.Context) error {
	return h.act(c, incident.Labelled, "false_positive")
}

// act does an action. Its body has op_id, by and the further fields.
func (h incidentHandlers) act(c *gin.Context, kind incident.EntryKind, fields ...string) error {
	body, err := readFields(c, append([]string{"op_id", "by"}, fields...)...)
	if err != nil {
		return err
	}
	action, err := readAction(body, kind, keyOfActor(c))
	if err != nil {
		return err
	}
	id := c.Param("incident_id")
	done, err := h.service.Act(c.Request.Context(), id, action)
	return h.reply(c, actionBody{id, action.OpID, h.entry(done)}, err)
}

// readAction reads an action of the holder of a key. Errors: *monitor.Error InvalidConfig that
// names every wrong field once.
func readAction(body *object, kind incident.EntryKind, key access.Key) (incidents.Action, error) {
	a := incidents.Action{Kind: kind}
	body.text("op_id", &a.OpID)
	body.text("by", &a.By)
	a.By = key.Actor(a.By)
	switch kind {
	case incident.Noted:
		body.text("text", &a.Text)
	case incident.Labelled:
		switch raw := string(body.fields["false_positive"]); raw {
		case "true", "false":
			is := raw == "true"
			a.FalsePositive = &is
		case "null":
		case "":
			body.refusef("false_positive", "false_positive is missing; accepted is true, false or null")
		default:
			body.refuse("false_positive", "true, false or null")
		}
	}
	return a, monitor.Join(monitor.NamedOnce(body.refused, a.Check())...)
}
