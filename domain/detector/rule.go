package detector

import (
	"encoding/json"
	"time"
)

// Verdict is what a detector makes of a sample.
type Verdict struct {
	// Unknown says that the sample tells nothing: nothing begins and nothing ends by it.
	Unknown bool

	// Bad are the bad parts of the sample, ascending. The first may begin before the sample, if the
	// sample proves a suspicion.
	Bad []Period

	// Since is from when on it may be bad though that is not proved; the detector gets it back with
	// the next sample. Zero: nothing is suspected.
	Since time.Time

	// Closely asks for every frame of the next segment.
	Closely bool

	// Forget ends a condition of which no alert was sent, because it has been unknown for too long.
	Forget bool

	// Values are the numbers that decided, by their names in the row, for people.
	Values map[string]float64

	// Reference is the name of the one that was seen; empty: none was.
	Reference string
}

// Rule judges samples of one detector, in the order of media time. It is a pure function. It gets
// what it returned for the sample before: the memory (nil at first) and the verdict's Since. setting
// returns a field of the registration's config object. Memory is a part of the snapshot. It holds no
// times, because the media timeline may move.
type Rule func(memory json.RawMessage, since time.Time, s Sample, setting func(field string) float64) (json.RawMessage, Verdict)

// remembering makes a Rule of a function with a memory of type M, which begins as its zero value.
func remembering[M any](judge func(memory M, since time.Time, s Sample, setting func(field string) float64) (M, Verdict)) Rule {
	return func(raw json.RawMessage, since time.Time, s Sample, setting func(field string) float64) (json.RawMessage, Verdict) {
		var memory M
		if len(raw) > 0 && json.Unmarshal(raw, &memory) != nil {
			memory, since = *new(M), time.Time{} // of another release
		}
		memory, verdict := judge(memory, since, s, setting)
		raw, err := json.Marshal(memory)
		if err != nil {
			raw = nil // a number that JSON lacks; the detector begins again
		}
		return raw, verdict
	}
}

// Judge returns the verdict of a detector about a sample, and its new memory. See Rule.
//
// A detector without a Rule judges each sample by itself. Bad are the intervals that the analyser found
// under its name, and all of a segment without a decoded frame if BadWithoutTrack says so.
func (d Detector) Judge(memory json.RawMessage, since time.Time, s Sample, setting func(field string) float64) (json.RawMessage, Verdict) {
	if d.Rule != nil {
		if d.Needs&^s.Taken != 0 {
			return memory, Verdict{Unknown: true, Since: since}
		}
		return d.Rule(memory, since, s, setting)
	}
	t := s.Track(d.Track)
	switch {
	case t.Decoded():
		return nil, Verdict{Bad: s.place(t, s.Intervals[d.Name])}
	case d.BadWithoutTrack:
		return nil, Verdict{Bad: []Period{{s.From, s.To}}}
	}
	return nil, Verdict{}
}
