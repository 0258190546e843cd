package applier

import (
	"errors"
	"fmt"
	"time"

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
			*p = append(*p, prefix+": "+messageOf(err))
		}
	}
	once := func(prefix string) {
		if seen[prefix] {
			*p = append(*p, prefix+" is there twice")
		}
		seen[prefix] = true
	}
	for n, d := range f.Destinations {
		prefix := label("destination", d.Name, n)
		once(prefix)
		if len(d.Kept) > 0 {
			add(prefix, d.CheckWithoutSecrets()...)
		} else {
			add(prefix, d.Check()...)
		}
		if d.Name != "" && d.Fallback == d.Name {
			*p = append(*p, prefix+": fallback is the destination itself")
		}
	}
	for n, r := range f.Routes {
		prefix := label("route", r.Name, n)
		if r.Default {
			prefix = defaultRoute
			if r.Name != "" || r.Continue {
				*p = append(*p, prefix+": it has neither name nor continue")
			}
			r.Name = "default"
		}
		once(prefix)
		notify.LoadZones(r.Windows, time.LoadLocation) // Check refuses a window without a zone
		add(prefix, r.Check()...)
	}
	if f.Duty != nil {
		for _, person := range *f.Duty {
			notify.LoadZones(person.Windows, time.LoadLocation)
		}
		add("duty", notify.Duty{People: *f.Duty}.CheckPeople()...)
	}
	for n, s := range f.Silences {
		prefix := label("silence", s.Comment, n)
		once(prefix)
		if s.Comment == "" {
			*p = append(*p, prefix+": comment is missing: it tells the silence from others")
		}
		if s.StartsAt.IsZero() {
			s.StartsAt = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		if s.Window != nil {
			_ = s.Window.LoadZone(time.LoadLocation) // Check refuses a window without a zone
		}
		add(prefix, s.Check(time.Time{})...)
	}
}

// messageOf returns the text of an error without its code.
func messageOf(err error) string {
	if coded, is := errors.AsType[*monitor.Error](err); is {
		return coded.Message
	}
	return err.Error()
}

const defaultRoute = "default route"

// label names an element: by its name, or its place from 1.
func label(noun, name string, n int) string {
	if name == "" {
		return fmt.Sprintf("%s %d", noun, n+1)
	}
	return fmt.Sprintf("%s %q", noun, name)
}
