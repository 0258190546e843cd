package httpapi

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// change is PATCH /api/v1/monitors/{monitor_id} (section 16.6). It answers as GET does.
func (h monitorHandlers) change(c *gin.Context, id monitor.ID) error {
	raw, err := readJSON(c)
	if err != nil {
		return err
	}
	change, err := readChange(raw, "", "paused_until") // a null failure policy is refused
	if err != nil {
		return err
	}
	change.By = keyOfActor(c).Actor("")
	m, err := h.editor.ChangeMonitor(c.Request.Context(), id, change)
	return h.reply(c, feed.NewMonitorIn(m, h.zone), err)
}

// readChange decodes the body of a PATCH as strictly as a registration. The change lists
// the wrong fields, which package monitors refuses with its own. ifNull is what an on_callback_failure of null means. further
// are fields that a registration does not have.
func readChange(raw []byte, ifNull monitor.CallbackFailure, further ...string) (monitors.Change, error) {
	var change monitors.Change
	body, err := readObject(raw, "", append([]string{"stream_url", "callback_url", "config", "metadata", "labels", "owner"}, further...)...)
	if err != nil {
		return change, err
	}
	change.StreamURL, change.CallbackURL = body.string("stream_url"), body.callback()
	change.Metadata, change.Labels, change.Owner = body.fields["metadata"], readLabels(body), body.stringOrNull("owner")
	change.PausedUntil = readTimeChange(body, "paused_until")
	change.Config, change.Unreadable = readConfig(body, ifNull)
	return change, nil
}

// readConfig reads the field config of a registration or a change, and returns the refusals of
// the body and of config. ifNull is what an on_callback_failure of null means.
func readConfig(body *object, ifNull monitor.CallbackFailure) (change monitors.ConfigChange, refused []error) {
	raw, given := body.fields["config"]
	if !given {
		return change, body.refused
	}
	config, err := readObject(raw, "config", configFields()...)
	if err != nil {
		return change, append(body.refused, monitor.OfField("config", err))
	}
	change.Preset = readPreset(config)
	change.Detectors = readDetectors(config)
	change.Settings = map[string]float64{}
	for _, s := range monitor.Settings() {
		if v, ok := config.number(s); ok {
			change.Settings[s.Field] = v
		}
	}
	change.ScheduledStartTime = readTimeChange(config, "scheduled_start_time")
	change.ScheduledEndTime = readTimeChange(config, "scheduled_end_time")
	if _, given := config.fields["on_callback_failure"]; given {
		change.OnCallbackFailure = new(ifNull)
		config.text("on_callback_failure", (*string)(change.OnCallbackFailure))
	}
	if _, given := config.fields["cookie_jar"]; given { // null is none
		change.CookieJar = new("")
		config.text("cookie_jar", change.CookieJar)
	}
	change.Headers = readHeaders(config)
	change.TokenURL, change.CopyQuery = readTokenURL(config), config.flag("copy_query")
	return change, append(body.refused, config.refused...)
}

// readPreset reads the name of a preset, which null removes. A name that is refused changes nothing.
func readPreset(config *object) *monitor.Preset {
	name := ""
	config.text("preset", &name)
	if _, given := config.fields["preset"]; !given || config.refuses("preset") {
		return nil
	}
	if string(config.fields["preset"]) == "null" {
		return &monitor.Preset{}
	}
	preset, err := monitor.FindPreset(name)
	if err != nil {
		config.refused = append(config.refused, err)
		return nil
	}
	return &preset
}

// readDetectors reads the optional detectors that config names, with their settings; a nil one is off.
// null for all of them is null for each.
func readDetectors(config *object) map[detector.Name]map[string]float64 {
	raw, given := config.fields["detectors"]
	if !given {
		return nil
	}
	change := map[detector.Name]map[string]float64{}
	var names []string
	for _, d := range detector.Optional() {
		names = append(names, string(d.Name))
		if string(raw) == "null" {
			change[d.Name] = nil
		}
	}
	if string(raw) == "null" {
		return change
	}
	all := config.object("detectors", names...)
	if all == nil {
		return nil // it is refused
	}
	for _, d := range detector.Optional() {
		raw, given := all.fields[string(d.Name)]
		switch {
		case !given:
		case string(raw) == "null":
			change[d.Name] = nil
		default:
			change[d.Name] = readSettings(all, d)
		}
	}
	return change
}

// readSettings reads the settings of an optional detector, by field.
func readSettings(all *object, d detector.Detector) map[string]float64 {
	settings := map[string]float64{}
	var keys []string
	for _, s := range d.AllSettings() {
		keys = append(keys, s.Key())
	}
	own := all.object(string(d.Name), keys...)
	if own == nil {
		return settings // it is refused
	}
	for _, s := range d.AllSettings() {
		field := s.Field
		s.Field = s.Key()
		if v, ok := own.number(s); ok {
			settings[field] = v
		}
	}
	return settings
}

// readHeaders reads the header fields of config; a nil value is null. No refusal shows a value.
func readHeaders(config *object) map[string]*string {
	const field = "http_headers"
	raw, given := config.fields[field]
	if !given {
		return nil
	}
	headers := map[string]*string{}
	if json.Unmarshal(raw, &headers) != nil {
		config.refusef(field, "%s%s is of the wrong type; accepted is an object whose values are strings, or null", config.path, field)
		return nil
	}
	if headers == nil { // null is none
		return map[string]*string{}
	}
	if own, err := readObject(raw, config.path+field, slices.Collect(maps.Keys(headers))...); err == nil {
		config.refused = append(config.refused, own.refused...) // of names that are there twice
	}
	return headers
}

// readTokenURL reads the token URL of config; null is "". A refusal leaves its value out.
func readTokenURL(config *object) *string {
	raw, given := config.fields["token_url"]
	if !given {
		return nil
	}
	token := ""
	if json.Unmarshal(raw, &token) != nil {
		config.refusef("token_url", "%stoken_url is of the wrong type; accepted is a string, or null", config.path)
		return nil
	}
	return &token
}

// readTimeChange reads a time that null removes. A time that cannot be read changes nothing.
func readTimeChange(o *object, name string) (change monitors.TimeChange) {
	o.timestamp(name, &change.To)
	_, given := o.fields[name]
	change.Given = given && !o.refuses(name)
	return change
}
