package detector

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Slate is a picture that looks like an uploaded reference and is on air at the wrong time (section 6.8).
const Slate Name = "slate"

var slate = Detector{
	Name: Slate, Track: Video, Health: "slate", Condition: "slate",
	Alert: "alert.slate", Recovered: "alert.slate_recovered", Statistic: "slate_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.slate.threshold_sec", Min: 1, Max: 3600, Default: 60, Whole: true,
		Help: "Seconds of a reference picture at the wrong time before alert.slate.",
	},
	Criteria: []Criterion{{Name: "chroma_difference_at_most", Value: slateChroma}},
	Words:    slateWords,
	Rises:    slowRises, // viewers see that something was prepared for them
	Example:  map[string]float64{"similarity": 0.98, "chroma_difference": 2.4},
	Needs:    Pictures, References: true, Rule: remembering(judgeSlate),
}

const (
	slateChroma = 10.0 // levels of 255 by which the chroma differs at most
	slateStays  = 0.04 // by which the similarity to the reference on air may be lower: fades and particles do not interrupt it
)

// slateMemory is what earlier samples have shown.
type slateMemory struct {
	Shown     string `json:"shown,omitempty"`     // the reference that the newest sample ended with; empty: none
	Programme bool   `json:"programme,omitempty"` // a sample showed something else throughout
}

// judgeSlate looks for references in each key frame. since is the end of the sample before, if that ended with the
// reference of the memory. The first picture then counts from since on. A black picture counts only if it
// looks like a reference. A reference that was removed is no longer on air.
func judgeSlate(m slateMemory, since time.Time, s Sample, _ func(string) float64) (slateMemory, Verdict) {
	before := slices.IndexFunc(s.References, func(r Reference) bool { return r.Name == m.Shown })
	v := Verdict{Unknown: m.Shown == "" || before >= 0}
	var shown *Reference
	begin := s.From
	if before >= 0 && !s.Before.IsZero() {
		shown = &s.References[before]
		if !since.IsZero() {
			begin = since
		}
	}
	endPeriod := func(until time.Time) {
		if shown != nil {
			if bad := s.unwanted(*shown, m.Programme, Period{begin, until}); bad.To.After(bad.From) {
				v.Bad, v.Reference = append(v.Bad, bad), shown.Name
			}
		}
		begin = until
	}
	programme := false
	for i, p := range s.Pictures {
		found := s.mostLike(p, shown)
		if found.reference == nil || !found.same && s.isBlack(p.At) {
			continue
		}
		v.Values = map[string]float64{"similarity": found.similarity, "chroma_difference": found.chroma}
		next := found.reference
		if !found.same {
			next = nil
		}
		if i > 0 && next != shown {
			endPeriod(s.At(p.At))
		}
		shown = next
		programme = shown == nil && (programme || v.Unknown)
		v.Unknown = false
	}
	if v.Unknown {
		return m, v
	}
	endPeriod(s.To)
	m.Programme, m.Shown = m.Programme || programme, ""
	if shown != nil {
		m.Shown, v.Since = shown.Name, s.To
	}
	return m, v
}

// likeness says how much a picture looks like a reference.
type likeness struct {
	reference          *Reference
	similarity, chroma float64
	same               bool // it is enough: the picture shows the reference
}

// mostLike returns the reference that a picture looks like most. The one shown before needs less similarity. Without
// references it returns none.
func (s Sample) mostLike(p Picture, shown *Reference) (most likeness) {
	for i := range s.References {
		r := &s.References[i]
		limit := r.Similarity
		if r == shown {
			limit -= slateStays
		}
		for _, digest := range r.Digests {
			l := likeness{reference: r, similarity: p.Similarity(digest), chroma: p.ChromaDifference(digest)}
			l.same = l.similarity >= limit && l.chroma <= slateChroma
			if most.reference == nil || l.same && !most.same || l.same == most.same && l.similarity > most.similarity {
				most = l
			}
		}
	}
	return most
}

// unwanted returns the part of a period in which a reference should not be seen. Without a scheduled start, the
// broadcast starts with its first sample that shows something else.
func (s Sample) unwanted(r Reference, programme bool, p Period) Period {
	start := s.ScheduledStart
	switch {
	case !start.IsZero():
	case programme:
		start = p.From
	default:
		start = p.To
	}
	switch r.Unwanted {
	case AfterStart:
		p.From = instant.Latest(p.From, start)
	case BeforeStart:
		p.To = instant.Earliest(p.To, start)
	case Always:
	}
	return p
}
