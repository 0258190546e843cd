package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// change is PATCH /api/v1/monitors/{monitor_id} (section 16.6). It answers as GET does.
func (h monitorHandlers) change(c *gin.Context) error {
	id, err := monitor.ParseID(c.Param("monitor_id"))
	if err != nil {
		return err
	}
	raw, err := readJSON(c, maxPublicBody)
	if err != nil {
		return err
	}
	change, err := readChange(raw)
	if err != nil {
		return err
	}
	m, err := h.editor.ChangeMonitor(c.Request.Context(), id, change)
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, feed.NewMonitorIn(m, h.zone))
	return nil
}

// readChange decodes the body of a PATCH as strictly as a registration. The change lists
// the wrong fields, which the registry refuses with its own.
func readChange(raw []byte) (registry.Change, error) {
	var change registry.Change
	body, err := readObject(raw, "", "callback_url", "config", "metadata")
	if err != nil {
		return change, err
	}
	for i, e := range body.refused {
		if e.Field == "stream_url" {
			body.refused[i].Err = monitor.Errorf(monitor.InvalidConfig,
				"stream_url cannot be changed, because the events and statistics of a monitor belong to one stream; register the other stream")
		}
	}
	if _, given := body.fields["callback_url"]; given {
		change.CallbackURL = new(string)
		if body.text("callback_url", change.CallbackURL); body.refuses("callback_url") {
			change.CallbackURL = nil
		}
	}
	change.Metadata = body.fields["metadata"]
	change.Unreadable = body.refused
	raw, given := body.fields["config"]
	if !given {
		return change, nil
	}
	config, notObject := readObject(raw, "config", configFields()...)
	if notObject != nil {
		change.Unreadable = append(change.Unreadable, monitor.FieldError{Field: "config", Err: notObject})
		return change, nil //nolint:nilerr // it is refused together with the other wrong fields
	}
	change.Settings = map[string]float64{}
	for _, s := range monitor.Settings() {
		if v, ok := config.number(s); ok {
			change.Settings[s.Field] = v
		}
	}
	change.ScheduledStartTime = config.timeChange("scheduled_start_time")
	change.ScheduledEndTime = config.timeChange("scheduled_end_time")
	if _, given := config.fields["on_callback_failure"]; given {
		change.OnCallbackFailure = new(monitor.CallbackFailure)
		config.text("on_callback_failure", (*string)(change.OnCallbackFailure))
	}
	change.Unreadable = append(change.Unreadable, config.refused...)
	return change, nil
}

// timeChange reads a time that null removes. A time that cannot be read changes nothing.
func (o *object) timeChange(name string) (change registry.TimeChange) {
	o.timestamp(name, &change.To)
	_, given := o.fields[name]
	change.Given = given && !o.refuses(name)
	return change
}
