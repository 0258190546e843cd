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
	{"detectors.test_pattern.threshold_sec", [...]float64{10, 10, 10, 10, 10}, "bars are never meant"},
	{"detectors.test_pattern.tone_alone", [...]float64{1, 0, 1, 1, 1}, "synthesizers hold tones"},
	{"detectors.slate.threshold_sec", [...]float64{60, 60, 120, 300, 300}, "breaks are planned; it tells nothing of a stream without references"},
	{"detectors.freeze.threshold_sec", [...]float64{30, 120, 120, 300, 120}, "stills between songs, menus and pauses, pictures of a radio, an empty stage"},
	{"detectors.picture_damage.threshold_sec", [...]float64{30, 30, 30, 60, 30}, "of a channel that never ends, more passes by itself"},
	{"detectors.picture_damage.share", [...]float64{0.2, 0.2, 0.2, 0.2, 0.2}, "the same packaging for all"},
	{"detectors.captions_missing.threshold_sec", [...]float64{120, off, off, 300, 120}, "songs and games have long pauses between texts"},
	{"detectors.rendition.threshold_sec", [...]float64{60, 60, 60, 120, 60}, "two looks a minute apart have to agree; of a channel that never ends, more passes by itself"},
	{"detectors.one_sided.threshold_sec", [...]float64{60, 120, 60, 120, 60}, "intros of music may come from one side"},
	{"detectors.one_sided.difference_db", [...]float64{30, 30, 30, 30, 30}, "20 dB is a matter of mixing, hum on a dead side is 50 dB down"},
	{"detectors.clipping.threshold_sec", [...]float64{30, 60, 60, 60, 30}, "loud music clips for a while"},
	{"detectors.clipping.share", [...]float64{0.15, 0.3, 0.2, 0.2, 0.15}, "a loud master has 0.05, speech that is clipped 0.29, music 0.39"},
	{"detectors.loudness_high.threshold_sec", [...]float64{30, 60, 60, 60, 30}, "loud passages of music and games are meant"},
	{"detectors.loudness_high.above_lufs", [...]float64{-8, -4, -5, -5, -8}, "limited music has -5.4 LUFS, a game's square waves -7.5, speech near full scale -10.5"},
	{"detectors.loudness_low.threshold_sec", [...]float64{30, 60, 60, 120, 120}, "quiet passages are meant"},
	{"detectors.loudness_low.below_lufs", [...]float64{-33, -40, -40, -40, -40}, "speech that is 20 dB too low is found at -33; film and ceremonies are quiet by intention"},
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
