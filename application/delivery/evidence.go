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

// EvidenceTimeout bounds the time for which a webhook waits for its evidence to be read.
const EvidenceTimeout = 500 * time.Millisecond

// evidenceDelay is the age of an alert from which its evidence is looked for: workers upload
// it after the alert is stored.
const evidenceDelay = time.Second

// Payload is the payload of an event on its way to a webhook.
type Payload struct {
	EventID   string
	EventType event.Type
	MonitorID monitor.ID
	Body      []byte
	Attempts  int           // made before this one
	Age       time.Duration // since the event was stored
}

// EvidenceAdder adds evidence to payloads.
type EvidenceAdder struct {
	Finder EvidenceFinder // nil: there is no evidence
	Zone   *time.Location // of the times of evidence
}

// Add returns the body of a payload, with the evidence of its event if it is there. The first
// attempt at a new alert does not wait for it. A failure costs the evidence, not the attempt.
func (a EvidenceAdder) Add(ctx context.Context, p Payload, log *slog.Logger) []byte {
	_, recovers := p.EventType.Recovers()
	isNew := p.Attempts == 0 && p.Age < evidenceDelay && !recovers
	if a.Finder == nil || isNew || !p.EventType.MayHaveEvidence() {
		return p.Body
	}
	ctx, cancel := context.WithTimeout(ctx, EvidenceTimeout)
	defer cancel()
	found, err := a.Finder.FindEvidence(ctx, p.MonitorID, p.EventID, p.EventType)
	if err == nil && found == nil {
		return p.Body
	}
	var body []byte
	if err == nil {
		body, err = event.AddEvidence(p.Body, *found, a.Zone)
	}
	if err != nil {
		log.Info("webhook is sent without its evidence, which could not be read", "error", err.Error())
		return p.Body
	}
	return body
}
