package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Config says how a stream is watched, as registered (section 3.1). Beside the
// fields below it has the settings of every detector that runs; read and set them with
// Value, Set, ThresholdSec and SetThresholdSec, and switch optional ones with SwitchOn and
// SwitchOff. The zero value is not valid; start from DefaultConfig. Configs can be compared
// with ==.
type Config struct {
	CheckIntervalSec       int        // 1 to 300 s, default 10
	ScheduledStartTime     *time.Time // default none
	StartDelayToleranceSec int        // 0 to 86400 s, default 300
	ScheduledEndTime       *time.Time // decision A10, default none
	OnCallbackFailure      CallbackFailure
	CookieJar              string // the name of the jar that questions about the stream use (section 17.7); empty: none
	HeaderNames            string // of the header fields that requests for the stream carry, as StreamSecret.HeaderNames; empty: none
	HasTokenURL            bool   // StreamSecret.TokenURL is set
	CopyQuery              bool   // the secret query of the stream's URL goes with every request to its origin
	Preset                 string // whose values it was registered with, for display; empty: none. Presets may not have it any more

	detectors  [detector.MaxDetectors][1 + detector.MaxSettings]float64 // for each row, first its threshold; zeros of an optional one that is off
	switchedOn [detector.MaxDetectors]bool                              // the optional ones that run
}

// CallbackFailure says what happens to a monitor whose callback has refused an event four
// times (section 19.5).
type CallbackFailure string

// The values of CallbackFailure.
const (
	EndMonitor CallbackFailure = "error"    // the default: the monitor ends (decision W4)
	Continue   CallbackFailure = "continue" // the event is retried for a day, the monitor goes on
)

// Setting is one number of a configuration, with its range and default.
type Setting = detector.Setting

// The settings that belong to no detector (section 3.1, decision A4).
var (
	checkInterval  = Setting{Field: "check_interval_sec", Min: 1, Max: 300, Default: 10, Whole: true, Help: "Seconds between two checks of a segment."}
	startTolerance = Setting{Field: "start_delay_tolerance_sec", Min: 0, Max: 86400, Default: 300, Whole: true, Help: "Seconds the stream may be late."}
)

// Settings lists every number that each configuration has. The check interval comes first, and the start
// tolerance last. Between them are the thresholds and then the other settings of the detectors that always
// run. Those of detector.Optional are beside them.
func Settings() []Setting {
	list := []Setting{checkInterval}
	list = append(list, detectorSettings()...)
	return append(list, startTolerance)
}

func detectorSettings() (list []Setting) {
	for _, d := range detector.Table {
		if !d.Optional {
			list = append(list, d.Threshold)
		}
	}
	for _, d := range detector.Table {
		if !d.Optional {
			list = append(list, d.Settings...)
		}
	}
	return list
}

// settings lists every number that this configuration has.
func (c Config) settings() []Setting {
	list := Settings()
	for _, d := range detector.Optional() {
		if c.Runs(d) {
			list = append(list, d.AllSettings()...)
		}
	}
	return list
}

// DefaultConfig is the configuration of a registration without config.
func DefaultConfig() Config {
	c := Config{OnCallbackFailure: EndMonitor}
	for _, s := range Settings() {
		c.Set(s.Field, s.Default)
	}
	return c
}

// Value is the value of the setting with the given JSON field; 0 if its detector is off. It
// panics if there is no such setting.
func (c Config) Value(field string) float64 {
	switch field {
	case checkInterval.Field:
		return float64(c.CheckIntervalSec)
	case startTolerance.Field:
		return float64(c.StartDelayToleranceSec)
	}
	row, i := locate(field)
	return c.detectors[row][i]
}

// Set changes the setting with the given JSON field. It switches the setting's detector on. It
// panics if there is no such setting.
func (c *Config) Set(field string, v float64) {
	switch field {
	case checkInterval.Field:
		c.CheckIntervalSec = int(v)
	case startTolerance.Field:
		c.StartDelayToleranceSec = int(v)
	default:
		row, i := locate(field)
		c.SwitchOn(detector.Table[row].Name)
		c.detectors[row][i] = v
	}
}

// ThresholdSec returns the seconds that a detector's condition lasts before its alert.
func (c Config) ThresholdSec(name detector.Name) int {
	return int(c.detectors[detector.Index(name)][0])
}

