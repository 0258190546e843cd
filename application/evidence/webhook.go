package evidence

import (
	"context"
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// FindEvidence returns the evidence for the webhook of an event: the newest record of the
// event that has a file. A recovery without one shows that of its alert. It returns nil if
// no record has a file. The links are valid for evidence.DefaultLinkTTL.
func (s *Service) FindEvidence(ctx context.Context, id monitor.ID, eventID string, t event.Type) (*event.Evidence, error) {
	alert, recovers := t.Recovers()
	phase := evidence.AlertPhase
	if recovers {
		phase = evidence.RecoveryPhase
	}
	found, err := s.ofEvent(ctx, id, eventID, phase)
	if recovers && found == nil && err == nil {
		var alertID string
		if alertID, err = s.AlertOf(ctx, eventID, alert); err == nil && alertID != "" {
			found, err = s.ofEvent(ctx, id, alertID, evidence.AlertPhase)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find the evidence of event %s: %w", eventID, err)
	}
	return found, nil
}

// ofEvent returns the evidence of one event in a phase, or nil if no record of it has a
// file. The alert of an outage may have a record of the recovery, too.
func (s *Service) ofEvent(ctx context.Context, id monitor.ID, eventID string, p evidence.Phase) (*event.Evidence, error) {
	records, err := s.ListEvidence(ctx, Filter{MonitorID: id, EventID: eventID, Limit: DefaultPage})
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if len(r.Files) == 0 || r.Phase != p {
			continue
		}
		shown := &event.Evidence{EvidenceID: string(r.ID), EventID: r.EventID, IncidentID: r.IncidentID, Links: map[string]string{}}
		for _, f := range r.Files {
			link, err := s.cfg.Keys.Sign(r.ID, f.Variant, s.cfg.Now().Add(evidence.DefaultLinkTTL))
			if err != nil {
				return nil, err
			}
			shown.Links[string(f.Variant)], shown.ExpiresAt = link.URL(s.cfg.PublicURL), link.ExpiresAt
		}
		return shown, nil
	}
	return nil, nil //nolint:nilnil // no evidence and no error is the answer
}
