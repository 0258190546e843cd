package monitor_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestEveryPresetIsAccepted(t *testing.T) {
	fields := map[string]bool{}
	for _, s := range monitor.Settings() {
		fields[s.Field] = true
	}
	for _, p := range monitor.Presets() {
		config := monitor.DefaultConfig()
		for field, v := range p.Config {
			if !fields[field] {
				t.Errorf("%s sets %s, which is no setting", p.Name, field)
				continue
			}
			config.Set(field, v)
		}
		if err := config.Valid(); err != nil || config == monitor.DefaultConfig() {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
