package watch_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// timeline is a watch from one second to another, with all events that it emits, as describe
// writes them. Of some tasks it has the times at which they begin.
type timeline struct {
	name        string
	set         []option
	from, until float64
	events      string
	tasks       []tasks
}

// tasks are all tasks of a kind that begin in a time.
type tasks struct {
	kind watch.TaskKind
	in   span
	at   []float64
}

func asked(from, to float64, at ...float64) tasks {
	return tasks{watch.TaskResolve, span{from, to}, at}
}

func read(from, to float64, at ...float64) tasks {
	return tasks{watch.TaskPlaylist, span{from, to}, at}
}

func analysed(from, to float64, at ...float64) tasks {
	return tasks{watch.TaskSegment, span{from, to}, at}
}

// follow checks timelines. Each is a subtest.
func follow(t *testing.T, all []timeline) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			w := scenario(t, c.set...).from(c.from).restarting(c.until).expect(c.events)
			for _, want := range c.tasks {
				w.expectBegun(want.kind, want.in, want.at...)
			}
		})
	}
}

// expect compares all emitted events with a description of them.
func (w *world) expect(want string) *world {
	w.t.Helper()
	var got []string
	for _, e := range w.events {
		got = append(got, describe(e))
	}
	if text := strings.Join(got, ", "); text != want {
		w.t.Errorf("emitted\n  %s\nwant\n  %s", text, want)
	}
	return w
}

// describe writes an event as "130 blackout since 100 for 30". Times are seconds of the
// timeline, durations are whole seconds. That of a recovery is rounded down: it is emitted
// within a second of the publication of the first good segment (decision S18).
func describe(e seenEvent) string {
	second := func(t time.Time) float64 { return cmp.Or(math.Round(sec(t)*1000)/1000, 0) }
	name, when := string(e.Type), second(at(e.at))
	if _, ok := e.Data.(event.Recovered); ok {
		when = math.Floor(when)
	}
	text := fmt.Sprint(when, " ", name[strings.IndexByte(name, '.')+1:])
	switch d := e.Data.(type) {
	case event.Started:
		return text + fmt.Sprint(" since ", second(d.StartedAt))
	case event.Delayed:
		return text + fmt.Sprint(" for ", d.DelaySec)
	case event.Alert:
		return text + fmt.Sprint(" since ", second(d.StartedAt), " for ", d.DurationSec)
	case event.Recovered:
		return text + fmt.Sprint(" since ", second(d.StartedAt), " until ", second(d.RecoveredAt), " for ", d.TotalDurationSec)
	case event.Outage:
		return text + fmt.Sprint(" since ", second(d.StartedAt), " for ", d.DurationSec, " by ", d.Failure)
	case event.Ended:
		return text + fmt.Sprint(" until ", second(d.EndedAt), " for ", d.DurationSec, " by ", d.Reason)
	case event.MonitorFailure:
		return text + " by " + d.Reason
	}
	return text
}

// emitted counts the events of a type.
func (w *world) emitted(typ event.Type) (n int) {
	for _, e := range w.events {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// begunIn counts the tasks of a kind that began in a time.
func (w *world) begunIn(k watch.TaskKind, s span) (n int) {
	for _, at := range w.begun[k] {
		if s.has(at) {
			n++
		}
	}
	return n
}

const tolerance = 0.001

// expectBegun compares the times at which tasks of a kind began.
func (w *world) expectBegun(k watch.TaskKind, s span, want ...float64) {
	w.t.Helper()
	var got []float64
	for _, x := range w.begun[k] {
		if s.has(x) {
			got = append(got, x)
		}
	}
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return abs(a-b) < tolerance }) {
		w.t.Errorf("%s began at %v, want %v", k, got, want)
	}
}

// logged returns the entries of the log with this message.
func (w *world) logged(message string) (entries []watch.LogEntry) {
	for _, e := range w.log {
		if e.Message == message {
			entries = append(entries, e)
		}
	}
	return entries
}

func abs(x float64) float64 { return max(x, -x) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
