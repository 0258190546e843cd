package monitor_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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
