package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/wire"
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
	routing.SilenceWithState

	From      time.Time  `json:"from"`
	To        *time.Time `json:"to"`
	SkipUntil *time.Time `json:"skip_until"`
	NextAt    *time.Time `json:"next_at"`
	Owner     *string    `json:"owner"`
}

func (h silenceHandlers) silenceBody(s routing.SilenceWithState) silenceBody {
	return silenceBody{s, h.localTime(s.StartsAt), h.localTimeOrNull(&s.EndsAt), h.localTimeOrNull(&s.SkipUntil), h.localTimeOrNull(&s.NextAt), wire.OrNull(s.Owner)}
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
	return h.reply(c, silenceListBody{each(all, h.silenceBody)}, err)
}

// get is GET /api/v1/silences/{silence_id}.
func (h silenceHandlers) get(c *gin.Context, id string) error {
	s, err := h.service.Get(c.Request.Context(), id)
	return h.reply(c, h.silenceBody(s), err)
}

// readSilence reads the fields of a silence to create or to change. The service refuses
// what is wrong with them.
func readSilence(c *gin.Context, required ...string) (routing.SilenceChange, error) {
	o, err := readFields(c, "match", "from", "to", "until_recovered", "window", "skip_until", "by", "comment", "owner")
	if err != nil {
		return routing.SilenceChange{}, err
	}
	o.missing(required...)
	by := o.string("by")
	if by != nil {
		by = new(keyOfActor(c).Actor(*by))
	}
	change := routing.SilenceChange{
		Match: readMatch(o), StartsAt: o.timeOrNull("from"), EndsAt: o.timeOrNull("to"), UntilRecovered: o.flag("until_recovered"), SkipUntil: o.timeOrNull("skip_until"),
		CreatedBy: by, Comment: o.string("comment"), Owner: o.stringOrNull("owner"),
	}
	if change.NoWindow = string(o.fields["window"]) == "null"; !change.NoWindow {
		change.Window = readWindow(o)
	}
	change.Unreadable = o.refused
	return change, nil
}

// readWindow reads the window of a silence; nil: it is missing or unreadable.
func readWindow(o *object) *notify.Window {
	inner := o.object("window", windowFields...)
	if inner == nil {
		return nil
	}
	return new(windowOf(inner))
}

var windowFields = []string{"weekdays", "start", "end", "timezone"}

func windowOf(inner *object) notify.Window {
	inner.missing("start", "end", "timezone")
	w := notify.Window{Weekdays: []string{}}
	for _, field := range []struct {
		name string
		into *string
	}{{"start", &w.Start}, {"end", &w.End}, {"timezone", &w.Timezone}} {
		if text := inner.string(field.name); text != nil {
			*field.into = *text
		}
	}
	if days := value[[]string](inner, "weekdays", "an array of mon, tue, wed, thu, fri, sat, sun"); days != nil {
		w.Weekdays = *days
	}
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
func (h silenceHandlers) change(c *gin.Context, id string) error {
	change, err := readSilence(c)
	if err != nil {
		return err
	}
	s, err := h.service.Change(c.Request.Context(), id, change)
	return h.reply(c, h.silenceBody(s), err)
}

// end is DELETE /api/v1/silences/{silence_id}.
func (h silenceHandlers) end(c *gin.Context, id string) error {
	s, err := h.service.End(c.Request.Context(), id)
	return h.reply(c, h.silenceBody(s), err)
}
