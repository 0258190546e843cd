package incident

import (
	"cmp"
	"time"
)

// Picture names one variant of evidence, which shows the incident.
type Picture struct {
	EvidenceID string    `json:"evidence_id"`
	Variant    string    `json:"variant"`
	Condition  Name      `json:"condition"` // that it shows
	Clarity    float64   `json:"clarity"`   // how clearly it shows the condition, 0 to 1
	TakenAt    time.Time `json:"taken_at"`
}

// show shows a picture that is better than the one shown, or of the same evidence. Files are
// stored one by one, so the evidence has chosen among more of them by then.
func (i *Incident) show(p Picture, now time.Time) {
	if i.Picture == nil || i.Picture.EvidenceID == p.EvidenceID || i.showsBetter(p, *i.Picture, now) {
		i.Picture = &p
	}
}

// showsBetter reports whether p shows the incident better than q. It compares the severity
// that their conditions have reached by now, then their clarity, then their times.
func (i *Incident) showsBetter(p, q Picture, now time.Time) bool {
	return cmp.Or(
		cmp.Compare(i.reached(p.Condition, now), i.reached(q.Condition, now)),
		cmp.Compare(p.Clarity, q.Clarity),
		p.TakenAt.Compare(q.TakenAt),
	) > 0
}

// reached returns the severity of the longest episode of a condition by now; 0: the
// incident does not have the condition.
func (i *Incident) reached(name Name, now time.Time) int {
	c := i.Conditions.named(name)
	if c == nil {
		return 0
	}
	return severityOf(name, c.LongestAt(now))
}
