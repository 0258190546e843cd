package monitor

// Preset is a named set of values for the config object of a registration. A registration
// has the values, not the name.
type Preset struct {
	Name   string             // of the preset; it never changes
	Config map[string]float64 // by field; all other fields keep their default

	OnCallbackFailure CallbackFailure
}

// Presets returns the presets that the dashboard offers. With each of them a receiver that
// is restarted does not end the watch (section 19.5).
func Presets() []Preset {
	return []Preset{
		{"talk", map[string]float64{"blackout_threshold_sec": 30, "silence_threshold_sec": 20}, Continue},                             // silence is seldom meant
		{"music", map[string]float64{"silence_threshold_sec": 60, "silence_db_threshold": -60}, Continue},                             // pauses and soft passages
		{"game", map[string]float64{"blackout_threshold_sec": 60, "silence_threshold_sec": 60}, Continue},                             // loading screens
		{"24x7", map[string]float64{"check_interval_sec": 30, "blackout_threshold_sec": 120, "silence_threshold_sec": 300}, Continue}, // nobody watches each minute
	}
}
