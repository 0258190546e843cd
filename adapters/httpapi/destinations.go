package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// destinationTestTimeout is the time limit of a test of a destination: one attempt, and as long
// for the database.
const destinationTestTimeout = 2 * delivery.SendTimeout

// destinationHandlers answers the requests about destinations (section 19.1).
type destinationHandlers struct {
	*responder

	service *routing.DestinationService
}

// payloadKind says what the destinations of a channel get.
func payloadKind(events bool) string {
	if events {
		return "events"
	}
	return "incidents"
}

type kindListBody struct {
	Kinds []kindBody `json:"kinds"`
}

type kindBody struct {
	Kind   notify.Kind `json:"kind"`
	Gets   string      `json:"gets"`
	Edits  bool        `json:"edits"`
	Fields []fieldBody `json:"fields"`
}

type fieldBody struct {
	Name     string `json:"name"`
	Secret   bool   `json:"secret"`
	Required bool   `json:"required"`
	Example  string `json:"example"`

	Words notify.FieldWords `json:"words"`
}

// kinds is GET /api/v1/destination-kinds.
func (h destinationHandlers) kinds(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	body := kindListBody{}
	for _, channel := range notify.Channels() {
		kind := kindBody{channel.Kind, payloadKind(channel.GetsEvents), channel.Edits, []fieldBody{}}
		for _, f := range channel.Fields {
			kind.Fields = append(kind.Fields, fieldBody{f.Name, f.Secret, f.Required, f.Example, f.Words})
		}
		body.Kinds = append(body.Kinds, kind)
	}
	h.write(c, http.StatusOK, body)
	return nil
}

type destinationListBody struct {
	Destinations []destinationBody `json:"destinations"`
}

type destinationBody struct {
	notify.Destination

	Secrets        []string   `json:"secrets"` // names
	Fallback       *string    `json:"fallback"`
	Enabled        bool       `json:"enabled"`
	DisabledReason *string    `json:"disabled_reason"`
	Owner          *string    `json:"owner"`
	Health         healthBody `json:"health"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
	Changed        *[]string  `json:"changed,omitempty"` // by a change; nil: there was none
}

type healthBody struct {
	State        string     `json:"state"`
	FailingSince *time.Time `json:"failing_since"`
	LastError    *string    `json:"last_error"`
	DeliveredAt  *time.Time `json:"delivered_at"`
	RetryAt      *time.Time `json:"retry_at"`
	Pending      int        `json:"pending"`
	Delivered24h [24]int    `json:"delivered_24h"`
	Failed24h    [24]int    `json:"failed_24h"`
}

// destinationBody shows a destination. It leaves the values of secrets out.
func (h destinationHandlers) destinationBody(d routing.DestinationRecord) destinationBody {
	body := destinationBody{
		Destination: d.Destination, Secrets: append([]string{}, slices.Sorted(maps.Keys(d.Secrets))...), Fallback: wire.OrNull(d.Fallback),
		Enabled: d.Active(), DisabledReason: wire.OrNull(d.DisabledReason), Owner: wire.OrNull(d.Owner),
		Health: healthBody{
			State: d.State(), FailingSince: h.localTimeOrNull(&d.FailingSince), LastError: wire.OrNull(d.LastError),
			DeliveredAt: h.localTimeOrNull(&d.DeliveredAt), RetryAt: h.localTimeOrNull(&d.CircuitOpenUntil),
			Pending: d.Traffic.Pending, Delivered24h: d.Traffic.Delivered, Failed24h: d.Traffic.Failed,
		},
		CreatedAt: h.localTime(d.CreatedAt), UpdatedAt: h.localTime(d.UpdatedAt),
	}
	if body.Config == nil {
		body.Config = map[string]string{}
	}
	if d.SecretsError != "" {
		body.Health.LastError = new("the secrets cannot be decrypted: " + d.SecretsError)
	}
	return body
}

// list is GET /api/v1/destinations.
func (h destinationHandlers) list(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	all, err := h.service.List(c.Request.Context())
	return h.reply(c, destinationListBody{each(all, h.destinationBody)}, err)
}

// get is GET /api/v1/destinations/{destination_id}.
func (h destinationHandlers) get(c *gin.Context, id string) error {
	d, err := h.service.Get(c.Request.Context(), id)
	return h.reply(c, h.destinationBody(d), err)
}

// readDestination reads the fields of a destination to create or to change. The service
// refuses what is wrong with them.
func readDestination(c *gin.Context, required ...string) (routing.DestinationChange, error) {
	o, err := readFields(c, "name", "kind", "language", "config", "secrets", "fallback", "enabled", "owner")
	if err != nil {
		return routing.DestinationChange{}, err
	}
	o.missing(required...)
	change := routing.DestinationChange{
		Name: o.string("name"), Config: o.values("config"), Secrets: o.values("secrets"),
		Fallback: o.stringOrNull("fallback"), Enabled: o.flag("enabled"), Owner: o.stringOrNull("owner"),
		Kind: (*notify.Kind)(o.string("kind")), Language: (*notify.Language)(o.string("language")),
	}
	if f := change.Fallback; f != nil && string(o.fields["fallback"]) != "null" && !monitor.IsUUID(*f) {
		o.refuse("fallback", "the id of a destination, or null")
		change.Fallback = nil
	}
	change.Unreadable = o.refused
	return change, nil
}

// create is POST /api/v1/destinations.
func (h destinationHandlers) create(c *gin.Context) error {
	change, err := readDestination(c, "name", "kind")
	if err != nil {
		return err
	}
	d, err := h.service.Create(c.Request.Context(), change)
	if err != nil {
		return err
	}
	changed(c, d.ID)
	h.write(c, http.StatusCreated, h.destinationBody(d))
	return nil
}

// change is PATCH /api/v1/destinations/{destination_id}.
func (h destinationHandlers) change(c *gin.Context, id string) error {
	dryRun, err := readDryRun(c)
	if err != nil {
		return err
	}
	change, err := readDestination(c)
	if err != nil {
		return err
	}
	d, changed, err := h.service.Change(c.Request.Context(), id, change, dryRun)
	body := h.destinationBody(d)
	body.Changed = &changed
	return h.reply(c, body, err)
}

type deletedDestinationBody struct {
	DestinationID string  `json:"destination_id"`
	Warning       *string `json:"warning"`
}

// delete is DELETE /api/v1/destinations/{destination_id}.
func (h destinationHandlers) delete(c *gin.Context, id string) error {
	emptied, err := h.service.Delete(c.Request.Context(), id)
	return h.reply(c, deletedDestinationBody{id, wire.OrNull(emptiedWarning(emptied))}, err)
}

// emptiedWarning names the routes that a deletion has emptied; empty: none.
func emptiedWarning(routes []string) string {
	if len(routes) == 0 {
		return ""
	}
	return "these routes have no destination any more: " + strings.Join(routes, ", ")
}

type destinationTestBody struct {
	Delivered bool            `json:"delivered"`
	Attempt   sentAttemptBody `json:"attempt"`
	Note      *string         `json:"note"`
}

// test is POST /api/v1/destinations/{destination_id}/test.
func (h destinationHandlers) test(c *gin.Context, id string) error {
	o, err := readFields(c, "example")
	if err != nil {
		return err
	}
	example := notify.Opened
	if given := o.string("example"); given != nil {
		example = notify.MessageKind(*given)
	}
	if err := o.err(); err != nil {
		return err
	}
	r, err := h.service.Test(c.Request.Context(), id, example)
	return h.reply(c, destinationTestBody{r.Error == "", h.sentAttempt(r.Attempt), wire.OrNull(r.Note)}, err)
}
