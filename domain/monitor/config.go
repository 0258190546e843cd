package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Config says how a stream is watched, as registered (section 3.1). Beside the
// fields below it has the settings of every detector; read and set them with
// Value, Set, ThresholdSec and SetThresholdSec. The zero value is not valid;
// start from DefaultConfig. Configs can be compared with ==.
type Config struct {
	CheckIntervalSec       int        // 1 to 300 s, default 10
	ScheduledStartTime     *time.Time // default none
	StartDelayToleranceSec int        // 0 to 86400 s, default 300
	ScheduledEndTime       *time.Time // decision A10, default none
	OnCallbackFailure      CallbackFailure

	detectors [detector.MaxDetectors][1 + detector.MaxSettings]float64 // for each row, first its threshold
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

// Settings lists every number of a configuration: the check interval, the
// thresholds and then the other settings of all detectors, the start tolerance.
func Settings() []Setting {
	list := []Setting{checkInterval}
	list = append(list, detectorSettings()...)
	return append(list, startTolerance)
}

func detectorSettings() (list []Setting) {
	for _, d := range detector.Table {
		list = append(list, d.Threshold)
	}
	for _, d := range detector.Table {
		list = append(list, d.Settings...)
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

// Value is the value of the setting with the given JSON field. It panics if
// there is no such setting.
func (c Config) Value(field string) float64 {
	switch field {
	case checkInterval.Field:
		return float64(c.CheckIntervalSec)
	case startTolerance.Field:
		return float64(c.StartDelayToleranceSec)
	}
	return *c.at(field)
}

// Set changes the setting with the given JSON field. It panics if there is no
// such setting.
func (c *Config) Set(field string, v float64) {
	switch field {
	case checkInterval.Field:
		c.CheckIntervalSec = int(v)
	case startTolerance.Field:
		c.StartDelayToleranceSec = int(v)
	default:
		*c.at(field) = v
	}
}

// ThresholdSec returns the seconds that a detector's condition lasts before its alert.
func (c Config) ThresholdSec(name detector.Name) int {
	return int(c.detectors[detector.Index(name)][0])
}

// Runs reports whether a detector judges: an optional one only if it has a threshold.
func (c Config) Runs(d detector.Detector) bool { return !d.Optional || c.ThresholdSec(d.Name) > 0 }

// SetThresholdSec changes the threshold of a detector.
func (c *Config) SetThresholdSec(name detector.Name, seconds int) {
	c.detectors[detector.Index(name)][0] = float64(seconds)
}

// at is where a detector's setting is kept.
func (c *Config) at(field string) *float64 {
	for row, d := range detector.Table {
		if d.Threshold.Field == field {
			return &c.detectors[row][0]
		}
		for i, s := range d.Settings {
			if s.Field == field {
				return &c.detectors[row][1+i]
			}
		}
	}
	panic(fmt.Sprintf("monitor: no setting has the field %q", field))
}

// MarshalJSON writes the object of section 3.1, complete, with its fields in a
// constant order: digests of registrations depend on it (decision A9). The fields that
// the original lacks are left out while they have their default.
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
	object[0] = '{'
	return append(object, '}'), err
}

// UnmarshalJSON reads an object of section 3.1. A field that is left out gets
// its default, so that monitors registered before a detector was added have its
// defaults. Unknown fields are ignored; ranges are for Valid to check.
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
		v := read.Value(s.Field)
		if err := take(s.Field, &v); err != nil {
			return err
		}
		if s.Whole && (v != math.Trunc(v) || math.Abs(v) > math.MaxInt32) {
			return fmt.Errorf("config.%s is %.40s, which is no whole number", s.Field, given[s.Field])
		}
		read.Set(s.Field, v)
	}
	*c = read
	return errors.Join(
		take("scheduled_start_time", &c.ScheduledStartTime), take("scheduled_end_time", &c.ScheduledEndTime), take("on_callback_failure", &c.OnCallbackFailure))
}

// Valid reports every value out of its range (decision A4), as one InvalidConfig that names
// each field, its value and its range.
func (c Config) Valid() error { return Join(c.Check()...) }

// Check returns an InvalidConfig for each value out of its range.
func (c Config) Check() (refused []error) {
	for _, s := range Settings() {
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
