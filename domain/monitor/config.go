package monitor

import (
	"math"
	"time"
)

// Config is what to watch for, as registered (section 3.1). The zero value is
// not valid; start from DefaultConfig.
type Config struct {
	CheckIntervalSec       int        `json:"check_interval_sec"`           // 1–300 s, default 10
	BlackoutThresholdSec   int        `json:"blackout_threshold_sec"`       // 1–3600 s, default 30
	SilenceThresholdSec    int        `json:"silence_threshold_sec"`        // 1–3600 s, default 30
	SilenceDBThreshold     float64    `json:"silence_db_threshold"`         // −100–0 dB, default −50
	ScheduledStartTime     *time.Time `json:"scheduled_start_time"`         // default null
	StartDelayToleranceSec int        `json:"start_delay_tolerance_sec"`    // 0–86400 s, default 300
	ScheduledEndTime       *time.Time `json:"scheduled_end_time,omitempty"` // decision A10, default null
}

// DefaultConfig is the configuration of a registration that says nothing.
func DefaultConfig() Config {
	return Config{
		CheckIntervalSec:       10,
		BlackoutThresholdSec:   30,
		SilenceThresholdSec:    30,
		SilenceDBThreshold:     -50,
		StartDelayToleranceSec: 300,
	}
}

// Valid reports the first value out of its range (decision A4), as
// InvalidConfig naming field, value and range.
func (c Config) Valid() error {
	for _, f := range []struct {
		name     string
		value    int
		min, max int
	}{
		{"check_interval_sec", c.CheckIntervalSec, 1, 300},
		{"blackout_threshold_sec", c.BlackoutThresholdSec, 1, 3600},
		{"silence_threshold_sec", c.SilenceThresholdSec, 1, 3600},
		{"start_delay_tolerance_sec", c.StartDelayToleranceSec, 0, 86400},
	} {
		if f.value < f.min || f.value > f.max {
			return Errorf(InvalidConfig, "config.%s is %d; accepted is %d to %d", f.name, f.value, f.min, f.max)
		}
	}
	if math.IsNaN(c.SilenceDBThreshold) || c.SilenceDBThreshold < -100 || c.SilenceDBThreshold > 0 {
		return Errorf(InvalidConfig, "config.silence_db_threshold is %v; accepted is -100 to 0", c.SilenceDBThreshold)
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
			return err
		}
	}
	if c.ScheduledStartTime != nil && c.ScheduledEndTime != nil && !c.ScheduledEndTime.After(*c.ScheduledStartTime) {
		return Errorf(InvalidConfig, "config.scheduled_end_time must be after config.scheduled_start_time")
	}
	return nil
}

// The times that are accepted: the years 2000 to 9998, and two days before and
// after, so that a time of those years in any zone is one of them. RFC 3339 has
// no year 10000, and a time must be written in any zone.
var (
	earliestTime = time.Date(1999, 12, 30, 0, 0, 0, 0, time.UTC)
	latestTime   = time.Date(9999, 1, 3, 0, 0, 0, 0, time.UTC)
)

// ValidTime reports a time that is not in the years 2000 to 9998, as
// InvalidConfig naming the field.
func ValidTime(name string, t time.Time) error {
	if t.Before(earliestTime) || !t.Before(latestTime) {
		return Errorf(InvalidConfig, "%s is in the year %d in UTC; accepted is an ISO 8601 time from 2000 to 9998", name, t.UTC().Year())
	}
	return nil
}
