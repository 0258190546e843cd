package monitor

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Preset is a named set of values for the config object of a registration (section 3.1). It has a
// value for each number but the start tolerance, and says which optional detectors run. A registration
// stores the values; a later change of the preset changes nothing stored.
type Preset struct {
	Name   string             // it never changes
	Values map[string]float64 // of the settings that differ from their default, and of each optional detector that runs, by field

	OnCallbackFailure CallbackFailure
}

// PresetReason says why presets give a setting the values that they give it.
type PresetReason struct {
	Field string
	Why   string // one clause for people
}

// off marks the setting of a detector that is off in a preset.
const off = -1

// presetNames are the presets in the order of the columns of presetRows.
var presetNames = [...]string{"talk", "music", "game", "24x7", "ceremony"}

// presetRows has the value of each setting in each preset.
var presetRows = []struct {
	field  string
	values [len(presetNames)]float64
	why    string
}{
	//                             talk music game 24x7 ceremony
	{"check_interval_sec", [...]float64{10, 10, 10, 30, 10}, "nobody watches a channel that never ends each minute"},
	{"blackout_threshold_sec", [...]float64{30, 30, 60, 120, 60}, "loading screens of games, a stage that is dark before it begins"},
	{"silence_threshold_sec", [...]float64{20, 60, 60, 300, 120}, "a talk is seldom silent; pauses between pieces, loading screens, moments of silence"},
	{"silence_db_threshold", [...]float64{-50, -60, -50, -50, -60}, "soft passages of music and of ceremonies are no silence"},
}

// Presets returns the presets in the order in which they are offered, with the detectors that this
// release has. With each of them a receiver that is restarted does not end the watch (section 19.5).
func Presets() []Preset {
	list := make([]Preset, len(presetNames))
	for i, name := range presetNames {
		list[i] = Preset{name, map[string]float64{}, Continue}
		for _, row := range presetRows {
			if known(row.field) && row.values[i] != off {
				list[i].Values[row.field] = row.values[i]
			}
		}
	}
	return list
}

// PresetReasons returns why presets choose their values, by setting.
func PresetReasons() (list []PresetReason) {
	for _, row := range presetRows {
		if known(row.field) {
			list = append(list, PresetReason{row.field, row.why})
		}
	}
	return list
}

// FindPreset returns the preset with a name. Errors: InvalidConfig names those that there are.
func FindPreset(name string) (Preset, error) {
	all := Presets()
	if i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Preset{}, FieldErrorf("config.preset", "is %.40q; accepted are %v", name, presetNames)
}

// Apply gives a configuration the values and the name of the preset. Scheduled times and the start
// tolerance stay as they are.
func (p Preset) Apply(c *Config) {
	for _, s := range Settings() {
		if s.Field != startTolerance.Field {
			c.Set(s.Field, s.Default)
		}
	}
	for _, d := range detector.Optional() {
		c.SwitchOff(d.Name)
	}
	for field, v := range p.Values {
		c.Set(field, v)
	}
	c.Preset, c.OnCallbackFailure = p.Name, p.OnCallbackFailure
}

// known reports whether a configuration may have a setting.
func known(field string) bool {
	is := func(s Setting) bool { return s.Field == field }
	return slices.ContainsFunc(Settings(), is) ||
		slices.ContainsFunc(detector.Optional(), func(d detector.Detector) bool { return slices.ContainsFunc(d.AllSettings(), is) })
}
