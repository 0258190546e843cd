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
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// routeHandlers answers the requests about routes (section 19.2).
type routeHandlers struct {
	*responder

	service   *routing.RouteService
	explainer *routing.Explainer
}

// readMatch reads the match of a route or a silence; nil: it is missing or unreadable.
func readMatch(o *object) *notify.Match {
	if string(o.fields["match"]) == "null" {
		o.refuse("match", "an object")
		return nil
	}
	inner := o.object("match", "events", "conditions", "min_severity", "monitors", "metadata", "labels", "hints", "max_severity")
	if inner == nil {
		return nil
	}
	m := &notify.Match{}
	if list := value[[]event.Type](inner, "events", "an array of event types"); list != nil {
		m.Events = *list
	}
	if list := value[[]incident.Name](inner, "conditions", "an array of conditions"); list != nil {
		m.Conditions = *list
	}
	if list := value[[]monitor.HintKind](inner, "hints", "an array of kinds of hints"); list != nil {
		m.Hints = *list
	}
	if list := value[[]monitor.ID](inner, "monitors", "an array of the ids of monitors"); list != nil {
		m.Monitors = *list
	}
	if severity, given := inner.number(monitor.Setting{Field: "min_severity", Whole: true, Min: 0, Max: incident.MaxSeverity}); given {
		m.MinSeverity = int(severity)
	}
	if severity, given := inner.number(monitor.Setting{Field: "max_severity", Whole: true, Min: 0, Max: incident.MaxSeverity}); given {
		m.MaxSeverity = new(int(severity))
	}
	m.Metadata, m.Labels = readTexts(inner, "metadata"), readTexts(inner, "labels")
	return m
}

// readTexts reads an object of strings of a match; nil: it is missing.
func readTexts(match *object, name string) map[string]string {
	given := match.values(name)
	if given == nil {
		return nil
	}
	texts := map[string]string{}
	for of, wanted := range given {
		if wanted == nil {
			match.refusef(name, "match.%s.%.60s is null; accepted is a string", name, of)
			continue
		}
		texts[of] = *wanted
	}
	return texts
}

type routeListBody struct {
	Routes []routeBody `json:"routes"`
}

type routeBody struct {
	notify.Route

	Owner *string `json:"owner"`
}

func newRouteBody(r notify.Route) routeBody { return routeBody{r, wire.OrNull(r.Owner)} }

// list is GET /api/v1/routes.
func (h routeHandlers) list(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	all, err := h.service.Routes(c.Request.Context())
	return h.reply(c, routeListBody{each(all, newRouteBody)}, err)
}

// get is GET /api/v1/routes/{route_id}.
func (h routeHandlers) get(c *gin.Context, id string) error {
	r, err := h.service.Route(c.Request.Context(), id)
	return h.reply(c, newRouteBody(r), err)
}

// readRoute reads the fields of a route to create or to change. The service refuses what
// is wrong with them.
func readRoute(c *gin.Context, required ...string) (routing.RouteChange, error) {
	o, err := readFields(c, "name", "match", "windows", "destinations", "on_duty", "delay_sec", "repeat_sec", "continue", "owner")
	if err != nil {
		return routing.RouteChange{}, err
	}
	o.missing(required...)
	change := routing.RouteChange{
		Name: o.string("name"), Match: readMatch(o), Windows: readWindows(o), Destinations: readIDs(o, "destinations"), OnDuty: o.flag("on_duty"),
		DelaySec: o.seconds("delay_sec"), RepeatSec: o.seconds("repeat_sec"), Continue: o.flag("continue"), Owner: o.stringOrNull("owner"),
	}
	change.Unreadable = o.refused
	return change, nil
}

