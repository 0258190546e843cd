package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// ServiceInfo describes the gateway to people (section 17.4). It has no secret.
type ServiceInfo struct {
	Version       string
	WorkerRuntime string
	Limits        ServiceLimits
	Retention     ServiceRetention

	// Egress returns the addresses of section 10.3; nil: this gateway chooses none. It may be nil.
	Egress func() []egress.Status

	// BlindSpot returns what no worker can see, of all gateways; nil: nothing, or the database does not tell. It may be nil.
	BlindSpot func(context.Context) *monitor.BlindSpot

	// YouTubeAPI returns the use of the YouTube Data API by all gateways; nil: no key is set, or the database does not tell. It may be nil.
	YouTubeAPI func(context.Context) *officialstate.Status

	// TwitchAPI returns how the API of Twitch is asked by all gateways; nil: there are no credentials, or the database does not tell. It may be nil.
	TwitchAPI func(context.Context) *officialstate.Rounds

	// EventSub returns what Twitch pushes to all gateways; nil: there are no credentials, or the database does not tell. It may be nil.
	EventSub func(context.Context) *eventsub.Status

	// Tools returns the tools of this gateway, by name. It may run them, within ctx.
	Tools func(ctx context.Context) map[string]ToolInfo
}

// ServiceLimits are limits of registrations and requests. 0 requests: no limit.
type ServiceLimits struct {
	MaxMonitors      int   `json:"max_monitors"`
	MaxBatch         int   `json:"max_batch"`
	MaxMetadataBytes int   `json:"max_metadata_bytes"`
	CreatePerMin     int   `json:"create_per_min"`
	QueryPerMin      int   `json:"query_per_min"`
	ScheduleLeadSec  int64 `json:"schedule_lead_sec"`
}

// ServiceRetention says how long data are kept, in seconds.
type ServiceRetention struct {
	EventsSec             int64 `json:"events_sec"`
	HistorySec            int64 `json:"history_sec"`
	FeedSec               int64 `json:"feed_sec"`
	EvidenceSec           int64 `json:"evidence_sec"`
	EvidenceQuarantineSec int64 `json:"evidence_quarantine_sec"`
}

// ToolInfo is one tool of this gateway.
type ToolInfo struct {
	Version  *string `json:"version"`  // nil: it does not run
	AgeDays  *int    `json:"age_days"` // since its release; nil: the version does not say it
	Outdated bool    `json:"outdated"` // it is so old that a source may have changed since
	Error    *string `json:"error"`
}

type serviceBody struct {
	Version       string                `json:"version"`
	Timezone      string                `json:"timezone"`
	WorkerRuntime string                `json:"worker_runtime"`
	Tools         map[string]ToolInfo   `json:"tools"`
	Limits        ServiceLimits         `json:"limits"`
	Retention     ServiceRetention      `json:"retention"`
	Egress        []egress.Status       `json:"egress"`
	YouTubeAPI    *officialstate.Status `json:"youtube_api"`
	TwitchAPI     *officialstate.Rounds `json:"twitch_api"`
	EventSub      *eventsub.Status      `json:"eventsub"`
	Unauthorized  int64                 `json:"unauthorized"`
	BlindSpot     *monitor.BlindSpot    `json:"blind_spot"`
	Settings      []settingBody         `json:"settings"`
	Presets       []presetBody          `json:"presets"`
	Sources       []sourceBody          `json:"sources"`
}

type sourceBody struct {
	Name   monitor.SourceName `json:"name"`
	Title  string             `json:"title"`
	Prefix string             `json:"prefix"`
	Takes  []string           `json:"takes"`
}

// newSourceBody has the fields of config that some sources take and others refuse.
func newSourceBody(s monitor.Source) sourceBody {
	takes := []string{}
	for field, taken := range map[string]bool{
		"http_headers": s.TakesHeaders, "cookie_jar": len(s.Login) > 0 || s.TakesToken, "token_url": s.TakesToken, "copy_query": s.TakesToken,
	} {
		if taken {
			takes = append(takes, field)
		}
	}
	slices.Sort(takes)
	return sourceBody{s.Name, s.Title, s.Prefix, takes}
}

type settingBody struct {
	Field   string  `json:"field"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Default float64 `json:"default"`
	Whole   bool    `json:"whole"`
	Help    string  `json:"help"`
}

func newSettingBody(s detector.Setting) settingBody {
	return settingBody{s.Field, s.Min, s.Max, s.Default, s.Whole, s.Help}
}

// toolsTimeout bounds the wait for the versions of the tools.
const toolsTimeout = 8 * time.Second

// serviceHandlers answers the request about the gateway itself.
type serviceHandlers struct {
	*responder

	info *ServiceInfo
}

// read is GET /api/v1/service (section 17.4).
func (h serviceHandlers) read(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	body := serviceBody{
		Version: h.info.Version, Timezone: h.zone.String(), WorkerRuntime: h.info.WorkerRuntime, Tools: map[string]ToolInfo{},
		Limits: h.info.Limits, Retention: h.info.Retention, Unauthorized: h.unauthorized.Load(),
	}
	body.Limits.MaxBatch, body.Limits.MaxMetadataBytes = monitors.MaxBatch, monitor.MaxMetadata
	if h.info.Egress != nil {
		body.Egress = h.info.Egress()
	}
	if h.info.BlindSpot != nil {
		if body.BlindSpot = h.info.BlindSpot(c.Request.Context()); body.BlindSpot != nil {
			body.BlindSpot.Since = h.localTime(body.BlindSpot.Since)
		}
	}
	if h.info.YouTubeAPI != nil {
		if s := h.info.YouTubeAPI(c.Request.Context()); s != nil {
			s.ResetsAt, s.AskedAt, s.NextAt = h.localTime(s.ResetsAt), h.localTimeOrNull(s.AskedAt), h.localTimeOrNull(s.NextAt)
			body.YouTubeAPI = s
		}
	}
	if h.info.TwitchAPI != nil {
		if r := h.info.TwitchAPI(c.Request.Context()); r != nil {
			r.AskedAt, r.NextAt = h.localTimeOrNull(r.AskedAt), h.localTimeOrNull(r.NextAt)
			body.TwitchAPI = r
		}
	}
	if h.info.EventSub != nil {
		if e := h.info.EventSub(c.Request.Context()); e != nil {
			e.ConnectedAt, e.MessageAt = h.localTimeOrNull(e.ConnectedAt), h.localTimeOrNull(e.MessageAt)
			body.EventSub = e
		}
	}
	if h.info.Tools != nil {
		ctx, cancel := context.WithTimeout(c.Request.Context(), toolsTimeout)
		defer cancel()
		body.Tools = h.info.Tools(ctx)
	}
	for _, s := range monitor.Settings() {
		body.Settings = append(body.Settings, newSettingBody(s))
	}
	for _, s := range monitor.Sources {
		body.Sources = append(body.Sources, newSourceBody(s))
	}
	var err error
	if body.Presets, err = presetBodies(); err != nil {
		return err
	}
	h.write(c, http.StatusOK, body)
	return nil
}
