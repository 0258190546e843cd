package detector

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// BadRendition is a rendition that is bad while the watched one is not (section 6.8).
const BadRendition Name = "rendition"

var badRendition = Detector{
	Name: BadRendition, Track: Video, Health: "rendition_bad", Condition: "rendition_bad",
	Alert: "alert.rendition", Recovered: "alert.rendition_recovered", Statistic: "rendition_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.rendition.threshold_sec", Min: 10, Max: 3600, Default: 60, Whole: true,
		Help: "Seconds in which another quality is bad before alert.rendition.",
	},
	Words:   renditionWords,
	Rises:   slowRises,
	Example: map[string]float64{"qualities": 3, "bad": 1, "height": 720, "kbps": 2800, "black": 1},
	Needs:   Renditions, Rule: remembering(judgeRenditions),
}

// EnoughLooks is how many looks in a row have to agree before a rendition counts as bad, or as good again.
const EnoughLooks = 2

// renditionMemory has the renditions that count as bad.
type renditionMemory struct {
	Bad []string `json:"bad,omitempty"`
}

// judgeRenditions lets the condition last while any rendition counts as bad. An unknown state neither begins nor
// ends that.
func judgeRenditions(m renditionMemory, _ time.Time, s Sample, _ func(string) float64) (renditionMemory, Verdict) {
	var next renditionMemory
	var largest *Rendition // of those that count as bad and whose state is known
	good, from := false, s.From
	for i, r := range s.Renditions {
		name := fmt.Sprint(r.Height, "/", r.Bandwidth)
		was := slices.Contains(m.Bad, name)
		switch {
		case r.Looks == 0: // unknown
			if was {
				next.Bad = append(next.Bad, name)
			}
			continue
		case !r.State.Bad() && (!was || r.Looks >= EnoughLooks):
			good = true
			continue
		case !was && r.Looks < EnoughLooks:
			continue
		case !was:
			from = instant.Earliest(from, r.Since)
		}
		next.Bad = append(next.Bad, name)
		if largest == nil {
			largest = &s.Renditions[i]
		}
	}
	v := Verdict{Values: map[string]float64{"qualities": float64(len(s.Renditions)), "bad": float64(len(next.Bad))}}
	switch {
	case largest != nil:
		v.Bad = []Period{{from, s.To}}
		v.Values["height"], v.Values["kbps"] = float64(largest.Height), float64(largest.Bandwidth)/1000
		if largest.State.Bad() {
			v.Values[string(largest.State)] = 1
		}
	case len(next.Bad) > 0, !good:
		v.Unknown = true
	}
	return next, v
}

// NamedRendition returns the rendition that the values of a verdict name: its height, its bandwidth and, if it is bad
// by the newest look, its state.
func NamedRendition(values map[string]float64) (r Rendition, ok bool) {
	_, ok = values["height"]
	r.Height, r.Bandwidth = int(values["height"]), int(math.Round(values["kbps"]*1000))
	for _, s := range RenditionStates() {
		if values[string(s)] == 1 {
			r.State = s
		}
	}
	return r, ok
}
