package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// silenceHandlers answers the requests about silences (section 19.6).
type silenceHandlers struct {
	*responder

	service *routing.SilenceService
}

type silenceListBody struct {
	Silences []silenceBody `json:"silences"`
}

type silenceBody struct {
	SilenceID      string              `json:"silence_id"`
	Match          matchBody           `json:"match"`
	From           time.Time           `json:"from"`
	To             *time.Time          `json:"to"`
	UntilRecovered bool                `json:"until_recovered"`
	Window         *windowBody         `json:"window"`
	By             string              `json:"by"`
	Comment        string              `json:"comment"`
	State          notify.SilenceState `json:"state"`
	NextAt         *time.Time          `json:"next_at"`
	Owner          *string             `json:"owner"`
	Incidents      []string            `json:"incidents,omitempty"`
}

type windowBody struct {
	Weekdays []string `json:"weekdays"`
	Start    string   `json:"start"`
	End      string   `json:"end"`
	Timezone string   `json:"timezone"`
}

// weekday returns the name of a day in the API, such as mon.
func weekday(d time.Weekday) string { return strings.ToLower(d.String()[:3]) }

// weekdayNames are the names of the days from Sunday on, as time.Weekday counts them.
var weekdayNames = func() (names []string) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		names = append(names, weekday(d))
	}
	return names
}()

func (h silenceHandlers) silenceBody(s routing.SilenceWithState) silenceBody {
	body := silenceBody{
		SilenceID: s.ID, Match: newMatchBody(s.Match), From: h.localTime(s.StartsAt), To: h.localTimeOrNull(&s.EndsAt), UntilRecovered: s.UntilRecovered,
		By: s.CreatedBy, Comment: s.Comment, State: s.State, NextAt: h.localTimeOrNull(&s.NextAt), Owner: orNull(s.Owner), Incidents: s.Incidents,
	}
	if w := s.Window; w != nil {
		body.Window = &windowBody{[]string{}, w.Start, w.End, w.Timezone}
		for _, d := range w.Weekdays {
			body.Window.Weekdays = append(body.Window.Weekdays, weekday(d))
		}
	}
	return body
}

// list is GET /api/v1/silences.
func (h silenceHandlers) list(c *gin.Context) error {
	query, err := readQuery(c, "state")
	if err != nil {
		return err
	}
	state := notify.SilenceState(query.Get("state"))
	switch state {
	case notify.SilenceScheduled, notify.SilenceActive, notify.SilenceEnded:
	default:
		if query.Has("state") {
			return refusef(monitor.InvalidConfig, "state is %.40q; accepted are scheduled, active, ended", state)
		}
	}
	all, err := h.service.List(c.Request.Context(), state)
	if err != nil {
		return err
	}
	body := silenceListBody{make([]silenceBody, 0, len(all))}
	for _, s := range all {
		body.Silences = append(body.Silences, h.silenceBody(s))
	}
	h.write(c, http.StatusOK, body)
	return nil
}

func silenceID(c *gin.Context) (string, error) {
	return idOf(c, "silence_id", routing.SilenceNotFound, "silence")
}

// get is GET /api/v1/silences/{silence_id}.
func (h silenceHandlers) get(c *gin.Context) error {
	id, err := silenceID(c)
	if err != nil {
		return err
	}
	s, err := h.service.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, h.silenceBody(s))
	return nil
}

// readSilence reads the fields of a silence to create or to change. The service refuses
// what is wrong with them.
func readSilence(c *gin.Context, required ...string) (routing.SilenceChange, error) {
	o, err := readFields(c, "match", "from", "to", "until_recovered", "window", "by", "comment", "owner")
	if err != nil {
		return routing.SilenceChange{}, err
	}
	o.missing(required...)
	by := o.string("by")
	if by != nil {
		by = new(keyOfActor(c).Actor(*by))
	}
	change := routing.SilenceChange{
		Match: readMatch(o), StartsAt: o.timeOrNull("from"), EndsAt: o.timeOrNull("to"), UntilRecovered: o.flag("until_recovered"),
		CreatedBy: by, Comment: o.string("comment"), Owner: o.stringOrNull("owner"),
	}
	if change.NoWindow = string(o.fields["window"]) == "null"; !change.NoWindow {
		change.Window = readWindow(o)
	}
	change.FieldErrors = o.refused
	return change, nil
}

// readWindow reads the window of a silence; nil: it is missing or unreadable.
func readWindow(o *object) *notify.Window {
	inner := o.object("window", "weekdays", "start", "end", "timezone")
	if inner == nil {
		return nil
	}
	inner.missing("start", "end", "timezone")
	w := &notify.Window{}
	for name, into := range map[string]*string{"start": &w.Start, "end": &w.End, "timezone": &w.Timezone} {
		if text := inner.string(name); text != nil {
			*into = *text
		}
	}
	if days := value[[]string](inner, "weekdays", "an array of mon, tue, wed, thu, fri, sat, sun"); days != nil {
		for _, name := range *days {
			d := slices.Index(weekdayNames, name)
			if d < 0 {
				inner.refusef("weekdays", "window.weekdays has %.20q; accepted are mon, tue, wed, thu, fri, sat, sun", name)
				break
			}
			w.Weekdays = append(w.Weekdays, time.Weekday(d))
		}
	}
	o.adopt(inner)
	return w
}

// create is POST /api/v1/silences.
func (h silenceHandlers) create(c *gin.Context) error {
	required := []string{"match", "by"}
	key := keyOfActor(c)
	if !key.IsRoot() {
		required = required[:1]
	}
	change, err := readSilence(c, required...)
	if err != nil {
		return err
	}
	if change.CreatedBy == nil && !key.IsRoot() {
		change.CreatedBy = new(key.Actor(""))
	}
	s, err := h.service.Create(c.Request.Context(), change)
	if err != nil {
		return err
	}
	changed(c, s.ID)
	h.write(c, http.StatusCreated, h.silenceBody(s))
	return nil
}

// change is PATCH /api/v1/silences/{silence_id}.
func (h silenceHandlers) change(c *gin.Context) error {
	id, err := silenceID(c)
	if err != nil {
		return err
	}
	change, err := readSilence(c)
	if err != nil {
		return err
	}
	s, err := h.service.Change(c.Request.Context(), id, change)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, h.silenceBody(s))
	return nil
}

// end is DELETE /api/v1/silences/{silence_id}.
func (h silenceHandlers) end(c *gin.Context) error {
	id, err := silenceID(c)
	if err != nil {
		return err
	}
	s, err := h.service.End(c.Request.Context(), id)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, h.silenceBody(s))
	return nil
}
