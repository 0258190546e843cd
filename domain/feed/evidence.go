package feed

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// NewEvidence returns the data of evidence.added.
func NewEvidence(r evidence.Record) Evidence {
	variants := make([]string, 0, len(r.Files))
	for _, f := range r.Files {
		variants = append(variants, string(f.Variant))
	}
	return Evidence{
		EvidenceID: string(r.ID),
		MonitorID:  r.MonitorID,
		EventID:    r.EventID,
		IncidentID: wire.OrNull(r.IncidentID),
		Condition:  r.Condition,
		Phase:      string(r.Phase),
		Class:      string(r.Class),
		Variants:   variants,
		Note:       wire.OrNull(r.Note),
		CreatedAt:  wire.Time(r.CreatedAt, time.UTC),
	}
}
