package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// eventPrinter returns a function that prints an event: as a line for people, or as
// JSON, as in a worker's report to the gateway.
func eventPrinter(out io.Writer, asJSON bool) func(event.Event) {
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		return func(e event.Event) { _ = enc.Encode(e) }
	}
	return func(e event.Event) {
		fmt.Fprintf(out, "%s  %-24s  %s\n", e.At.Local().Format(time.TimeOnly), e.Type, describe(e.Data))
	}
}

// describe returns the data of an event as text for people.
func describe(d event.Data) string {
	at := func(t time.Time) string { return t.Local().Format("15:04:05.0") }
	switch d := d.(type) {
	case event.Started:
		if d.DelaySec != nil && *d.DelaySec > 0 {
			return fmt.Sprintf("live since %s, %d s late", at(d.StartedAt), *d.DelaySec)
		}
		return "live since " + at(d.StartedAt)
	case event.Ended:
		return fmt.Sprintf("ended at %s after %d s (%s)", at(d.EndedAt), d.DurationSec, d.Reason)
	case event.Delayed:
		return fmt.Sprintf("should have started at %s, %d s ago", at(d.ScheduledStartTime), d.DelaySec)
	case event.Alert:
		text := fmt.Sprintf("since %s, for %d s (threshold %d s)", at(d.StartedAt), d.DurationSec, d.ThresholdSec)
		if d.Reference != "" {
			text += ": " + d.Reference
		}
		return text
	case event.Recovered:
		return fmt.Sprintf("from %s to %s, %d s", at(d.StartedAt), at(d.RecoveredAt), d.TotalDurationSec)
	case event.Outage:
		return fmt.Sprintf("no media since %s, for %d s (%s: %s)", at(d.StartedAt), d.DurationSec, d.Failure, d.LastError)
	case event.MonitorFailure:
		return strings.TrimSuffix(d.Reason+": "+d.ErrorDetails, ": ")
	}
	return ""
}