// SetThresholdSec changes the threshold of a detector. It switches the detector on.
func (c *Config) SetThresholdSec(name detector.Name, seconds int) {
	c.Set(detector.Table[detector.Index(name)].Threshold.Field, float64(seconds))
}

// Runs reports whether a detector judges: an optional one only if it is switched on.
func (c Config) Runs(d detector.Detector) bool {
	return !d.Optional || c.switchedOn[detector.Index(d.Name)]
}

// SwitchOn lets an optional detector run with its defaults. It changes nothing if the detector
// runs.
func (c *Config) SwitchOn(name detector.Name) {
	row := detector.Index(name)
	d := detector.Table[row]
	if c.Runs(d) {
		return
	}
	c.switchedOn[row] = true
	for i, s := range d.AllSettings() {
		c.detectors[row][i] = s.Default
	}
}

// SwitchOff ends an optional detector, with its settings. Other detectors cannot be switched off.
func (c *Config) SwitchOff(name detector.Name) {
	if row := detector.Index(name); detector.Table[row].Optional {
		c.switchedOn[row], c.detectors[row] = false, [1 + detector.MaxSettings]float64{}
	}
}

// locate returns where a setting is kept: the row of its detector, and its place there.
func locate(field string) (row, i int) {
	for row, d := range detector.Table {
		if i := slices.IndexFunc(d.AllSettings(), func(s Setting) bool { return s.Field == field }); i >= 0 {
			return row, i
		}
	}
	panic(fmt.Sprintf("monitor: no setting has the field %q", field))
}

// MarshalJSON writes the object of section 3.1, complete, with its fields in a
// constant order: digests of registrations depend on it (decision A9). The fields that
// the original lacks are left out while they have their default. Of the optional detectors it has
// those that run. With the name of a preset the others are null: read as a registration, the
// object means the same.
func (c Config) MarshalJSON() ([]byte, error) {
	object := make([]byte, 0, 256)
	var err error
	add := func(field string, v any) {
		raw, refused := json.Marshal(v)
		if refused != nil {
			err = fmt.Errorf("config.%s: %w", field, refused)
		}
		object = append(append(append(append(object, `,"`...), field...), `":`...), raw...)
	}
	add(checkInterval.Field, c.CheckIntervalSec)
	for _, s := range detectorSettings() {
		add(s.Field, c.Value(s.Field))
	}
	add("scheduled_start_time", c.ScheduledStartTime)
	add(startTolerance.Field, c.StartDelayToleranceSec)
	if c.ScheduledEndTime != nil {
		add("scheduled_end_time", c.ScheduledEndTime)
	}
	if c.OnCallbackFailure == Continue {
		add("on_callback_failure", c.OnCallbackFailure)
	}
	if optional := c.optional(); len(optional) > 0 {
		add("detectors", optional)
	}
	if c.CookieJar != "" {
		add("cookie_jar", c.CookieJar)
	}
	if c.HeaderNames != "" {
		fields := map[string]*string{} // no value is shown
		for name := range strings.SplitSeq(c.HeaderNames, ",") {
			fields[name] = nil
		}
		add("http_headers", fields)
	}
	if c.HasTokenURL {
		add("token_url", TokenURLSet) // it is not shown
	}
	if c.CopyQuery {
		add("copy_query", true)
	}
	if c.Preset != "" {
		add("preset", c.Preset)
	}
	object[0] = '{'
	return append(object, '}'), err
}

// optional returns the field detectors, by the names of the detectors and of their settings; a nil
// detector is off.
func (c Config) optional() map[detector.Name]map[string]float64 {
	object := map[detector.Name]map[string]float64{}
	for _, d := range detector.Optional() {
		switch {
		case c.Runs(d):
			object[d.Name] = map[string]float64{}
			for _, s := range d.AllSettings() {
				object[d.Name][s.Key()] = c.Value(s.Field)
			}
		case c.Preset != "":
			object[d.Name] = nil
		}
	}
	return object
}

