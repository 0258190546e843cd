package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type presetsBody struct {
	Presets []presetBody `json:"presets"`
	Why     []whyBody    `json:"why"`
}

type presetBody struct {
	Name   string                     `json:"name"`
	Config map[string]json.RawMessage `json:"config"` // what the preset sets
}

type whyBody struct {
	Field string `json:"field"` // of config
	Why   string `json:"why"`
}

// presets is GET /api/v1/presets (section 17.4).
func (h serviceHandlers) presets(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	list, err := presetBodies()
	if err != nil {
		return err
	}
	body := presetsBody{Presets: list}
	for _, r := range monitor.PresetReasons() {
		body.Why = append(body.Why, whyBody(r))
	}
	h.write(c, http.StatusOK, body)
	return nil
}

// presetBodies lists the presets, each with every value that it sets.
func presetBodies() (list []presetBody, err error) {
	for _, p := range monitor.Presets() {
		config := monitor.DefaultConfig()
		p.Apply(&config)
		config.Preset = ""
		raw, err := json.Marshal(config)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", p.Name, err)
		}
		body := presetBody{Name: p.Name}
		if err := json.Unmarshal(raw, &body.Config); err != nil {
			return nil, fmt.Errorf("preset %s: %w", p.Name, err)
		}
		for _, kept := range []string{"scheduled_start_time", "start_delay_tolerance_sec"} {
			delete(body.Config, kept)
		}
		list = append(list, body)
	}
	return list, nil
}
