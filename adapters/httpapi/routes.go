package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Paths that the router would take for the id of a route.
const (
	routeOrderPath   = "/api/v1/routes/order"
	routeExplainPath = "/api/v1/routes/explain"
)

// routeHandlers answers the requests about routes (section 19.2).
type routeHandlers struct {
	*responder

	service   *routing.RouteService
	explainer *routing.Explainer
}

type matchBody struct {
	Events      []event.Type      `json:"events"`
	Conditions  []incident.Name   `json:"conditions"`
	MinSeverity int               `json:"min_severity"`
	Monitors    []monitor.ID      `json:"monitors"`
	Metadata    map[string]string `json:"metadata"`
}

func newMatchBody(m notify.Match) matchBody {
	body := matchBody{append([]event.Type{}, m.Events...), append([]incident.Name{}, m.Conditions...), m.MinSeverity, append([]monitor.ID{}, m.Monitors...), m.Metadata}
	if body.Metadata == nil {
		body.Metadata = map[string]string{}
	}
	return body
}

// readMatch reads the match of a route or a silence; nil: it is missing or unreadable.
func readMatch(o *object) *notify.Match {
	if string(o.fields["match"]) == "null" {
		o.refuse("match", "an object")
		return nil
	}
	inner := o.object("match", "events", "conditions", "min_severity", "monitors", "metadata")
	if inner == nil {
		return nil
	}
	defer o.adopt(inner)
	m := &notify.Match{}
	if list := value[[]event.Type](inner, "events", "an array of event types"); list != nil {
		m.Events = *list
	}
	if list := value[[]incident.Name](inner, "conditions", "an array of conditions"); list != nil {
		m.Conditions = *list
	}
	if list := value[[]monitor.ID](inner, "monitors", "an array of the ids of monitors"); list != nil {
		m.Monitors = *list
	}
	if severity, given := inner.number(monitor.Setting{Field: "min_severity", Whole: true, Min: 0, Max: incident.MaxSeverity}); given {
		m.MinSeverity = int(severity)
	}
	if metadata := inner.values("metadata"); metadata != nil {
		m.Metadata = map[string]string{}
		for path, wanted := range metadata {
			if wanted == nil {
				inner.refusef("metadata", "match.metadata.%.60s is null; accepted is a string", path)
				continue
			}
			m.Metadata[path] = *wanted
		}
	}
	return m
}

type routeListBody struct {
	Routes []routeBody `json:"routes"`
}

type routeBody struct {
	RouteID      string    `json:"route_id"`
	Name         string    `json:"name"`
	Match        matchBody `json:"match"`
	Destinations []string  `json:"destinations"`
	DelaySec     int64     `json:"delay_sec"`
	RepeatSec    int64     `json:"repeat_sec"`
	Continue     bool      `json:"continue"`
	Default      bool      `json:"default"`
	Owner        *string   `json:"owner"`
}

func newRouteBody(r notify.Route) routeBody {
	return routeBody{
		r.ID, r.Name, newMatchBody(r.Match), append([]string{}, r.Destinations...), int64(r.Delay / time.Second), int64(r.Repeat / time.Second),
		r.Continue, r.Default, orNull(r.Owner),
	}
}

func newRouteListBody(routes []routing.RouteRecord) routeListBody {
	body := routeListBody{make([]routeBody, 0, len(routes))}
	for _, r := range routes {
		body.Routes = append(body.Routes, newRouteBody(r.Route))
	}
	return body
}

// list is GET /api/v1/routes.
func (h routeHandlers) list(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	all, err := h.service.List(c.Request.Context())
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, newRouteListBody(all))
	return nil
}

func routeID(c *gin.Context) (string, error) {
	return idOf(c, "route_id", routing.RouteNotFound, "route")
}

// get is GET /api/v1/routes/{route_id}.
func (h routeHandlers) get(c *gin.Context) error {
	id, err := routeID(c)
	if err != nil {
		return err
	}
	r, err := h.service.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, newRouteBody(r.Route))
	return nil
}