// UnmarshalJSON reads an object of section 3.1. A field that is left out gets
// its default, so that monitors registered before a detector was added have its
// defaults; an optional detector that is left out is off. A preset is only a name here. Unknown
// fields are ignored; ranges are for Valid to check.
func (c *Config) UnmarshalJSON(b []byte) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(b, &given); err != nil {
		return err
	}
	read := DefaultConfig()
	take := func(field string, into any) error {
		raw, is := given[field]
		if !is {
			return nil
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return fmt.Errorf("config.%s: %w", field, err)
		}
		return nil
	}
	for _, s := range Settings() {
		if err := read.takeSetting(s, given[s.Field]); err != nil {
			return err
		}
	}
	var optional map[detector.Name]map[string]json.RawMessage
	if err := take("detectors", &optional); err != nil {
		return err
	}
	for _, d := range detector.Optional() {
		if optional[d.Name] == nil {
			continue
		}
		read.SwitchOn(d.Name)
		for _, s := range d.AllSettings() {
			if err := read.takeSetting(s, optional[d.Name][s.Key()]); err != nil {
				return err
			}
		}
	}
	var headers map[string]json.RawMessage
	if err := take("http_headers", &headers); err != nil {
		return err
	}
	var tokenURL string
	if err := take("token_url", &tokenURL); err != nil {
		return err
	}
	read.HasTokenURL = tokenURL != ""
	read.HeaderNames = strings.Join(slices.Sorted(maps.Keys(headers)), ",")
	*c = read
	return errors.Join(take("scheduled_start_time", &c.ScheduledStartTime), take("scheduled_end_time", &c.ScheduledEndTime),
		take("on_callback_failure", &c.OnCallbackFailure), take("cookie_jar", &c.CookieJar), take("copy_query", &c.CopyQuery), take("preset", &c.Preset))
}

// takeSetting reads the value of a setting. It stays as it is if raw is empty.
func (c *Config) takeSetting(s Setting, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	v := c.Value(s.Field)
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("config.%s: %w", s.Field, err)
	}
	if s.Whole && (v != math.Trunc(v) || math.Abs(v) > math.MaxInt32) {
		return fmt.Errorf("config.%s is %.40s, which is no whole number", s.Field, raw)
	}
	c.Set(s.Field, v)
	return nil
}

// Valid reports every value out of its range (decision A4), as one InvalidConfig that names
// each field, its value and its range.
func (c Config) Valid() error { return Join(c.Check()...) }

// Check returns an InvalidConfig for each value out of its range.
func (c Config) Check() (refused []error) {
	for _, s := range c.settings() {
		if v := c.Value(s.Field); !s.Accepts(v) {
			refused = append(refused, FieldErrorf("config."+s.Field, "is %s; accepted is %s", detector.Format(v), s.Range()))
		}
	}
	for _, f := range []struct {
		name string
		t    *time.Time
	}{
		{"config.scheduled_start_time", c.ScheduledStartTime},
		{"config.scheduled_end_time", c.ScheduledEndTime},
	} {
		if f.t == nil {
			continue
		}
		if err := ValidTime(f.name, *f.t); err != nil {
			refused = append(refused, err)
		}
	}
	if c.ScheduledStartTime != nil && c.ScheduledEndTime != nil && !c.ScheduledEndTime.After(*c.ScheduledStartTime) {
		refused = append(refused, FieldErrorf("config.scheduled_end_time", "must be after config.scheduled_start_time"))
	}
	if err := CheckLine("config.cookie_jar", c.CookieJar, 0, cookie.MaxName); err != nil {
		refused = append(refused, err)
	}
	if c.OnCallbackFailure != EndMonitor && c.OnCallbackFailure != Continue {
		refused = append(refused, FieldErrorf("config.on_callback_failure", "is %.40q; accepted are %s, %s", c.OnCallbackFailure, EndMonitor, Continue))
	}
	return refused
}

// The accepted times: the years 2000 to 9998 in any zone, hence two days more at
// each end. RFC 3339 has no year 10000, and every time has to be written in every
// zone.
var (
	earliestTime = time.Date(1999, 12, 30, 0, 0, 0, 0, time.UTC)
	latestTime   = time.Date(9999, 1, 3, 0, 0, 0, 0, time.UTC)
)

// ValidLimit reports a number of elements of a page that is not 1 to most, as InvalidConfig.
func ValidLimit(limit, most int) error {
	if limit < 1 || limit > most {
		return Errorf(InvalidConfig, "limit is %d; accepted is 1 to %d", limit, most)
	}
	return nil
}

// ValidTime reports a time that is not in the years 2000 to 9998, as
// InvalidConfig naming the field.
func ValidTime(name string, t time.Time) error {
	if t.Before(earliestTime) || !t.Before(latestTime) {
		return FieldErrorf(name, "is in the year %d in UTC; accepted is an ISO 8601 time from 2000 to 9998", t.UTC().Year())
	}
	return nil
}
