package feed

import (
	"github.com/stream-monitor/stream-monitor/domain/evidence"
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
		IncidentID: orNull(r.IncidentID),
		Condition:  r.Condition,
		Phase:      string(r.Phase),
		Class:      string(r.Class),
		Variants:   variants,
		Note:       orNull(r.Note),
		CreatedAt:  utc(r.CreatedAt),
	}
}
