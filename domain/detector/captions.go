package detector

import "time"

// CaptionsMissing is a picture without the text of captions that were declared, or that it had before
// (section 6.8).
const CaptionsMissing Name = "captions_missing"

var captionsMissing = Detector{
	Name: CaptionsMissing, Track: Video, Health: "captions_missing", Condition: "captions_missing",
	Alert: "alert.captions_missing", Recovered: "alert.captions_missing_recovered", Statistic: "captions_missing_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.captions_missing.threshold_sec", Min: 10, Max: 3600, Default: 120, Whole: true,
		Help: "Seconds with sound and without captions before alert.captions_missing.",
	},
	Words:   captionsMissingWords,
	Rises:   []Rise{{Severity: 0}, {After: 10 * time.Minute, Severity: 1}}, // most viewers miss nothing
	Example: map[string]float64{"captions": 0},
	Needs:   Captions, Rule: remembering(judgeCaptions),
}

// captionMemory says whether captions have been seen, so that they can be missed.
type captionMemory struct {
	Seen    bool `json:"seen,omitempty"`
	Missing bool `json:"missing,omitempty"` // in the newest sample that told anything
}

// judgeCaptions misses captions from the last text on. They pause with the speech, so a sample
// without sound says nothing: captions are then missed from its end on, if they were not before.
func judgeCaptions(m captionMemory, since time.Time, s Sample, _ func(string) float64) (captionMemory, Verdict) {
	m.Missing = m.Missing && !since.IsZero()
	switch {
	case s.Captions != nil && *s.Captions == CaptionText:
		return captionMemory{Seen: true}, Verdict{Since: s.To, Values: map[string]float64{"captions": 1}}
	case !m.Seen && !s.CaptionsDeclared:
		return m, Verdict{Unknown: true}
	case s.Captions == nil || !s.hasSound():
		if !m.Missing && !since.IsZero() {
			since = s.To
		}
		return m, Verdict{Unknown: true, Since: since}
	case since.IsZero():
		since = s.From // the time before an outage does not count
	}
	m.Missing = true
	return m, Verdict{Since: since, Bad: []Period{{since, s.To}}, Values: map[string]float64{"captions": 0}}
}