// readRoute reads the fields of a route to create or to change. The service refuses what
// is wrong with them.
func readRoute(c *gin.Context, required ...string) (routing.RouteChange, error) {
	o, err := readFields(c, "name", "match", "destinations", "delay_sec", "repeat_sec", "continue", "owner")
	if err != nil {
		return routing.RouteChange{}, err
	}
	o.missing(required...)
	change := routing.RouteChange{
		Name: o.string("name"), Match: readMatch(o), Destinations: readIDs(o, "destinations"),
		Delay: o.seconds("delay_sec"), Repeat: o.seconds("repeat_sec"), Continue: o.flag("continue"), Owner: o.stringOrNull("owner"),
	}
	change.FieldErrors = o.refused
	return change, nil
}

// readIDs reads a list of ids.
func readIDs(o *object, name string) *[]string {
	ids := value[[]string](o, name, "an array of ids")
	if ids == nil {
		return nil
	}
	for _, id := range *ids {
		if !isUUID(id) {
			o.refusef(name, "%s has %.60q; accepted are ids", name, id)
			return nil
		}
	}
	return ids
}

// create is POST /api/v1/routes.
func (h routeHandlers) create(c *gin.Context) error {
	change, err := readRoute(c, "name")
	if err != nil {
		return err
	}
	r, err := h.service.Create(c.Request.Context(), change)
	if err != nil {
		return err
	}
	changed(c, r.ID)
	h.write(c, http.StatusCreated, newRouteBody(r.Route))
	return nil
}

// change is PATCH /api/v1/routes/{route_id}.
func (h routeHandlers) change(c *gin.Context) error {
	id, err := routeID(c)
	if err != nil {
		return err
	}
	change, err := readRoute(c)
	if err != nil {
		return err
	}
	r, err := h.service.Change(c.Request.Context(), id, change)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, newRouteBody(r.Route))
	return nil
}

// delete is DELETE /api/v1/routes/{route_id}.
func (h routeHandlers) delete(c *gin.Context) error {
	id, err := routeID(c)
	if err != nil {
		return err
	}
	if err := h.service.Delete(c.Request.Context(), id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// order is PUT /api/v1/routes/order.
func (h routeHandlers) order(c *gin.Context) error {
	o, err := readFields(c, "routes")
	if err != nil {
		return err
	}
	o.missing("routes")
	ids := readIDs(o, "routes")
	if err := o.err(); err != nil {
		return err
	}
	routes, err := h.service.Order(c.Request.Context(), *ids)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, newRouteListBody(routes))
	return nil
}

// readQuestion reads what the routes are asked about.
func readQuestion(c *gin.Context) (q routing.Question, err error) {
	o, err := readFields(c, "event_id", "incident_id", "event_type", "conditions", "severity", "monitor_id", "metadata")
	if err != nil {
		return q, err
	}
	for _, stored := range []struct {
		name string
		into *string
	}{{"event_id", &q.EventID}, {"incident_id", &q.IncidentID}} {
		id := o.string(stored.name)
		switch {
		case id == nil:
		case !isUUID(*id):
			o.refuse(stored.name, "a UUID")
		case len(o.fields) > 1:
			o.refusef(stored.name, "%s is given with other fields; accepted is event_id, incident_id, or a description", stored.name)
		default:
			*stored.into = *id
		}
	}
	if t := o.string("event_type"); t != nil {
		if q.EventType = event.Type(*t); *t == "" {
			o.refuse("event_type", "the type of an event, or to leave it out")
		}
	}
	if list := value[[]incident.Name](o, "conditions", "an array of conditions"); list != nil {
		q.Conditions = *list
	}
	if severity, given := o.number(monitor.Setting{Field: "severity", Whole: true, Min: 0, Max: incident.MaxSeverity}); given {
		q.Severity = int(severity)
	}
	if id := o.string("monitor_id"); id != nil {
		if q.MonitorID = monitor.ID(*id); *id == "" {
			o.refuse("monitor_id", "the id of a monitor, or to leave it out")
		}
	}
	if value[map[string]json.RawMessage](o, "metadata", "an object") != nil {
		q.Metadata = o.fields["metadata"]
	}
	q.FieldErrors = o.refused
	return q, nil
}

type explanationBody struct {
	Subject      subjectBody            `json:"subject"`
	Routes       []explainedRouteBody   `json:"routes"`
	Silences     []explainedSilenceBody `json:"silences"`
	Destinations []explainedTargetBody  `json:"destinations"`
}

type subjectBody struct {
	EventID    *string           `json:"event_id"`
	EventType  *event.Type       `json:"event_type"`
	IncidentID *string           `json:"incident_id"`
	Conditions []incident.Name   `json:"conditions"`
	Severity   int               `json:"severity"`
	MonitorID  *monitor.ID       `json:"monitor_id"`
	Metadata   map[string]string `json:"metadata"`
}

type explainedRouteBody struct {
	RouteID      string                     `json:"route_id"`
	Name         string                     `json:"name"`
	Result       notify.RouteResult         `json:"result"`
	Reasons      []reasonBody               `json:"reasons"`
	Destinations []explainedDestinationBody `json:"destinations"`
}

type reasonBody struct {
	Criterion string `json:"criterion"`
	Wanted    string `json:"wanted"`
	Got       string `json:"got"`
	OK        bool   `json:"ok"`
}

func newReasonBodies(reasons []notify.Reason) []reasonBody {
	bodies := make([]reasonBody, 0, len(reasons))
	for _, r := range reasons {
		bodies = append(bodies, reasonBody(r))
	}
	return bodies
}

type explainedDestinationBody struct {
	DestinationID string `json:"destination_id"`
	Name          string `json:"name"`
	DelaySec      int64  `json:"delay_sec"`
	Gets          string `json:"gets"`
	Enabled       bool   `json:"enabled"`
}

type explainedSilenceBody struct {
	SilenceID string       `json:"silence_id"`
	Until     *time.Time   `json:"until"`
	Reasons   []reasonBody `json:"reasons"`
}

type explainedTargetBody struct {
	DestinationID string `json:"destination_id"`
	Name          string `json:"name"`
	RouteID       string `json:"route_id"`
	DelaySec      int64  `json:"delay_sec"`
	Silenced      bool   `json:"silenced"`
}

// explain is POST /api/v1/routes/explain.
func (h routeHandlers) explain(c *gin.Context) error {
	question, err := readQuestion(c)
	if err != nil {
		return err
	}
	e, err := h.explainer.Explain(c.Request.Context(), question)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, h.explanationBody(e))
	return nil
}

