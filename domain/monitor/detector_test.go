package monitor_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// JSON of the two specified detectors, which idempotency digests (decision A9)
// and stored snapshots depend on.
const (
	specifiedConfig = `{"check_interval_sec":10,"blackout_threshold_sec":30,"silence_threshold_sec":30,"silence_db_threshold":-42.5,` +
		`"scheduled_start_time":"2024-01-15T11:00:00Z","start_delay_tolerance_sec":300,"scheduled_end_time":"2024-01-15T13:00:00Z"}`
	specifiedStatistics = `{"total_segments_analyzed":150,"blackout_events":0,"silence_events":1}`
)

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConfigAndStatisticsAreWrittenInTheSpecifiedOrder(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	start, end := time.Date(2024, 1, 15, 11, 0, 0, 0, time.UTC), time.Date(2024, 1, 15, 13, 0, 0, 0, time.UTC)
	c := monitor.DefaultConfig()
	c.ScheduledStartTime, c.ScheduledEndTime = &start, &end
	c.Set(detector.SilenceDB, -42.5)
	if got := encoded(t, c); got != specifiedConfig {
		t.Errorf("got  %s\nwant %s", got, specifiedConfig)
	}
	if got := encoded(t, monitor.Statistics{TotalSegmentsAnalyzed: 150}.With(detector.Silence, 1)); got != specifiedStatistics {
		t.Errorf("got  %s\nwant %s", got, specifiedStatistics)
	}
	var read monitor.Config
	if err := json.Unmarshal([]byte(specifiedConfig), &read); err != nil || encoded(t, read) != specifiedConfig {
		t.Errorf("read %s, %v", encoded(t, read), err)
	}
	if err := json.Unmarshal([]byte(`{"check_interval_sec":1.5}`), &read); err == nil {
		t.Error("1.5 is read as a whole number")
	}
	statistics := monitor.Statistics{}.With(detector.Blackout, 9)
	if err := json.Unmarshal([]byte(specifiedStatistics), &statistics); err != nil || encoded(t, statistics) != specifiedStatistics {
		t.Errorf("read %s, %v", encoded(t, statistics), err)
	}
}

