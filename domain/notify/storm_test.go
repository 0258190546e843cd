package notify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestTenIncidentsOrAFifthOfTheStreamsAreAStorm(t *testing.T) {
	openings := func(count int, sec float64) (all []notify.Opening) {
		for n := range count {
			all = append(all, notify.Opening{IncidentID: fmt.Sprintf("%v %d", sec, n), At: at(sec)})
		}
		return all
	}
	for _, c := range []struct {
		name  string
		o     notify.Openings
		want  int // incidents that are told as a storm
		joins bool
	}{
		{"nine of many", notify.Openings{Opened: openings(9, 0), Live: 1000}, 0, false},
		{"ten of many", notify.Openings{Opened: openings(10, 0), Live: 1000}, 10, false},
		{"all of two", notify.Openings{Opened: openings(2, 0), Live: 2}, 0, false},
		{"a fifth", notify.Openings{Opened: openings(3, 0), Live: 15}, 3, false},
		{"less than a fifth", notify.Openings{Opened: openings(3, 0), Live: 16}, 0, false},
		{"none is live", notify.Openings{Opened: openings(3, 0)}, 0, false},
		{"some within a minute", notify.Openings{Opened: openings(1, 59), Earlier: append(openings(2, 0), openings(1, 59)...), Live: 15}, 3, false},
		{"some a minute before", notify.Openings{Opened: openings(1, 60), Earlier: openings(2, 0), Live: 15}, 0, false},
		{"a storm that grew within a minute", notify.Openings{Opened: openings(1, 59), Live: 15, StormGrewAt: at(0)}, 1, true},
		{"a storm, and some that could not be counted", notify.Openings{Opened: openings(1, 59), Earlier: append(openings(2, 58), openings(1, -1)...), Live: 15, StormGrewAt: at(0)}, 3, true},
		{"one that is counted late, before a storm", notify.Openings{Opened: openings(1, 0), Live: 15, StormGrewAt: at(60)}, 0, false},
		{"a storm that grew a minute before", notify.Openings{Opened: openings(1, 60), Earlier: openings(2, 58), Live: 15, StormGrewAt: at(0)}, 3, false},
		{"nothing was opened", notify.Openings{Earlier: openings(20, 0), Live: 20}, 0, false},
	} {
		if ids, joins := c.o.Gather(); len(ids) != c.want || joins != c.joins {
			t.Errorf("%s: %q, joins %v", c.name, ids, joins)
		}
	}
}

func TestAStormHasNoMoreStreamsThanItIsCountedAmong(t *testing.T) {
	for _, c := range []struct{ live, streams, want int }{{40, 3, 40}, {40, 41, 41}, {0, 12, 0}} {
		storm := notify.Storm{Live: c.live}
		for n := range c.streams {
			storm.Incidents = append(storm.Incidents, notify.StormIncident{MonitorID: monitor.ID(fmt.Sprint("mon-", n))})
		}
		if got := storm.Among(); got != c.want {
			t.Errorf("%d streams, of which %d were live, are counted among %d, want %d", c.streams, c.live, got, c.want)
		}
	}
}

// Each test is a timeline of streams, of which 15 are live: three are a fifth.

func TestAStormIsOneMessageFromItsFirstIncidentsToItsEnd(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0})
	late := func(sec float64) incident.Input { return began(incident.Late, sec) } // it stays at severity 0 for 10 min
	w.at(0, late(0), 0, 1).at(20, late(20), 2).at(22, late(22), 3)
	w.at(70, late(70), 4).at(71, late(71), 5) // within 60 s of the newest one
	w.at(100, ended(incident.Late, 100), 0, 1, 2, 3).at(200, ended(incident.Late, 200), 4, 5)
	w.at(400, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 25 4 streams opened!, 75 6 streams updated, " +
		"160 mon-0 recovered, 160 mon-1 recovered, 205 6 streams updated, 265 6 streams recovered"})
}

func TestTroubleLongAfterAStormIsToldByItself(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0})
	w.at(0, began(incident.Late, 0), 0, 1, 2)
	w.at(60, began(incident.Late, 60), 3).at(100, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 3 streams opened!, 60 mon-3 opened!"})
}

func TestTroubleThatComesBackAfterAStormIsToldByItself(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0})
	w.at(0, began(incident.Late, 0), 0, 1, 2).at(10, ended(incident.Late, 10), 0, 1, 2)
	w.at(300, began(incident.Late, 300), 2).at(400, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 3 streams opened!, 15 3 streams updated, " +
		"70 mon-0 recovered, 70 mon-1 recovered, 75 3 streams recovered, 300 mon-2 opened!"})
}

