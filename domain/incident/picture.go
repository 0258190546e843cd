package incident

import (
	"cmp"
	"time"
)

// Picture names one variant of evidence, which shows the incident.
type Picture struct {
	EvidenceID string    `json:"evidence_id"`
	Variant    string    `json:"variant"`
	Severity   int       `json:"severity"` // of the condition that it shows
	Clarity    float64   `json:"clarity"`  // how clearly it shows the condition, 0 to 1
	TakenAt    time.Time `json:"taken_at"`
}

// better reports whether p shows an incident better than q: by severity, then by how
// clearly the condition shows, then the newest.
func (p Picture) better(q Picture) bool {
	return cmp.Or(
		cmp.Compare(p.Severity, q.Severity),
		cmp.Compare(p.Clarity, q.Clarity),
		p.TakenAt.Compare(q.TakenAt),
	) > 0
}
