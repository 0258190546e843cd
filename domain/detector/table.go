package detector

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// Name identifies a detector. Snapshots and the column detector_events keep it,
// so it never changes.
type Name string

// Track is a track of the media, and the field of health that shows it
// (section 3.3).
type Track string

// The tracks of section 3.3.
const (
	Video Track = "video"
	Audio Track = "audio"
)

// Setting is one number of a registration's config object (section 3.1).
type Setting struct {
	Field    string // of the JSON object; of an optional detector the path to it, such as detectors.freeze.threshold_sec
	Min, Max float64
	Default  float64
	Whole    bool   // only numbers without a fraction are accepted
	Help     string // one sentence for the command line and openapi.yaml
}

// Accepts reports whether the setting may have the value v.
func (s Setting) Accepts(v float64) bool {
	return v >= s.Min && v <= s.Max && (!s.Whole || v == math.Trunc(v))
}

// Key is the last part of the field's path: the name within its own object.
func (s Setting) Key() string { return s.Field[strings.LastIndexByte(s.Field, '.')+1:] }

// Range is the accepted range as messages show it, such as "1 to 3600".
func (s Setting) Range() string { return Format(s.Min) + " to " + Format(s.Max) }

// Format writes the value of a setting as JSON does.
func Format(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Detector is one row of the table.
type Detector struct {
	Name      Name
	Track     Track  // the track that the detector judges
	Health    string // health of the track while the condition lasts
	Condition trouble.Name
	Alert     string    // event type when the condition has lasted for the threshold
	Recovered string    // event type when an alerted condition is over
	Threshold Setting   // whole seconds
	Settings  []Setting // further settings of this detector, at most MaxSettings
	Statistic string    // field of statistics that counts the alerts (section 3.3)

	Example map[string]float64 // what an alert may have measured, for documents (Verdict.Values)

	// Criteria say what counts as bad, for people.
	Criteria []Criterion

	Words   Words
	Rises   []Rise  // of the severity of the condition (section 16.1); nil: UsualRises
	Clarity Clarity // of its picture

	// Optional says that the detector is off unless the registration's config.detectors has its name
	// (section 3.1). The fields of its Threshold and Settings begin with "detectors.", the name and a dot.
	Optional bool

	// Rule judges the samples one after another. Without one, each sample is judged by itself, and the
	// watch may look between two of them (see Judge).
	Rule            Rule
	Needs           Measurement   // what the Rule judges
	References      bool          // the Rule looks for references: its alert names the one that was seen
	Minimum         time.Duration // health ignores a condition that has lasted for less time
	BadWithoutTrack bool          // without a Rule: a segment is bad throughout if no frame of the track could be decoded (decision S4)
}

// AllSettings lists every number of the detector, its threshold first.
func (d Detector) AllSettings() []Setting { return append([]Setting{d.Threshold}, d.Settings...) }

// Criterion is one number that decides whether a moment is bad.
type Criterion struct {
	Name    string  // a field of conditions[].alert.criteria (section 16.1); it never changes
	Value   float64 // unless it is the value of a setting
	Setting string  // the field of the config object that has the value; empty: Value
}

// ValueOf returns the number. setting returns a field of the config object.
func (c Criterion) ValueOf(setting func(field string) float64) float64 {
	if c.Setting != "" {
		return setting(c.Setting)
	}
	return c.Value
}

// Rise says from which duration of an episode on a condition has a severity.
type Rise struct {
	After    time.Duration
	Severity int // 0 to 3
}

// UsualRises are those of a condition whose detector names none.
var UsualRises = []Rise{{Severity: 1}, {After: 2 * time.Minute, Severity: 2}, {After: 10 * time.Minute, Severity: 3}}

// slowRises are those of conditions in which picture and sound can still be followed.
var slowRises = []Rise{{Severity: 1}, {After: 10 * time.Minute, Severity: 2}}

// Severities returns the rises of the condition's severity, ascending. The first is at 0 s.
func (d Detector) Severities() []Rise {
	if d.Rises == nil {
		return UsualRises
	}
	return d.Rises
}

// Clarity says how clearly the picture of an alert shows the condition (section 16.2), by its measure. Of
// the picture at the onset that is the mean luma, 0 to 255; of the plot of a detector of the sound, the
// level in dBFS. If None is Full, the measure does not tell.
type Clarity struct {
	None, Full float64 // measures at which nothing of the condition, or all of it, can be seen
	Unclear    float64 // luma of the onset above which the evidence is unclear; 0: none is
}

// Sizes of the arrays that hold one value for each detector or setting. With arrays,
// configurations and statistics can be compared with ==, and copies share nothing.
const (
	MaxDetectors = 16
	MaxSettings  = 4
)

// Table lists every detector. If two conditions of a track are bad, the earlier row
// decides the track's health. Only tests change the table, with package detectortest.
var Table = []Detector{blackout, testPattern, slate, freeze, pictureDamage, captionsMissing, badRendition, silence, oneSided, clipping, loudnessHigh, loudnessLow}

// Optional lists the detectors that a registration may switch on, in the order of the table.
func Optional() []Detector {
	return slices.DeleteFunc(slices.Clone(Table), func(d Detector) bool { return !d.Optional })
}

// Index is the row of a detector. It panics if no row has the name: only the
// program itself names detectors this way.
func Index(name Name) int {
	i := slices.IndexFunc(Table, func(d Detector) bool { return d.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("detector: the table has no row %q", name))
	}
	return i
}

// Of returns the detector that finds a condition; ok is false if none does.
func Of(condition trouble.Name) (d Detector, ok bool) {
	i := slices.IndexFunc(Table, func(d Detector) bool { return d.Condition == condition })
	if i < 0 {
		return Detector{}, false
	}
	return Table[i], true
}

// Conditions lists the words of health that detectors give a track, in the
// order of the table.
func Conditions(t Track) (words []string) {
	for _, d := range Table {
		if d.Track == t && !slices.Contains(words, d.Health) {
			words = append(words, d.Health)
		}
	}
	return words
}
