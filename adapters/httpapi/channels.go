package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// channelPreviewTimeout is the time limit of a preview of a channel.
const channelPreviewTimeout = channels.PreviewTimeout + 5*time.Second

// channelHandlers answers requests about channels whose streams are watched (section 20).
type channelHandlers struct {
	*responder

	service *channels.Service
}

type channelBody struct {
	ChannelID  string          `json:"channel_id"`
	ChannelURL channel.Address `json:"channel_url"`
	SourceID   *string         `json:"source_id"`
	Handle     *string         `json:"handle"`
	Title      *string         `json:"title"`
	Config     monitor.Config  `json:"config"`
	Metadata   json.RawMessage `json:"metadata"`
	Labels     monitor.Labels  `json:"labels"`
	CookieJar  *string         `json:"cookie_jar"`
	Owner      string          `json:"owner,omitempty"`
	NoCallback wire.NoCallback `json:"callback_url,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	StoppedAt  *time.Time      `json:"stopped_at"`
	Reading    readingBody     `json:"reading"`
	Counts     countsBody      `json:"counts"`

	Streams *[]foundStreamBody `json:"streams,omitempty"` // of one channel, not of a list
}

type readingBody struct {
	ReadAt          *time.Time           `json:"read_at"`
	By              *string              `json:"by"`
	NextAt          *time.Time           `json:"next_at"`
	Failures        int                  `json:"failures"`
	FailingSince    *time.Time           `json:"failing_since"`
	Failure         *channel.FailureKind `json:"failure"`
	LastError       *string              `json:"last_error"`
	UnreadableSince *time.Time           `json:"unreadable_since"`
}

type countsBody struct {
	Pending int `json:"pending"`
	Wanted  int `json:"wanted"`
	NoRoom  int `json:"no_room"`
	Watched int `json:"watched"`
	Skipped int `json:"skipped"`
	Over    int `json:"over"`
}

type foundStreamBody struct {
	StreamURL        monitor.StreamURL `json:"stream_url"`
	BroadcastID      *string           `json:"broadcast_id"`
	Title            *string           `json:"title"`
	State            channel.State     `json:"state"`
	MembersOnly      bool              `json:"members_only"`
	ScheduledStartAt *time.Time        `json:"scheduled_start_at"`
	FoundAt          time.Time         `json:"found_at"`
	SeenAt           time.Time         `json:"seen_at"`
	Standing         channel.Standing  `json:"standing"`
	Why              *channel.Why      `json:"why"`
	Detail           *string           `json:"detail"`
	MonitorID        *monitor.ID       `json:"monitor_id"`
	MonitorStatus    *monitor.Status   `json:"monitor_status"`
	Adopted          bool              `json:"adopted"`
}

// channelOf returns what every answer has of a channel.
func (h channelHandlers) channelOf(c channel.Channel) channelBody {
	r := c.Reading
	body := channelBody{
		ChannelID: c.ID, ChannelURL: c.Address, SourceID: wire.OrNull(c.SourceID), Handle: wire.OrNull(c.Handle), Title: wire.OrNull(c.Title),
		Config: c.Template.Config, Metadata: c.Template.Metadata, Labels: c.Template.Labels, CookieJar: wire.OrNull(c.Template.Jar), Owner: c.Owner, NoCallback: c.Template.CallbackURL == "",
		CreatedAt: h.localTime(c.CreatedAt), StoppedAt: h.localTimeOrNull(&c.StoppedAt),
		Reading: readingBody{
			h.localTimeOrNull(&r.ReadAt), wire.OrNull(r.By), h.localTimeOrNull(&r.NextAt), r.Failures, h.localTimeOrNull(&r.FailingSince),
			wire.OrNull(r.LastFailure), wire.OrNull(r.LastError), h.localTimeOrNull(&r.UnreadableSince),
		},
	}
	if !c.StoppedAt.IsZero() {
		body.Reading.NextAt = nil
	}
	return body
}

// oneBody returns a channel with its streams.
func (h channelHandlers) oneBody(c channel.Channel) channelBody {
	body := h.channelOf(c)
	streams, noRoom := make([]foundStreamBody, 0, len(c.Streams)), 0
	counts := map[channel.Standing]int{}
	for _, f := range c.Streams {
		counts[f.Standing]++
		if f.Why == channel.NoRoom {
			noRoom++
		}
		streams = append(streams, foundStreamBody{
			f.URL, wire.OrNull(f.Broadcast), wire.OrNull(f.Title), f.State, f.MembersOnly, h.localTimeOrNull(&f.ScheduledStart), h.localTime(f.FoundAt), h.localTime(f.SeenAt),
			f.Standing, wire.OrNull(f.Why), wire.OrNull(f.Detail), wire.OrNull(f.Monitor.ID), wire.OrNull(f.Monitor.Status), f.Monitor.Adopted,
		})
	}
	body.Streams, body.Counts = &streams, newCounts(counts, noRoom)
	return body
}

func newCounts(n map[channel.Standing]int, noRoom int) countsBody {
	return countsBody{n[channel.Pending], n[channel.Wanted], noRoom, n[channel.Watched], n[channel.Skipped], n[channel.Over]}
}

// readChannel reads the body of a registration, a preview or a change.
func readChannel(c *gin.Context, known ...string) (address string, ch channels.Change, err error) {
	o, err := readFields(c, append(known, channelFields...)...)
	if err != nil {
		return "", ch, err
	}
	return templateOf(o, false)
}

// channelFields are those of a registration and of a change.
var channelFields = []string{"callback_url", "config", "metadata", "labels", "cookie_jar", "owner"}

func templateOf(o *object, keepSamePreset bool) (address string, ch channels.Change, err error) {
	o.text("channel", &address)
	ch.CallbackURL, ch.Jar = o.callback(), o.stringOrNull("cookie_jar")
	ch.Metadata, ch.Labels, ch.Owner = o.fields["metadata"], readLabels(o), o.stringOrNull("owner")
	config, refused := readConfig(o, monitor.EndMonitor)
	config.KeepSamePreset = keepSamePreset
	ch.Config, ch.Unreadable = config.Apply, refused
	return address, ch, nil
}

// register is POST /api/v1/channels.
func (h channelHandlers) register(c *gin.Context) error {
	address, change, err := readChannel(c, "channel")
	if err != nil {
		return err
	}
	registered, err := h.service.Register(c.Request.Context(), address, change)
	if err != nil {
		return err
	}
	changed(c, registered.ID)
	c.Header("Location", "/api/v1/channels/"+registered.ID)
	h.write(c, http.StatusCreated, h.oneBody(registered))
	return nil
}

type channelPreviewBody struct {
	ChannelURL *channel.Address     `json:"channel_url"`
	SourceID   *string              `json:"source_id"`
	Handle     *string              `json:"handle"`
	Title      *string              `json:"title"`
	Streams    *[]foundStreamBody   `json:"streams"`
	Failure    *channel.FailureKind `json:"failure"`
	Detail     *string              `json:"detail"`
	Problems   []problemBody        `json:"problems"`
}

// preview is POST /api/v1/channels/preview.
func (h channelHandlers) preview(c *gin.Context) error {
	address, change, err := readChannel(c, "channel")
	if err != nil {
		return err
	}
	p, err := h.service.Preview(c.Request.Context(), address, change)
	if err != nil {
		return err
	}
	one := h.oneBody(p.Channel)
	body := channelPreviewBody{
		ChannelURL: wire.OrNull(p.Channel.Address), SourceID: one.SourceID, Handle: one.Handle, Title: one.Title, Streams: one.Streams,
		Problems: make([]problemBody, 0, len(p.Problems)),
	}
	if p.Failure != nil {
		body.Failure, body.Detail = &p.Failure.Kind, wire.OrNull(p.Failure.Detail)
	}
	for _, problem := range p.Problems {
		body.Problems = append(body.Problems, newProblemBody(h.callerError(c, problem)))
	}
	h.write(c, http.StatusOK, body)
	return nil
}

type channelListBody struct {
	Channels   []channelBody  `json:"channels"`
	Pagination paginationBody `json:"pagination"`
}

// list is GET /api/v1/channels.
func (h channelHandlers) list(c *gin.Context) error {
	query, err := readQuery(c, "stopped", "limit", "offset")
	if err != nil {
		return err
	}
	stopped, err := readBool(query, "stopped", false)
	if err != nil {
		return err
	}
	limit, offset, err := page(query)
	if err != nil {
		return err
	}
	listed, total, err := h.service.List(c.Request.Context(), stopped, limit, offset)
	return h.reply(c, channelListBody{each(listed, func(l channels.Listed) channelBody {
		body := h.channelOf(l.Channel)
		body.Counts = newCounts(l.Standings, l.NoRoom)
		return body
	}), paginationBody{total, limit, offset}}, err)
}

// get is GET /api/v1/channels/{channel_id}.
func (h channelHandlers) get(c *gin.Context, id string) error {
	one, err := h.service.Get(c.Request.Context(), id)
	return h.reply(c, h.oneBody(one), err)
}

// change is PATCH /api/v1/channels/{channel_id}.
func (h channelHandlers) change(c *gin.Context, id string) error {
	_, change, err := readChannel(c)
	if err != nil {
		return err
	}
	one, err := h.service.Change(c.Request.Context(), id, change)
	return h.reply(c, h.oneBody(one), err)
}

// stop is DELETE /api/v1/channels/{channel_id}.
func (h channelHandlers) stop(c *gin.Context, id string) error {
	query, err := readQuery(c, "running", "release")
	if err != nil {
		return err
	}
	release, err := readBool(query, "release", false)
	if err != nil {
		return err
	}
	running := channels.OnRunning(query.Get("running"))
	if query.Has("running") && running != channels.KeepRunning && running != channels.StopRunning {
		return refusef(monitor.InvalidConfig, "running is %.40q; accepted are %s and %s", running, channels.KeepRunning, channels.StopRunning)
	}
	stop := h.service.Stop
	if release {
		stop = h.service.Release
	}
	one, err := stop(c.Request.Context(), id, running)
	return h.reply(c, h.oneBody(one), err)
}

type channelEventsBody struct {
	Events []json.RawMessage `json:"events"`
}

// events is GET /api/v1/channels/{channel_id}/events.
func (h channelHandlers) events(c *gin.Context, id string) error {
	query, err := readQuery(c, "limit")
	if err != nil {
		return err
	}
	limit, err := readInt(query, "limit", channels.DefaultPage)
	if err != nil {
		return err
	}
	all, err := h.service.Events(c.Request.Context(), id, limit)
	return h.reply(c, channelEventsBody{append([]json.RawMessage{}, all...)}, err)
}
