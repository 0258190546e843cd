package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

type detectorListBody struct {
	Detectors []detectorBody `json:"detectors"`
}

// detectorBody is a row of the table of detectors (section 17.5).
type detectorBody struct {
	Name      detector.Name      `json:"name"`
	Track     detector.Track     `json:"track"`
	Condition trouble.Name       `json:"condition"`
	Health    string             `json:"health"`
	Events    detectorEventsBody `json:"events"`
	Optional  bool               `json:"optional"`
	Threshold settingBody        `json:"threshold"`
	Settings  []settingBody      `json:"settings"`
	Statistic string             `json:"statistic"`
	Criteria  []criterionBody    `json:"criteria"`
	Severity  []riseBody         `json:"severity"`
	Words     detector.Words     `json:"words"`
}

type detectorEventsBody struct {
	Alert     string `json:"alert"`
	Recovered string `json:"recovered"`
}

// criterionBody has the number, or the setting that has it.
type criterionBody struct {
	Name    string   `json:"name"`
	Value   *float64 `json:"value"`
	Setting *string  `json:"setting"`
}

type riseBody struct {
	AfterSec int64 `json:"after_sec"`
	Severity int   `json:"severity"`
}

func newDetectorBody(d detector.Detector) detectorBody {
	body := detectorBody{
		Name: d.Name, Track: d.Track, Condition: d.Condition, Health: d.Health, Events: detectorEventsBody{d.Alert, d.Recovered},
		Optional: d.Optional, Threshold: newSettingBody(d.Threshold), Settings: []settingBody{}, Statistic: d.Statistic,
		Criteria: []criterionBody{}, Words: d.Words,
	}
	for _, s := range d.Settings {
		body.Settings = append(body.Settings, newSettingBody(s))
	}
	for _, c := range d.Criteria {
		criterion := criterionBody{c.Name, &c.Value, nil}
		if c.Setting != "" {
			criterion.Value, criterion.Setting = nil, &c.Setting
		}
		body.Criteria = append(body.Criteria, criterion)
	}
	for _, r := range d.Severities() {
		body.Severity = append(body.Severity, riseBody{int64(r.After.Seconds()), r.Severity})
	}
	return body
}

// detectorHandlers answers the request about the table of detectors.
type detectorHandlers struct{ *responder }

// list is GET /api/v1/detectors (section 17.5).
func (h detectorHandlers) list(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	body := detectorListBody{}
	for _, d := range detector.Table {
		body.Detectors = append(body.Detectors, newDetectorBody(d))
	}
	h.write(c, http.StatusOK, body)
	return nil
}
