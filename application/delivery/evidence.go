package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// evidenceTimeout bounds the time for which a webhook waits for its evidence to be read.
const evidenceTimeout = 500 * time.Millisecond

// evidenceDelay is the age of an alert from which its evidence is looked for: workers upload
// it after the alert is stored.
const evidenceDelay = time.Second

// addEvidence returns the body of an event, with its evidence if that is there. The first
// attempt at a new alert does not wait for it. A failure costs the evidence, not the attempt.
func (s *Sender) addEvidence(ctx context.Context, d Delivery, body []byte, log *slog.Logger) []byte {
	e := d.Event
	_, recovers := e.EventType.Recovers()
	isNew := d.Tried == 0 && d.Age < evidenceDelay && !recovers
	if s.cfg.Evidence == nil || isNew || !e.EventType.MayHaveEvidence() {
		return body
	}
	ctx, cancel := context.WithTimeout(ctx, evidenceTimeout)
	defer cancel()
	found, err := s.cfg.Evidence.FindEvidence(ctx, e.MonitorID, e.EventID, e.EventType)
	if err == nil && found == nil {
		return body
	}
	var with []byte
	if err == nil {
		with, err = event.AddEvidence(body, *found, s.cfg.Zone)
	}
	if err != nil {
		log.Info("webhook is sent without its evidence, which could not be read", "error", err.Error())
		return body
	}
	return with
}