func TestAThirdDetectorFollowsFromItsRow(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	old := encoded(t, monitor.DefaultConfig())
	detectortest.Add(t, detectortest.Imaginary)

	t.Run("its settings have defaults and ranges", func(t *testing.T) {
		c := monitor.DefaultConfig()
		if c.ThresholdSec("imaginary") != 45 || c.Value("imaginary_difference") != 0.25 || c.Valid() != nil {
			t.Errorf("the defaults are %s, %v", encoded(t, c), c.Valid())
		}
		c.SetThresholdSec("imaginary", 601)
		if err := c.Valid(); code(err) != monitor.InvalidConfig || !strings.Contains(err.Error(), "config.imaginary_threshold_sec is 601; accepted is 5 to 600") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("its settings are written and read", func(t *testing.T) {
		c := monitor.DefaultConfig()
		c.SetThresholdSec("imaginary", 60)
		c.Set("imaginary_difference", 0.5)
		written := encoded(t, c)
		var read monitor.Config
		if err := json.Unmarshal([]byte(written), &read); err != nil || read != c || !strings.Contains(written, `"imaginary_threshold_sec":60`) {
			t.Errorf("%s is read as %s, %v", written, encoded(t, read), err)
		}
	})
	t.Run("a configuration stored before it has its defaults", func(t *testing.T) {
		var read monitor.Config
		if err := json.Unmarshal([]byte(old), &read); err != nil || read != monitor.DefaultConfig() {
			t.Errorf("read %s, %v", encoded(t, read), err)
		}
	})
	t.Run("its alerts are counted", func(t *testing.T) {
		var s monitor.Statistics
		s.Count("imaginary")
		s.Count("imaginary")
		s = s.Max(monitor.Statistics{TotalSegmentsAnalyzed: 3}.With(detector.Silence, 1))
		const want = `{"total_segments_analyzed":3,"blackout_events":0,"silence_events":1,"imaginary_events":2}`
		if got := encoded(t, s); got != want || s.Alerts("imaginary") != 2 {
			t.Errorf("got %s", got)
		}
	})
	t.Run("its word of health is its track's", func(t *testing.T) {
		if got := monitor.TrackHealthValues(detector.Video); !slices.Equal(got, []monitor.TrackHealth{"ok", "black", "imaginary", "unknown", "none"}) {
			t.Errorf("video: %q", got)
		}
		if got := monitor.TrackHealthValues(detector.Audio); !slices.Equal(got, []monitor.TrackHealth{"ok", "silent", "unknown"}) {
			t.Errorf("audio: %q", got)
		}
	})
}

func TestAnOptionalDetectorIsOffUnlessItIsNamed(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	old := encoded(t, monitor.DefaultConfig())
	detectortest.Add(t, detectortest.Optional)
	name, level := detectortest.Optional.Name, detectortest.Optional.Settings[0].Field
	read := func(t *testing.T, object string) (c monitor.Config) {
		t.Helper()
		if err := json.Unmarshal([]byte(object), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}

	t.Run("without it, a configuration is written as before", func(t *testing.T) {
		c := monitor.DefaultConfig()
		if got := encoded(t, c); got != old || c.Runs(detectortest.Optional) || c.Valid() != nil {
			t.Errorf("got %s, want %s; valid: %v", got, old, c.Valid())
		}
		c.SwitchOn(name)
		c.SwitchOff(name)
		if c != monitor.DefaultConfig() {
			t.Errorf("switched on and off, it is %s", encoded(t, c))
		}
	})
	t.Run("it is written with every value, and read with its defaults", func(t *testing.T) {
		for object, want := range map[string]string{
			`{}`:                              `,"detectors":{"made_up":{"above_db":-6.5,"threshold_sec":40}}}`,
			`{"threshold_sec":7,"unknown":1}`: `,"detectors":{"made_up":{"above_db":-6.5,"threshold_sec":7}}}`,
			`null`:                            old[len(old)-1:],
		} {
			c := read(t, `{"detectors":{"made_up":`+object+`,"of_another_release":{}}}`)
			if got := encoded(t, c); got != old[:len(old)-1]+want || read(t, got) != c {
				t.Errorf("%s is written as %s, want %s at the end", object, got, want)
			}
		}
	})
	t.Run("a value out of range is refused by its path, 0 too", func(t *testing.T) {
		c := read(t, `{"detectors":{"made_up":{"threshold_sec":0,"above_db":1}}}`)
		for _, want := range []string{"config.detectors.made_up.threshold_sec is 0; accepted is 1 to 3600", "config.detectors.made_up.above_db is 1; accepted is -60 to 0"} {
			if err := c.Valid(); code(err) != monitor.InvalidConfig || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want %s", err, want)
			}
		}
	})
	t.Run("with a preset, those that are off are written as null", func(t *testing.T) {
		c := monitor.DefaultConfig()
		c.Preset = "talk"
		if got, want := encoded(t, c), old[:len(old)-1]+`,"detectors":{"made_up":null},"preset":"talk"}`; got != want || read(t, got) != c {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("a setting switches it on", func(t *testing.T) {
		c := monitor.DefaultConfig()
		c.Set(level, -3)
		if !c.Runs(detectortest.Optional) || c.ThresholdSec(name) != 40 || c.Value(level) != -3 {
			t.Errorf("has %s", encoded(t, c))
		}
	})
	t.Run("its alerts are shown once there are any", func(t *testing.T) {
		var s monitor.Statistics
		if got := encoded(t, s); strings.Contains(got, "made_up") {
			t.Errorf("without an alert: %s", got)
		}
		s.Count(name)
		if got := encoded(t, s); !strings.Contains(got, `,"made_up_events":1}`) {
			t.Errorf("with an alert: %s", got)
		}
	})
}

func TestEveryPresetIsAcceptedAndSaysWhy(t *testing.T) {
	reasons := map[string]string{}
	for _, r := range monitor.PresetReasons() {
		reasons[r.Field] = r.Why
	}
	for _, p := range monitor.Presets() {
		config := monitor.DefaultConfig()
		p.Apply(&config)
		if err := config.Valid(); err != nil || config.Preset != p.Name {
			t.Errorf("%s: %v", p.Name, err)
		}
		for field, v := range p.Values {
			if config.Value(field) != v || reasons[field] == "" {
				t.Errorf("%s: %s is %v, want %v; the reason is %q", p.Name, field, config.Value(field), v, reasons[field])
			}
		}
	}
	for _, d := range detector.Optional() {
		for _, s := range d.AllSettings() {
			if reasons[s.Field] == "" {
				t.Errorf("no preset says what %s is", s.Field)
			}
			for _, p := range monitor.Presets() {
				_, runs := p.Values[d.Threshold.Field]
				if _, given := p.Values[s.Field]; given != runs {
					t.Errorf("%s: of %s, one of threshold and %s is missing", p.Name, d.Name, s.Key())
				}
			}
		}
	}
}

func TestAPresetReplacesWhatWasThere(t *testing.T) {
	detectortest.Add(t, detectortest.Optional)
	p, err := monitor.FindPreset("music")
	if err != nil {
		t.Fatal(err)
	}
	want := monitor.DefaultConfig()
	p.Apply(&want)
	config := monitor.DefaultConfig()
	config.SwitchOn(detectortest.Optional.Name)
	config.SetThresholdSec(detector.Blackout, 7)
	config.StartDelayToleranceSec, want.StartDelayToleranceSec = 20, 20
	p.Apply(&config)
	if config != want || config.OnCallbackFailure != monitor.Continue {
		t.Errorf("has %s, want %s", encoded(t, config), encoded(t, want))
	}
}

func TestAnUnknownPresetIsRefusedWithThoseThatThereAre(t *testing.T) {
	_, err := monitor.FindPreset("sport")
	if code(err) != monitor.InvalidConfig || !strings.Contains(err.Error(), `config.preset is "sport"; accepted are [talk music game 24x7 ceremony]`) {
		t.Errorf("error is %v", err)
	}
}
