package watch_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// want is an expected event, with checks of its data. Times may differ by
// tolerance.
type want struct {
	at    float64
	typ   event.Type
	check []func(event.Data) string
}

const tolerance = 0.001

// expect compares all emitted events with the expected ones.
func (w *world) expect(wants ...want) *world {
	w.t.Helper()
	ok := len(wants) == len(w.events)
	for i := 0; ok && i < len(wants); i++ {
		e := w.events[i]
		late := tolerance
		if strings.HasSuffix(string(e.Type), "_recovered") {
			late = 1 // after the publication of the first good segment (decision S18)
		}
		ok = e.Type == wants[i].typ && e.at >= wants[i].at-tolerance && e.at <= wants[i].at+late
		for _, c := range wants[i].check {
			if complaint := c(e.Data); ok && complaint != "" {
				w.t.Errorf("%s at %v: %s", e.Type, e.at, complaint)
			}
		}
	}
	if !ok {
		var b strings.Builder
		for _, x := range wants {
			fmt.Fprintf(&b, "  wanted  %8.3f %s\n", x.at, x.typ)
		}
		for _, e := range w.events {
			fmt.Fprintf(&b, "  emitted %8.3f %s %+v\n", e.at, e.Type, e.Data)
		}
		w.t.Errorf("the events differ:\n%s", b.String())
	}
	return w
}

func emits(at float64, t event.Type, check ...func(event.Data) string) want {
	return want{at, t, check}
}

// since checks the time at which the event's condition began.
func since(want float64) func(event.Data) string {
	return func(d event.Data) string {
		var got time.Time
		switch d := d.(type) {
		case event.Alert:
			got = d.StartedAt
		case event.Recovered:
			got = d.StartedAt
		case event.Outage:
			got = d.StartedAt
		case event.Started:
			got = d.StartedAt
		}
		if abs(sec(got)-want) > tolerance {
			return fmt.Sprintf("since %v, want %v", sec(got), want)
		}
		return ""
	}
}

// lasting checks the duration in whole seconds.
func lasting(want int64) func(event.Data) string {
	return func(d event.Data) string {
		var got int64
		switch d := d.(type) {
		case event.Alert:
			got = d.DurationSec
		case event.Recovered:
			got = d.TotalDurationSec
		case event.Outage:
			got = d.DurationSec
		case event.Ended:
			got = d.DurationSec
		case event.Delayed:
			got = d.DelaySec
		}
		if got != want {
			return fmt.Sprintf("lasting %d s, want %d s", got, want)
		}
		return ""
	}
}

// because checks the reason of an event, or the failure of an outage.
func because(want string) func(event.Data) string {
	return func(d event.Data) string {
		var got string
		switch d := d.(type) {
		case event.Ended:
			got = d.Reason
		case event.MonitorFailure:
			got = d.Reason
		case event.Outage:
			got = d.Failure
		}
		if got != want {
			return fmt.Sprintf("because of %q, want %q", got, want)
		}
		return ""
	}
}

func abs(x float64) float64 { return max(x, -x) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