func TestFewerThanThreeStreamsOfAStormAreToldOneByOne(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0, "team": 4})
	w.at(0, began(incident.Late, 0), 8, 9, 10, 11, 0).at(10, began(incident.Late, 10), 1).at(20, nil)
	w.expect(map[string]string{
		"chat": "0 mon-8 opened!, 0 mon-9 opened!, 5 5 streams opened!, 15 6 streams updated",
		"team": "0 mon-0 opened!, 10 mon-1 opened!",
	})
	w.at(30, incident.Acknowledge{By: "ann"}, 0)
	w.at(40, began(incident.Late, 40), 2).at(50, began(incident.Late, 50), 3) // the third and the fourth of the team
	w.at(60, ended(incident.Late, 60), 0, 1, 2, 3).at(200, nil)
	w.expect(map[string]string{
		"chat": "0 mon-8 opened!, 0 mon-9 opened!, 5 5 streams opened!, 15 6 streams updated, 45 7 streams updated, 55 8 streams updated",
		"team": "0 mon-0 opened!, 10 mon-1 opened!, 30 mon-0 acknowledged, 45 3 streams opened!, 55 4 streams updated, 65 4 streams updated, " +
			"120 mon-0 recovered, 120 mon-1 recovered, 125 4 streams recovered",
	})
}

// Its end is told to a destination to which nothing leads any more; its link is about none.
func TestNoIncidentOfAStormLeadsToADestinationThatIsNotNotified(t *testing.T) {
	storm := notify.Storm{Incidents: []notify.StormIncident{{MonitorID: "mon-0"}, {MonitorID: "mon-1"}, {MonitorID: "mon-2"}}}
	chat, disabled := destination("chat", notify.Discord), destination("chat", notify.Discord)
	disabled.Enabled = false
	routesTo := func(m notify.Match, known ...notify.Destination) notify.Routing {
		r := notify.Routing{Destinations: map[string]notify.Destination{}, Routes: []notify.Route{{Destinations: []string{"chat"}, Match: m}}}
		for _, d := range known {
			r.Destinations[d.ID] = d
		}
		return r
	}
	for _, c := range []struct {
		name     string
		d        notify.Destination
		r        notify.Routing
		led, all int
	}{
		{"all are routed", chat, routesTo(notify.Match{}, chat), 3, 3},
		{"some are routed", chat, routesTo(notify.Match{Monitors: []monitor.ID{"mon-1"}}, chat), 1, 1},
		{"none is routed", chat, routesTo(notify.Match{Monitors: []monitor.ID{"mon-9"}}, chat), 0, 3},
		{"it is disabled", disabled, routesTo(notify.Match{}, disabled), 0, 3},
		{"it is deleted", notify.Destination{}, routesTo(notify.Match{}), 0, 3},
	} {
		if led, all := storm.LedTo(c.d, c.r), storm.Of(c.d, c.r); len(led.Incidents) != c.led || len(all.Incidents) != c.all {
			t.Errorf("%s: %d incidents lead there, and its messages are about %d", c.name, len(led.Incidents), len(all.Incidents))
		}
	}
}

func TestASilenceOverPartOfAStormHoldsBackNothing(t *testing.T) {
	of := func(ids ...monitor.ID) notify.Silence {
		return notify.Silence{StartsAt: at(0), EndsAt: at(300), Match: notify.Match{Monitors: ids}}
	}
	w := newStormWorld(t, 15, map[string]int{"chat": 0}).silence(of("mon-0", "mon-1"))
	w.at(0, began(incident.Late, 0), 0, 1, 2, 3).at(400, nil)
	w.expect(map[string]string{"chat": "5 4 streams opened!"})

	w = newStormWorld(t, 15, map[string]int{"chat": 0}).silence(of("mon-0", "mon-1", "mon-2", "mon-3"))
	w.at(0, began(incident.Late, 0), 0, 1, 2, 3).at(400, nil)
	w.expect(map[string]string{"chat": "300 4 streams opened!"})

	w = newStormWorld(t, 15, map[string]int{"chat": 0})
	w.at(0, began(incident.Late, 0), 0, 1, 2, 3).at(10, nil).silence(of("mon-0", "mon-1", "mon-2", "mon-3"))
	w.at(20, ended(incident.Late, 20), 0, 1, 2, 3).at(400, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 4 streams opened!, 80 mon-0 recovered, 80 mon-1 recovered, 85 4 streams recovered"})
}

func TestAStormIsAcknowledgedWhenAllOfItsOpenIncidentsAre(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0})
	w.routing.Routes[0].Repeat = 10 * time.Minute
	w.at(0, began(incident.NoMedia, 0), 0, 1, 2, 3) // severity 2, 3 from 300 s on
	w.at(400, incident.Acknowledge{By: "ann"}, 0, 1).at(500, ended(incident.NoMedia, 500), 2).at(910, incident.Acknowledge{By: "bob"}, 3).at(5000, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 4 streams opened!, 305 4 streams worse!, 905 4 streams repeated!, 915 4 streams acknowledged"})
}
