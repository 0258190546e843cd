package httpapi

import (
	"encoding/json"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type channelBatchBody struct {
	DryRun     bool                     `json:"dry_run"`
	Registered int                      `json:"registered"` // in a dry run: would be registered
	Changed    int                      `json:"changed"`    // as of monitors
	Refused    int                      `json:"refused"`
	Results    []channelBatchResultBody `json:"results"`
}

type channelBatchResultBody struct {
	Index     int          `json:"index"` // place in the batch, from 0
	Channel   string       `json:"channel,omitempty"`
	ChannelID string       `json:"channel_id,omitempty"`
	Error     *errorDetail `json:"error,omitempty"`

	Changed *[]monitor.Difference `json:"changed,omitempty"` // of a channel that is registered already; nil: it is not
}

// batchOfChannels has no scheduled times: they come from the channel. Its jar stands beside config.
func batchOfChannels() batchForm {
	config := slices.DeleteFunc(configColumns(), func(name string) bool {
		return name == "cookie_jar" || name == "scheduled_start_time" || name == "scheduled_end_time"
	})
	return batchForm{"channels", []string{"channel", "callback_url", "cookie_jar"}, config}
}

// registerBatch is POST /api/v1/channels/batch, as that of monitors.
func (h channelHandlers) registerBatch(c *gin.Context) error {
	mode, err := readBatchMode(c)
	if err != nil {
		return err
	}
	raw, err := readBatch(c, batchOfChannels())
	if err != nil {
		return err
	}
	all := make([]channels.Registration, len(raw))
	for n, registration := range raw {
		all[n] = readChannelOfBatch(registration)
		all[n].Change.File = mode.file
	}
	results, err := h.service.RegisterBatch(c.Request.Context(), all, mode.dryRun, mode.update)
	body := channelBatchBody{DryRun: mode.dryRun, Results: make([]channelBatchResultBody, 0, len(all))}
	for n, r := range results {
		if r.Err != nil {
			refusal := h.callerError(c, r.Err)
			body.Refused++
			refused := channelBatchResultBody{Index: n, Channel: all[n].Address, Error: new(newErrorDetail(refusal))}
			if r.Registered {
				refused.ChannelID = r.Channel.ID
			}
			body.Results = append(body.Results, refused)
			continue
		}
		shown := channelBatchResultBody{Index: n, Channel: string(r.Channel.Address)}
		if !mode.dryRun || r.Registered {
			shown.ChannelID = r.Channel.ID
		}
		if r.Registered {
			shown.Changed = new(append([]monitor.Difference{}, r.Changed...))
		} else {
			body.Registered++
		}
		if len(r.Changed) > 0 {
			body.Changed++
		}
		if !r.Registered || len(r.Changed) > 0 {
			changedUnless(mode.dryRun, c, r.Channel.ID)
		}
		body.Results = append(body.Results, shown)
	}
	return h.reply(c, body, err)
}

// readChannelOfBatch reads a registration. One that cannot be read at all is refused alone.
func readChannelOfBatch(raw json.RawMessage) (r channels.Registration) {
	o, err := readObject(raw, "", append([]string{"channel"}, channelFields...)...)
	if err == nil {
		r.Address, r.Change, err = templateOf(o, true)
	}
	if err != nil {
		r.Change.Unreadable = []error{err}
	}
	return r
}
