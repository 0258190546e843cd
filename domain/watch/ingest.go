package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// noData is a time in which a live broadcast gets no data from its encoder, as the source tells the owner (decision S24). Times are the
// clock's. It is zero while data arrive.
type noData struct {
	Since     time.Time `json:"since,omitzero"`      // the question that first said so
	AskedAt   time.Time `json:"asked_at,omitzero"`   // the newest question
	AlertedAt time.Time `json:"alerted_at,omitzero"` // zero: it was not alerted
}

const noDataError = "the broadcast is live, and the encoder sends no data, as YouTube tells the owner"

// handleIngestState takes in whether data arrive. That none do is alerted once for an outage: when two answers that are outageLimit
// apart say so, and no playlist has moved for as long. It needs no question about the stream, because the owner is told that the
// broadcast is live. So it is also alerted while the stream cannot be seen, or has no manifest.
func (w *Watcher) handleIngestState(o IngestState) {
	n := &w.state.NoData
	if !o.AskedAt.After(n.AskedAt) {
		return
	}
	n.AskedAt = o.AskedAt
	switch {
	case !o.NoData:
		w.endNoData()
	case n.Since.IsZero():
		n.Since = o.AskedAt
		w.revise()
	case n.AlertedAt.IsZero() && o.AskedAt.Sub(instant.Latest(n.Since, w.state.Feeds.movedAt())) >= outageLimit:
		w.alertNoData()
	}
}

// alertNoData alerts that no data arrive, unless an outage was alerted.
func (w *Watcher) alertNoData() {
	n, feeds := &w.state.NoData, w.state.Feeds
	n.AlertedAt = w.now
	w.revise()
	if feeds.outageAlerted() {
		return
	}
	since := instant.Latest(n.Since, feeds.movedAt())
	w.emit(event.SegmentError, event.Outage{
		StartedAt: since, DurationSec: wholeSeconds(w.now.Sub(since)), ThresholdSec: wholeSeconds(outageLimit), Failure: event.FailedNoData, LastError: noDataError,
	})
	for _, f := range feeds {
		f.Outage.Alerted = f.Outage.open()
	}
}

// followNoData ends what the media contradict: a playlist has moved since the alert. It also ends what nobody has told for
// ingest.Life.
func (w *Watcher) followNoData() {
	n := w.state.NoData
	contradicted := !n.AlertedAt.IsZero() && w.state.Feeds.movedAt().After(n.AlertedAt)
	if !n.Since.IsZero() && (contradicted || !w.now.Before(n.AskedAt.Add(ingest.Life))) {
		w.endNoData()
	}
}

// endNoData ends the time without data; an outage of the media may go on.
func (w *Watcher) endNoData() {
	if !w.state.NoData.Since.IsZero() {
		w.revise()
	}
	w.state.NoData = noData{AskedAt: w.state.NoData.AskedAt}
}

// movedAt returns when a playlist last moved, or was first read; zero: none was read.
func (all mediaFeeds) movedAt() (at time.Time) {
	for _, f := range all {
		if f.Newest.Peak != (identity{}) {
			at = instant.Latest(at, f.Newest.SeenAt)
		}
	}
	return at
}