func (h routeHandlers) explanationBody(e routing.Explanation) explanationBody {
	s := e.Subject
	body := explanationBody{
		subjectBody{orNull(s.EventID), orNull(s.EventType), orNull(s.IncidentID), append([]incident.Name{}, s.Conditions...), s.Severity, orNull(s.MonitorID), s.Metadata},
		[]explainedRouteBody{}, []explainedSilenceBody{}, []explainedTargetBody{},
	}
	if body.Subject.Metadata == nil {
		body.Subject.Metadata = map[string]string{}
	}
	for _, r := range e.Routes {
		route := explainedRouteBody{r.Route.ID, r.Route.Name, r.Result, newReasonBodies(r.Reasons), []explainedDestinationBody{}}
		for _, id := range r.Route.Destinations {
			d, known := e.Destinations[id]
			if !known {
				continue
			}
			delay := r.Route.Delay
			if d.GetsEvents() {
				delay = 0
			}
			route.Destinations = append(route.Destinations, explainedDestinationBody{d.ID, d.Name, int64(delay / time.Second), payloadKind(d.GetsEvents()), d.Active()})
		}
		body.Routes = append(body.Routes, route)
	}
	for _, silence := range e.Silences {
		shown := explainedSilenceBody{silence.Silence.ID, nil, newReasonBodies(silence.Reasons)}
		if silence.Until.Before(notify.Forever) {
			shown.Until = h.localTimeOrNull(&silence.Until)
		}
		body.Silences = append(body.Silences, shown)
	}
	for _, t := range e.Targets {
		body.Destinations = append(body.Destinations, explainedTargetBody{t.Destination.ID, t.Destination.Name, t.Route.ID, int64(t.Route.Delay / time.Second), e.Silenced(t)})
	}
	return body
}