// readIDs reads a list of ids.
func readIDs(o *object, name string) *[]string {
	ids := value[[]string](o, name, "an array of ids")
	if ids == nil {
		return nil
	}
	for _, id := range *ids {
		if !monitor.IsUUID(id) {
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
	h.write(c, http.StatusCreated, newRouteBody(r))
	return nil
}

// change is PATCH /api/v1/routes/{route_id}.
func (h routeHandlers) change(c *gin.Context, id string) error {
	change, err := readRoute(c)
	if err != nil {
		return err
	}
	r, err := h.service.Change(c.Request.Context(), id, change)
	return h.reply(c, newRouteBody(r), err)
}

// delete is DELETE /api/v1/routes/{route_id}.
func (h routeHandlers) delete(c *gin.Context, id string) error {
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
	routes, err := h.service.OrderRoutes(c.Request.Context(), *ids)
	return h.reply(c, routeListBody{each(routes, newRouteBody)}, err)
}

// readQuestion reads what the routes are asked about.
func readQuestion(c *gin.Context) (q routing.Question, err error) {
	o, err := readFields(c, "event_id", "incident_id", "event_type", "conditions", "severity", "monitor_id", "channel_id", "metadata", "labels", "at")
	if err != nil {
		return q, err
	}
	if at := o.timeOrNull("at"); at != nil {
		q.At = *at
	}
	delete(o.fields, "at") // it goes with everything
	for _, stored := range []struct {
		name string
		into *string
	}{{"event_id", &q.EventID}, {"incident_id", &q.IncidentID}} {
		id := o.string(stored.name)
		switch {
		case id == nil:
		case !monitor.IsUUID(*id):
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
	if id := o.string("channel_id"); id != nil {
		if q.ChannelID = *id; !monitor.IsUUID(*id) {
			o.refuse("channel_id", "a UUID")
		}
	}
	if value[map[string]json.RawMessage](o, "metadata", "an object") != nil {
		q.Metadata = o.fields["metadata"]
	}
	q.Labels = monitor.Labels{}.With(readLabels(o))
	q.Unreadable = o.refused
	return q, nil
}

type explanationBody struct {
	Subject      subjectBody            `json:"subject"`
	Routes       []explainedRouteBody   `json:"routes"`
	Silences     []explainedSilenceBody `json:"silences"`
	Destinations []explainedTargetBody  `json:"destinations"`
	PausedUntil  *time.Time             `json:"paused_until"`
}

type subjectBody struct {
	EventID    *string           `json:"event_id"`
	EventType  *event.Type       `json:"event_type"`
	IncidentID *string           `json:"incident_id"`
	Conditions []incident.Name   `json:"conditions"`
	Severity   int               `json:"severity"`
	MonitorID  *monitor.ID       `json:"monitor_id"`
	ChannelID  *string           `json:"channel_id"`
	Metadata   map[string]string `json:"metadata"`
	Labels     monitor.Labels    `json:"labels"`
}

type explainedRouteBody struct {
	RouteID      string                     `json:"route_id"`
	Name         string                     `json:"name"`
	Result       notify.RouteResult         `json:"result"`
	Reasons      []notify.Reason            `json:"reasons"`
	Destinations []explainedDestinationBody `json:"destinations"`
}

type explainedDestinationBody struct {
	DestinationID string `json:"destination_id"`
	Name          string `json:"name"`
	DelaySec      int64  `json:"delay_sec"`
	Gets          string `json:"gets"`
	Enabled       bool   `json:"enabled"`

	Result  notify.RouteResult `json:"result"` // by what the destination gets
	Reasons []notify.Reason    `json:"reasons"`
}

type explainedSilenceBody struct {
	SilenceID string          `json:"silence_id"`
	Until     *time.Time      `json:"until"`
	Reasons   []notify.Reason `json:"reasons"`
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
	return h.reply(c, h.explanationBody(e), err)
}

func (h routeHandlers) explanationBody(e routing.Explanation) explanationBody {
	s := e.Subject
	body := explanationBody{
		subjectBody{wire.OrNull(s.EventID), wire.OrNull(s.EventType), wire.OrNull(s.IncidentID), append([]incident.Name{}, s.Conditions...), s.Severity, wire.OrNull(s.MonitorID), wire.OrNull(s.ChannelID), s.Metadata, s.Labels},
		[]explainedRouteBody{}, []explainedSilenceBody{}, []explainedTargetBody{}, nil,
	}
	if !e.PausedUntil.IsZero() {
		body.PausedUntil = h.localTimeOrNull(&e.PausedUntil)
	}
	if body.Subject.Metadata == nil {
		body.Subject.Metadata = map[string]string{}
	}
	for n, r := range e.Routes {
		route := explainedRouteBody{r.Route.ID, r.Route.Name, r.Result, append([]notify.Reason{}, r.Reasons...), []explainedDestinationBody{}}
		for _, id := range r.Destinations {
			d, known := e.Destinations[id]
			if !known {
				continue
			}
			delay := r.Route.DelaySec
			if d.GetsEvents() {
				delay = 0
			}
			found := e.For(n, d)
			route.Destinations = append(route.Destinations, explainedDestinationBody{d.ID, d.Name, delay, payloadKind(d.GetsEvents()), d.Active(), found.Result, append([]notify.Reason{}, found.Reasons...)})
		}
		body.Routes = append(body.Routes, route)
	}
	for _, silence := range e.Silences {
		shown := explainedSilenceBody{silence.Silence.ID, nil, append([]notify.Reason{}, silence.Reasons...)}
		if silence.Until.Before(notify.Forever) {
			shown.Until = h.localTimeOrNull(&silence.Until)
		}
		body.Silences = append(body.Silences, shown)
	}
	for _, t := range e.Targets {
		body.Destinations = append(body.Destinations, explainedTargetBody{t.Destination.ID, t.Destination.Name, t.Route.ID, t.Route.DelaySec, e.Silenced(t)})
	}
	return body
}
