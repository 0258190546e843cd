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

// dutyHandlers answers the requests about who is on duty (section 19.10).
type dutyHandlers struct {
	*responder

	service *routing.DutyService
}

type dutyBody struct {
	OnDuty     []string       `json:"on_duty"`
	HandoverAt *time.Time     `json:"handover_at"`
	Next       []string       `json:"next"`
	People     []personBody   `json:"people"`
	Overrides  []overrideBody `json:"overrides"`
	Owner      *string        `json:"owner"`
}

type personBody struct {
	notify.Person

	DestinationID *string `json:"destination_id"`
}

type overrideBody struct {
	notify.Override

	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

func (h dutyHandlers) dutyBody(d routing.DutyNow) dutyBody {
	name := func(p notify.Person) string { return p.Name }
	return dutyBody{
		each(d.OnDuty, name), h.localTimeOrNull(&d.HandoverAt), each(d.Next, name),
		each(d.People, func(p notify.Person) personBody { return personBody{p, wire.OrNull(p.DestinationID)} }),
		each(d.Overrides, func(o notify.Override) overrideBody {
			return overrideBody{o, h.localTime(o.StartsAt), h.localTime(o.EndsAt)}
		}), wire.OrNull(d.Owner),
	}
}

// get is GET /api/v1/duty.
func (h dutyHandlers) get(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	d, err := h.service.Get(c.Request.Context())
	return h.reply(c, h.dutyBody(d), err)
}

// change is PATCH /api/v1/duty.
func (h dutyHandlers) change(c *gin.Context) error {
	o, err := readFields(c, "people", "owner")
	if err != nil {
		return err
	}
	change := routing.DutyChange{People: readPeople(o), Owner: o.stringOrNull("owner")}
	change.Unreadable = o.refused
	d, err := h.service.Change(c.Request.Context(), change)
	return h.reply(c, h.dutyBody(d), err)
}

// readPeople reads the people of a weekly plan; nil: they are missing or unreadable.
func readPeople(o *object) *[]notify.Person {
	people := []notify.Person{}
	given := o.objects("people", func(inner *object) {
		inner.missing("name", "destination_id")
		p := notify.Person{Windows: []notify.Window{}}
		inner.text("name", &p.Name)
		if inner.text("destination_id", &p.DestinationID); p.DestinationID != "" && !monitor.IsUUID(p.DestinationID) {
			inner.refuse("destination_id", "the id of a destination")
		}
		if windows := readWindows(inner); windows != nil {
			p.Windows = *windows
		}
		people = append(people, p)
	}, "name", "destination_id", "windows")
	if !given {
		return nil
	}
	return &people
}

// override is POST /api/v1/duty/overrides.
func (h dutyHandlers) override(c *gin.Context) error {
	key := keyOfActor(c)
	o, err := readFields(c, "person", "from", "to", "by")
	if err != nil {
		return err
	}
	if o.missing("person", "to"); key.IsRoot() {
		o.missing("by")
	}
	var override notify.Override
	var by string
	o.text("person", &override.Person)
	o.text("by", &by)
	override.CreatedBy = key.Actor(by)
	for field, into := range map[string]*time.Time{"from": &override.StartsAt, "to": &override.EndsAt} {
		if at := o.timeOrNull(field); at != nil {
			*into = *at
		}
	}
	d, id, err := h.service.Override(c.Request.Context(), override, o.refused)
	if err != nil {
		return err
	}
	changed(c, id)
	h.write(c, http.StatusCreated, h.dutyBody(d))
	return nil
}

// endOverride is DELETE /api/v1/duty/overrides/{override_id}.
func (h dutyHandlers) endOverride(c *gin.Context, id string) error {
	if err := h.service.EndOverride(c.Request.Context(), id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// readWindows reads the windows of a route or a person; nil: they are missing or unreadable.
func readWindows(o *object) *[]notify.Window {
	windows := []notify.Window{}
	if !o.objects("windows", func(inner *object) { windows = append(windows, windowOf(inner)) }, windowFields...) {
		return nil
	}
	return &windows
}
