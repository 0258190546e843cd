package notify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func person(name string, windows ...*notify.Window) notify.Person {
	p := notify.Person{Name: name, DestinationID: name}
	for _, w := range windows {
		p.Windows = append(p.Windows, *w)
	}
	return p
}

func names(people []notify.Person) string {
	var all []string
	for _, p := range people {
		all = append(all, p.Name)
	}
	return strings.Join(all, "+")
}

func TestDutyIsHandedOverByTheClockOfTheZone(t *testing.T) {
	in := func(zone string) func(start, end string, days ...string) *notify.Window {
		return func(start, end string, days ...string) *notify.Window { return window(t, zone, start, end, days...) }
	}
	berlin, newYork, tokyo, howe, utcZone := in("Europe/Berlin"), in("America/New_York"), in("Asia/Tokyo"), in("Australia/Lord_Howe"), in("UTC")
	override := func(who, from, to string) notify.Override {
		return notify.Override{Person: who, StartsAt: utc(t, from), EndsAt: utc(t, to)}
	}
	for _, c := range []struct {
		name     string
		duty     notify.Duty
		from, to string
		want     string // who is on duty from when on, in UTC
	}{
		{"the clocks go forward in the night", notify.Duty{People: []notify.Person{person("day", berlin("08:00", "22:00")), person("night", berlin("22:00", "08:00"))}},
			"03-28 12:00", "03-30 00:00", "day, 03-28 21:00 night, 03-29 06:00 day, 03-29 20:00 night"},
		{"the clocks go back in the night", notify.Duty{People: []notify.Person{person("day", berlin("08:00", "22:00")), person("night", berlin("22:00", "08:00"))}},
			"10-24 12:00", "10-26 00:00", "day, 10-24 20:00 night, 10-25 07:00 day, 10-25 21:00 night"},
		{"handed over in the hour that is skipped", notify.Duty{People: []notify.Person{person("ann", berlin("14:30", "02:30")), person("ben", berlin("02:30", "14:30"))}},
			"03-28 14:00", "03-29 20:00", "ann, 03-29 01:00 ben, 03-29 12:30 ann"},
		{"handed over in the hour that comes twice", notify.Duty{People: []notify.Person{person("ann", newYork("13:30", "01:30")), person("ben", newYork("01:30", "13:30"))}},
			"11-01 00:00", "11-01 20:00", "ann, 11-01 05:30 ben, 11-01 18:30 ann"},
		{"handed over in the half hour that is skipped", notify.Duty{People: []notify.Person{person("ann", howe("14:00", "02:15")), person("ben", howe("02:15", "14:00"))}},
			"10-03 06:00", "10-04 06:00", "ann, 10-03 15:30 ben, 10-04 03:00 ann"},
		{"handed over in the half hour that comes twice", notify.Duty{People: []notify.Person{person("ann", howe("14:00", "01:45")), person("ben", howe("01:45", "14:00"))}},
			"04-04 06:00", "04-05 06:00", "ann, 04-04 14:45 ben, 04-05 03:30 ann"},
		{"a clock that never changes", notify.Duty{People: []notify.Person{person("ann", tokyo("00:00", "12:00")), person("ben", tokyo("12:00", "00:00"))}},
			"03-29 00:00", "03-30 00:00", "ann, 03-29 03:00 ben, 03-29 15:00 ann"},
		{"whole days, at midnight", notify.Duty{People: []notify.Person{person("ann", newYork("00:00", "00:00", "sat", "sun")), person("ben", newYork("00:00", "00:00", "mon", "tue", "wed", "thu", "fri"))}},
			"03-06 12:00", "03-10 00:00", "ben, 03-07 05:00 ann, 03-09 04:00 ben"},
		{"a week that starts on Sunday evening", notify.Duty{People: []notify.Person{person("ann", utcZone("18:00", "00:00", "sun"), utcZone("00:00", "18:00", "mon"))}},
			"02-28 00:00", "03-09 00:00", "nobody, 03-01 18:00 ann, 03-02 18:00 nobody, 03-08 18:00 ann"},
		{"two at once, and a gap", notify.Duty{People: []notify.Person{person("ann", utcZone("08:00", "13:00")), person("ben", utcZone("12:00", "16:00"))}},
			"03-02 00:00", "03-02 20:00", "nobody, 03-02 08:00 ann, 03-02 12:00 ann+ben, 03-02 13:00 ben, 03-02 16:00 nobody"},
		{"an override is in place of the plan, also over the change of the clocks", notify.Duty{
			People:    []notify.Person{person("ann", berlin("00:00", "00:00")), person("ben")},
			Overrides: []notify.Override{override("ben", "03-28 23:30", "03-29 02:30"), override("gone", "03-29 03:00", "03-29 04:00")},
		}, "03-28 12:00", "03-29 12:00", "ann, 03-28 23:30 ben, 03-29 02:30 ann"},
	} {
		now := utc(t, c.from)
		got := orNobody(names(c.duty.At(now)))
		for at, next := c.duty.NextHandover(now); !at.IsZero() && at.Before(utc(t, c.to)); at, next = c.duty.NextHandover(at) {
			got += ", " + at.UTC().Format("01-02 15:04 ") + orNobody(names(next))
			if names(c.duty.At(at)) != names(next) || names(c.duty.At(at.Add(-time.Second))) == names(next) {
				t.Errorf("%s: at %v it is not handed over", c.name, at)
			}
		}
		if got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

func TestSomebodyIsAlwaysOnDutyIfTheWindowsHaveNoGap(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Africa/Cairo"} {
		for _, handover := range [][2]string{{"00:00", "12:00"}, {"02:15", "14:00"}, {"01:45", "02:45"}, {"00:30", "03:00"}} {
			d := notify.Duty{People: []notify.Person{person("ann", window(t, zone, handover[0], handover[1])), person("ben", window(t, zone, handover[1], handover[0]))}}
			for _, from := range []string{"03-01 00:00", "10-01 00:00"} { // the clocks change in the two months from then on
				for now := utc(t, from); now.Before(utc(t, from).Add(60 * 24 * time.Hour)); now = now.Add(15 * time.Minute) {
					if on := d.At(now); len(on) != 1 {
						t.Fatalf("%s, %v: at %v %q is on duty", zone, handover, now, names(on))
					}
				}
			}
		}
	}
}

func TestARouteOnDutyLeadsToWhoeverIsOnDuty(t *testing.T) {
	onDuty := route(notify.Match{}, time.Minute, "pager")
	onDuty.OnDuty = true
	fallback := route(notify.Match{}, 0, "slack", "webhook")
	fallback.Default = true
	r := routing(onDuty, fallback)
	r.Destinations["ann"], r.Destinations["off"] = destination("ann", notify.Ntfy), notify.Destination{ID: "off"}
	noon, evening := utc(t, "03-01 12:00"), utc(t, "03-01 20:00")
	for _, c := range []struct {
		name string
		duty notify.Duty
		at   time.Time
		want []string
	}{
		{"somebody", notify.Duty{People: []notify.Person{person("ann", window(t, "UTC", "18:00", "06:00"))}}, evening, []string{"pager after 1m0s", "ann after 1m0s"}},
		{"nobody now", notify.Duty{People: []notify.Person{person("ann", window(t, "UTC", "18:00", "06:00"))}}, noon, []string{"pager after 1m0s", "slack after 1m0s"}},
		{"no plan", notify.Duty{}, noon, []string{"pager after 1m0s", "slack after 1m0s"}},
		{"somebody who is told nowhere", notify.Duty{People: []notify.Person{person("off", window(t, "UTC", "00:00", "00:00")), person("", window(t, "UTC", "00:00", "00:00"))}}, noon, []string{"pager after 1m0s", "slack after 1m0s"}},
	} {
		r.Duty = c.duty
		if got := ids(r.Targets(blackIncident, c.at)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// eight is 20:00 on a Sunday.
func TestWhatIsOpenWhenAWindowOpensOrDutyIsHandedOverIsToldThen(t *testing.T) {
	ann := incident.Acknowledge{By: "ann"}
	for name, c := range map[string]struct {
		windows []*notify.Window // of the route to the one that edits; none: it leads to whoever is on duty
		delay   time.Duration
		happens func(w *world)
		edits   string
		writes  string
	}{
		"open since before the window": {[]*notify.Window{window(t, "UTC", "20:30", "23:00")}, 0, func(w *world) {
			w.at(0, began(black, 0)).at(3000)
		}, "1800 opened!", ""},
		"over before the window": {[]*notify.Window{window(t, "UTC", "20:30", "23:00")}, 0, func(w *world) {
			w.at(0, began(black, 0)).at(100, ended(black, 100)).at(3000)
		}, "", ""},
		"taken before the window": {[]*notify.Window{window(t, "UTC", "20:30", "23:00")}, 0, func(w *world) {
			w.at(0, began(black, 0)).at(700, ann).at(3000)
		}, "1800 opened", ""},
		"taken before the window of an escalation": {[]*notify.Window{window(t, "UTC", "20:30", "23:00")}, time.Minute, func(w *world) {
			w.at(0, began(black, 0)).at(700, ann).at(3000)
		}, "", ""},
		"the delay is over in the window": {[]*notify.Window{window(t, "UTC", "20:30", "23:00")}, time.Hour, func(w *world) {
			w.at(0, began(black, 0)).at(4000)
		}, "3600 opened!", ""},
		"the delay is over after the window": {[]*notify.Window{window(t, "UTC", "20:30", "20:50")}, time.Hour, func(w *world) {
			w.at(0, began(black, 0)).at(8000)
		}, "", ""},
		"after the window only the end is told": {[]*notify.Window{window(t, "UTC", "19:00", "20:01")}, 0, func(w *world) {
			w.at(0, began(black, 0)).at(900, ended(black, 900)).at(3000)
		}, "0 opened!, 960 recovered", ""},
		"what comes back after the window is told when it opens again": {[]*notify.Window{window(t, "UTC", "19:00", "20:05"), window(t, "UTC", "20:30", "21:00")}, 0, func(w *world) {
			w.at(0, began(black, 0)).at(100, ended(black, 100)).at(900, began(black, 900)).at(3000)
		}, "0 opened!, 100 updated, 160 recovered, 1800 opened!", ""},
		"each on duty is told what is open, and of the end": {nil, 0, func(w *world) {
			w.at(0, began(black, 0)).at(2400, ended(black, 2400)).at(3000)
		}, "0 opened!, 120 worse!, 600 worse!, 2460 recovered", "1800 opened!, 2460 recovered"},
		"what the one before has taken makes no sound": {nil, 0, func(w *world) {
			w.at(0, began(black, 0)).at(700, ann).at(2400, ended(black, 2400)).at(3000)
		}, "0 opened!, 120 worse!, 600 worse!, 700 acknowledged, 2460 recovered", "1800 opened, 2460 recovered"},
		"an escalation goes to who is on duty by then": {nil, 40 * time.Minute, func(w *world) {
			w.at(0, began(black, 0)).at(3000)
		}, "", "2400 opened!"},
		"an escalation that was before is one of the next, too": {nil, 20 * time.Minute, func(w *world) {
			w.at(0, began(black, 0)).at(3000)
		}, "1200 opened!", "1800 opened!"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, edits(), writes())
			night := notify.Route{Destinations: []string{"edits"}, DelaySec: int64(c.delay.Seconds())}
			for _, window := range c.windows {
				night.Windows = append(night.Windows, *window)
			}
			if c.windows == nil {
				night.Destinations, night.OnDuty = nil, true
				w.routing.Duty = notify.Duty{People: []notify.Person{person("edits", window(t, "UTC", "08:00", "20:30")), person("writes", window(t, "UTC", "20:30", "08:00"))}}
			}
			w.routing.Routes = []notify.Route{night}
			w.reroute()
			c.happens(w)
			w.expect(map[string]string{"edits": c.edits, "writes": c.writes})
		})
	}
}

func TestAPlanThatCannotBeIsRefused(t *testing.T) {
	tooMany := notify.Duty{}
	for n := range notify.MaxPeople + 1 {
		tooMany.People = append(tooMany.People, person(fmt.Sprint(n)))
	}
	expectWrong(t, tooMany.CheckPeople(), "people")
	wrong := notify.Duty{People: []notify.Person{person("ann"), person(""), person("ann", &notify.Window{Start: "9", End: "10:00", Timezone: "Mars"})}}
	expectWrong(t, wrong.CheckPeople(), "people[1].name", "people[2].name", "people[2].windows[0].start", "people[2].windows[0].timezone")
	d := notify.Duty{People: []notify.Person{person("ann")}}
	expectWrong(t, d.CheckOverride(notify.Override{Person: "ann", StartsAt: at(0), EndsAt: at(60), CreatedBy: "ben"}, at(0)))
	expectWrong(t, d.CheckOverride(notify.Override{Person: "eve", StartsAt: at(0), EndsAt: at(0)}, at(0)), "person", "to", "by")
	expectWrong(t, d.CheckOverride(notify.Override{Person: "ann", StartsAt: at(-60), EndsAt: at(-30), CreatedBy: "ben"}, at(0)), "to")
	with := d.WithOverride(notify.Override{ID: "1", EndsAt: at(60)}, at(0)).WithOverride(notify.Override{ID: "2", EndsAt: at(120)}, at(60))
	if len(with.Overrides) != 1 || with.Overrides[0].ID != "2" {
		t.Errorf("with those that are over: %v", with.Overrides)
	}
}
