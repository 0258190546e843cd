package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// EvidenceFinder finds what was captured for an event (section 16.2).
type EvidenceFinder interface {
	// FindEvidence returns the evidence of an event, or of the alert of a recovery, or nil
	// if no worker has uploaded any yet. It blocks for an exchange with the database.
	FindEvidence(ctx context.Context, id monitor.ID, eventID string, t event.Type) (*event.Evidence, error)
}

// evidenceTimeout bounds the time for which a webhook waits for its evidence to be read.
const evidenceTimeout = 500 * time.Millisecond

// freshFor is the age up to which no evidence of an alert is looked for: a worker uploads
// it after the alert was stored.
const freshFor = time.Second

// evidenceAdder adds evidence to payloads.
type evidenceAdder struct {
	finder EvidenceFinder // nil: there is no evidence
	zone   *time.Location
}

// payload returns the body of an attempt: that of the delivery, and evidence if it is
// there. An alert that was just stored waits for nothing. A failure costs the evidence,
// not the attempt.
func (a evidenceAdder) payload(ctx context.Context, l Delivery, log *slog.Logger) []byte {
	_, recovers := l.EventType.Recovers()
	fresh := l.Attempts == 0 && l.Age < freshFor && !recovers
	if a.finder == nil || fresh || !l.EventType.MayHaveEvidence() {
		return l.Body
	}
	ctx, cancel := context.WithTimeout(ctx, evidenceTimeout)
	defer cancel()
	found, err := a.finder.FindEvidence(ctx, l.MonitorID, l.EventID, l.EventType)
	if err == nil && found == nil {
		return l.Body
	}
	var body []byte
	if err == nil {
		body, err = event.AddEvidence(l.Body, *found, a.zone)
	}
	if err != nil {
		log.Info("webhook is sent without its evidence, which could not be read", "error", err.Error())
		return l.Body
	}
	return body
}
