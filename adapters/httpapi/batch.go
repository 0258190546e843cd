package httpapi

import (
	"encoding/json"
	"mime"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxBatchBody is the largest batch in bytes: its registrations may have long metadata.
const maxBatchBody = 2 << 20

type batchBody struct {
	DryRun     bool              `json:"dry_run"`
	Registered int               `json:"registered"` // in a dry run: would be registered
	Changed    int               `json:"changed"`    // watched already, and changed; in a dry run: would be changed
	Refused    int               `json:"refused"`
	Results    []batchResultBody `json:"results"`
}

type batchResultBody struct {
	Index     int            `json:"index"` // place in the batch, from 0
	StreamURL string         `json:"stream_url,omitempty"`
	MonitorID monitor.ID     `json:"monitor_id,omitempty"`
	Status    monitor.Status `json:"status,omitempty"`
	LateBySec int64          `json:"late_by_sec,omitempty"`
	Error     *errorDetail   `json:"error,omitempty"`

	Changed *[]monitor.Difference `json:"changed,omitempty"` // of a stream that is watched already; nil: it is not
}

// registerBatch is POST /api/v1/monitors/batch (section 16.6): up to monitors.MaxBatch
// registrations as JSON or CSV. It counts as one request, and each registration has its
// own answer.
func (h registrationHandlers) registerBatch(c *gin.Context) error {
	if c.GetHeader(idempotencyHeader) != "" {
		return refusef(monitor.InvalidConfig, "%s is not accepted with a batch: when it is repeated, registered streams are refused as %s",
			idempotencyHeader, monitor.Duplicate)
	}
	mode, err := readBatchMode(c)
	if err != nil {
		return err
	}
	registrations, err := readBatch(c, batchOfMonitors())
	if err != nil {
		return err
	}
	requests := make([]monitors.Request, len(registrations))
	for i, registration := range registrations {
		requests[i] = readRequestOfBatch(registration, mode)
	}
	dryRun, carryOut := mode.dryRun, h.registrar.RegisterBatch
	if dryRun {
		carryOut = h.registrar.CheckBatch
	}
	results, err := carryOut(c.Request.Context(), requests, mode.owner())
	return h.reply(c, h.batchBody(c, dryRun, requests, results), err)
}

// readRequestOfBatch reads a registration. One that cannot be read at all is refused alone.
func readRequestOfBatch(registration json.RawMessage, mode batchMode) monitors.Request {
	r, err := readRegistration(registration)
	if err != nil {
		r.Unreadable = []error{err} // of the whole: nothing else is named
	}
	if mode.update && err == nil {
		change, err := readChange(registration, monitor.EndMonitor)
		change.Config.KeepSamePreset = true
		if change.File = mode.file; err == nil {
			r.Update = &change
		}
	}
	r.Owner = mode.owner()
	return r
}

// batchMode says what a batch does.
type batchMode struct {
	dryRun bool           // only says what would happen
	update bool           // changes what is watched or registered already
	file   *monitor.Owner // that the batch is of; nil: of none
}

// owner returns the name of the file; empty: none.
func (m batchMode) owner() string {
	if m.file == nil {
		return ""
	}
	return m.file.Name
}

func readBatchMode(c *gin.Context) (mode batchMode, err error) {
	query, err := readQuery(c, "dry_run", "update", "owner", "adopt")
	if err != nil {
		return mode, err
	}
	adopt := false
	if err := readFlags(query, flag{"dry_run", &mode.dryRun}, flag{"update", &mode.update}, flag{"adopt", &adopt}); err != nil {
		return mode, err
	}
	if query.Has("owner") {
		mode.update, mode.file = true, &monitor.Owner{Name: query.Get("owner"), Adopt: adopt}
		return mode, monitor.CheckLine("owner", mode.owner(), 1, monitor.MaxOwner)
	}
	return mode, nil
}

func (h registrationHandlers) batchBody(c *gin.Context, dryRun bool, requests []monitors.Request, results []monitors.BatchResult) batchBody {
	body := batchBody{DryRun: dryRun, Results: make([]batchResultBody, 0, len(results))}
	for i, r := range results {
		m := r.Monitor
		shown := batchResultBody{Index: i, StreamURL: string(m.StreamURL), MonitorID: m.ID, Status: m.Status, LateBySec: int64(m.LateBy().Seconds())}
		if dryRun && !r.Watched {
			shown.MonitorID = "" // no monitor has it
		}
		switch {
		case r.Err == nil && r.Watched:
			shown.LateBySec, shown.Changed = 0, new(append([]monitor.Difference{}, r.Changed...))
			if len(r.Changed) > 0 {
				body.Changed++
				changedUnless(dryRun, c, string(m.ID))
			}
		case r.Err == nil:
			body.Registered++
			changedUnless(dryRun, c, string(m.ID))
		default:
			body.Refused++
			refusal := h.callerError(c, r.Err)
			given := requests[i].StreamURL
			if canonical, err := monitor.ParseStreamURL(given); err == nil {
				given = string(canonical) // without its secret
			}
			shown = batchResultBody{Index: i, StreamURL: given, MonitorID: m.ID, Error: new(newErrorDetail(refusal))}
		}
		body.Results = append(body.Results, shown)
	}
	return body
}

func changedUnless(dryRun bool, c *gin.Context, id string) {
	if !dryRun {
		changed(c, id)
	}
}

// batchForm is the form of a batch of registrations.
type batchForm struct {
	list    string   // the field of JSON that has them
	columns []string // of CSV, beside those of metadata and config
	config  []string // fields of config, and paths of settings of optional detectors
}

func batchOfMonitors() batchForm {
	return batchForm{"monitors", []string{"stream_url", "callback_url"}, configColumns()}
}

// readBatch divides the body into registrations: {form.list: [registration, …]}, or CSV.
func readBatch(c *gin.Context, form batchForm) ([]json.RawMessage, error) {
	const csvType = "text/csv"
	raw, err := readBody(c, "application/json", csvType, formType)
	if err != nil {
		return nil, err
	}
	var registrations []json.RawMessage
	if media, _, _ := mime.ParseMediaType(c.GetHeader("Content-Type")); media == csvType {
		registrations, err = readCSV(raw, form)
	} else {
		registrations, err = readBatchJSON(raw, form.list)
	}
	if err != nil {
		return nil, err
	}
	switch n := len(registrations); {
	case n == 0:
		return nil, refusef(monitor.InvalidConfig, "the batch is empty; accepted are 1 to %d registrations", monitors.MaxBatch)
	case n > monitors.MaxBatch:
		return nil, tooManyRegistrations(n)
	}
	return registrations, nil
}

func readBatchJSON(raw []byte, list string) ([]json.RawMessage, error) {
	body, err := readObject(raw, "", list)
	if err != nil {
		return nil, err
	}
	if err := body.err(); err != nil {
		return nil, err
	}
	var registrations []json.RawMessage
	if json.Unmarshal(body.fields[list], &registrations) != nil || registrations == nil {
		return nil, refusef(monitor.InvalidConfig, "%s is missing or no array; accepted is an array of 1 to %d registrations", list, monitors.MaxBatch)
	}
	return registrations, nil
}

func tooManyRegistrations(n int) error {
	return refusef(monitor.InvalidConfig, "the batch has %d registrations or more; accepted are 1 to %d: send the rest in another batch", n, monitors.MaxBatch)
}
