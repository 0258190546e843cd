package applier

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// check adds the problems of a file by itself: what the gateway would refuse, and names
// that are there twice. Names of destinations are looked up later, because the gateway may
// have others.
func (f File) check(p *Problems) {
	seen := map[string]bool{}
	add := func(prefix string, wrong ...error) {
		for _, err := range wrong {
			text := err.Error()
			if coded, is := errors.AsType[*monitor.Error](err); is {
				text = coded.Message
			}
			*p = append(*p, prefix+": "+text)
		}
	}
	once := func(prefix string) {
		if seen[prefix] {
			*p = append(*p, prefix+" is there twice")
		}
		seen[prefix] = true
	}
	for n, d := range f.Destinations {
		prefix := label("destination", string(d.Name), n)
		once(prefix)
		add(prefix, d.domain().Check()...)
		if d.Name != "" && d.Fallback == d.Name {
			*p = append(*p, prefix+": fallback is the destination itself")
		}
	}
	for n, r := range f.Routes {
		prefix := label("route", string(r.Name), n)
		if r.Default {
			prefix = defaultRoute
			if r.Name != "" || r.Continue {
				*p = append(*p, prefix+": it has neither name nor continue")
			}
		}
		once(prefix)
		add(prefix, r.domain().Check()...)
	}
	for n, s := range f.Silences {
		prefix := label("silence", string(s.Comment), n)
		once(prefix)
		if s.Comment == "" {
			*p = append(*p, prefix+": comment is missing: it tells the silence from others")
		}
		add(prefix, s.domain().Check(time.Time{})...)
		for _, day := range s.days() {
			if weekday(day) < 0 {
				*p = append(*p, fmt.Sprintf("%s: window.weekdays has %.20q; accepted are mon, tue, wed, thu, fri, sat, sun", prefix, day))
			}
		}
	}
}

const defaultRoute = "default route"

// label names an element: by its name, or its place from 1.
func label(noun, name string, n int) string {
	if name == "" {
		return fmt.Sprintf("%s %d", noun, n+1)
	}
	return fmt.Sprintf("%s %q", noun, name)
}

func (d Destination) domain() notify.Destination {
	return notify.Destination{
		Name: string(d.Name), Kind: notify.Kind(d.Kind), Language: notify.Language(d.Language),
		Config: plain(d.Config), Secrets: plain(d.Secrets), Enabled: true,
	}
}

func (r Route) domain() notify.Route {
	name := string(r.Name)
	if r.Default {
		name = "default"
	}
	return notify.Route{
		Name: name, Default: r.Default, Match: r.Match.domain(), Destinations: strs(r.Destinations), Continue: r.Continue,
		Delay: time.Duration(r.DelaySec) * time.Second, Repeat: time.Duration(r.RepeatSec) * time.Second,
	}
}

func (m Match) domain() notify.Match {
	return notify.Match{
		Events: list[event.Type](m.Events), Conditions: list[incident.Name](m.Conditions), MinSeverity: m.MinSeverity,
		Monitors: list[monitor.ID](m.Monitors), Metadata: plain(m.Metadata),
	}
}

func (s Silence) domain() notify.Silence {
	silence := notify.Silence{Match: s.Match.domain(), StartsAt: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), CreatedBy: string(s.By), Comment: string(s.Comment)}
	if s.From != nil {
		silence.StartsAt = *s.From
	}
	if s.To != nil {
		silence.EndsAt = *s.To
	}
	if w := s.Window; w != nil {
		silence.Window = &notify.Window{Start: string(w.Start), End: string(w.End), Timezone: string(w.Timezone)}
		for _, day := range s.days() {
			silence.Window.Weekdays = append(silence.Window.Weekdays, max(weekday(day), time.Sunday))
		}
		slices.Sort(silence.Window.Weekdays)
		silence.Window.Weekdays = slices.Compact(silence.Window.Weekdays)
		_ = silence.Window.LoadZone(time.LoadLocation) // Check refuses a window without a zone
	}
	return silence
}

// days returns the names of the days of the window.
func (s Silence) days() (days []string) {
	if s.Window == nil {
		return nil
	}
	for _, day := range s.Window.Weekdays {
		days = append(days, string(day))
	}
	return days
}

// weekday returns the day with a name such as mon, or one that does not exist.
func weekday(name string) time.Weekday {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name == strings.ToLower(d.String()[:3]) {
			return d
		}
	}
	return -1
}

func list[T ~string](from []text) (all []T) {
	for _, t := range from {
		all = append(all, T(t))
	}
	return all
}

func strs(from []text) []string { return slices.Clip(list[string](from)) }

func plain(from map[string]text) map[string]string {
	all := map[string]string{}
	for name, t := range from {
		all[name] = string(t)
	}
	return all
}
