package collector

import (
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// record is one capture: what was fetched and taken so far for one event.
type record struct {
	key       string // of its jobs
	condition trouble.Name
	phase     evidence.Phase
	instant   time.Time
	id        evidence.ID
	eventID   string
	complete  bool // no job follows

	media    capturedMedia
	pictures pictures
	files    files
	defects  defects

	reported  bool      // the gateway has the event
	logged    bool      // that something is missing
	lastErr   error     // of an upload
	keepUntil time.Time // when the files are lost if the gateway does not take them
	log       *slog.Logger
}

func newRecord(c *Collector, j capture.Job) *record {
	r := &record{key: j.Key, condition: j.Condition, phase: j.Phase, instant: j.Instant, id: evidence.ID(c.cfg.NewID()), log: c.log}
	r.files = files{defects: &r.defects}
	r.media = capturedMedia{segments: c.ports.Segments, kept: &c.kept, tempFile: c.ports.TempFile, defects: &r.defects}
	r.pictures = pictures{
		tools: c.ports.Tools, playlists: c.ports.Playlists, media: &r.media, files: &r.files, defects: &r.defects, condition: j.Condition,
	}
	return r
}

func (r *record) setEvent(id string) {
	if id != "" {
		r.eventID = id
	}
}

// left reports whether there is something to upload. The notes come last.
func (r *record) left() bool {
	return r.files.next() != nil || r.complete && r.defects.pending()
}

// loseFiles frees the files. A note stays.
func (r *record) loseFiles(why string) {
	if r.lastErr != nil {
		r.defects.note("%s: %v", why, r.lastErr)
	} else {
		r.defects.note("%s", why)
	}
	r.logLost(why)
	r.files.close()
}

// end ends the capture: no media are needed any more. It logs what is missing.
func (r *record) end() {
	r.media.close()
	r.complete = true
	if len(r.defects.notes) > 0 {
		r.log.Warn("Evidence is incomplete; the worker uploads what was captured",
			"evidence_id", string(r.id), "event_id", r.eventID, "condition", r.condition, "missing", r.defects.text())
	}
}

// logLost logs once that files could not be uploaded.
func (r *record) logLost(why string) {
	if r.logged {
		return
	}
	r.logged = true
	if r.lastErr != nil {
		why += ": " + r.lastErr.Error()
	}
	r.log.Warn("Evidence could not be stored", "error", why, "evidence_id", string(r.id), "event_id", r.eventID, "condition", r.condition)
}

// close closes all files.
func (r *record) close() {
	r.media.close()
	r.files.close()
}
