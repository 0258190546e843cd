package notify_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestThreeStreamsAndTenOrAFifthOfThemAreAStorm(t *testing.T) {
	openings := func(count int, sec float64, c incident.Name, severity int) (all []notify.Opening) {
		for n := range count {
			all = append(all, notify.Opening{IncidentID: fmt.Sprintf("%v %s %d", sec, c, n), At: at(sec), Condition: c, Severity: severity})
		}
		return all
	}
	of := func(count int, sec float64) []notify.Opening { return openings(count, sec, black, 1) }
	open := []notify.Gathered{{StormID: "s", First: of(1, 0)[0]}}
	for _, c := range []struct {
		name string
		o    notify.Openings
		want string // the storms, and how many incidents join them
	}{
		{"nine of many", notify.Openings{Opened: of(9, 0), Watched: 1000}, ""},
		{"ten of many", notify.Openings{Opened: of(10, 0), Watched: 1000}, "new black 10"},
		{"all of two", notify.Openings{Opened: of(2, 0), Watched: 2}, ""},
		{"a fifth", notify.Openings{Opened: of(3, 0), Watched: 15}, "new black 3"},
		{"less than a fifth", notify.Openings{Opened: of(3, 0), Watched: 16}, ""},
		{"all of six", notify.Openings{Opened: of(6, 0), Watched: 6}, "new black 6"},
		{"some within a minute", notify.Openings{Opened: of(1, 59), Earlier: of(2, 0), Watched: 15}, "new black 3"},
		{"some a minute before", notify.Openings{Opened: of(1, 60), Earlier: of(2, 0), Watched: 15}, ""},
		{"another condition", notify.Openings{Opened: append(of(2, 0), openings(1, 0, silent, 1)...), Watched: 15}, ""},
		{"two conditions", notify.Openings{Opened: append(of(3, 0), openings(4, 0, silent, 1)...), Watched: 15}, "new black 3, new silent 4"},
		{"one that is worse", notify.Openings{Opened: append(of(3, 0), openings(1, 10, black, 2)...), Watched: 15}, "new black 3"},
		{"a storm that began within a minute", notify.Openings{Opened: of(1, 59), Watched: 15, Storms: open}, "s black 1"},
		{"a storm that began a minute before", notify.Openings{Opened: of(1, 60), Earlier: of(2, 59), Watched: 15, Storms: open}, "s black 2"},
		{"a storm of something else", notify.Openings{Opened: openings(1, 1, silent, 1), Watched: 15, Storms: open}, ""},
		{"a storm of what is less severe", notify.Openings{Opened: openings(1, 1, black, 2), Watched: 15, Storms: open}, ""},
		{"nothing was opened", notify.Openings{Earlier: of(20, 0), Watched: 20}, ""},
	} {
		var got []string
		for _, g := range c.o.Gather() {
			got = append(got, fmt.Sprintf("%s %s %d", cmp.Or(g.StormID, "new"), g.First.Condition, len(g.IncidentIDs)))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

func TestAStormHasNoMoreStreamsThanItIsCountedAmong(t *testing.T) {
	for _, c := range []struct{ watched, streams, want int }{{40, 3, 40}, {40, 41, 41}, {0, 12, 0}} {
		storm := notify.Storm{Watched: c.watched}
		for n := range c.streams {
			storm.Incidents = append(storm.Incidents, notify.StormIncident{MonitorID: monitor.ID(fmt.Sprint("mon-", n))})
		}
		if got := storm.Among(); got != c.want {
			t.Errorf("%d streams, of %d that were watched, are counted among %d, want %d", c.streams, c.watched, got, c.want)
		}
	}
}

// Each test is a timeline of streams, of which 15 are live: three are a fifth.

func TestAStormIsOneMessageFromItsFirstIncidentsToItsEnd(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0})
	late := func(sec float64) incident.Input { return began(incident.Late, sec) } // it stays at severity 0 for 10 min
	w.at(0, late(0), 0, 1).at(20, late(20), 2).at(22, late(22), 3)
	w.at(59, late(59), 4, 5) // within 60 s of the first
	w.at(100, ended(incident.Late, 100), 0, 1, 2, 3).at(200, ended(incident.Late, 200), 4, 5)
	w.at(400, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 25 4 streams opened!, 64 6 streams updated, " +
		"160 mon-0 recovered, 160 mon-1 recovered, 205 6 streams updated, 265 6 streams recovered"})
}

// The storm of late starts at eight, and a channel that goes black five minutes later.
func TestAStormHidesNeitherAnotherConditionNorWhatComesLater(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0})
	w.at(0, began(incident.Late, 0), 0, 1, 2).at(20, ended(incident.Late, 20), 2)
	w.at(40, began(black, 40), 2, 9)                                              // one of its streams, and another one
	w.at(110, ended(incident.Late, 110), 1).at(300, began(incident.Late, 300), 1) // resolved at 170 s: it comes back
	w.at(340, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 3 streams opened!, 40 mon-2 opened!, 40 mon-9 opened!, " +
		"160 mon-2 worse!, 160 mon-9 worse!, 170 mon-1 recovered, 300 mon-1 reopened"})
}

func TestIncidentsThatComeBackTogetherAreAStorm(t *testing.T) {
	w := newStormWorld(t, 6, map[string]int{"chat": 0})
	for n := range 6 {
		w.at(float64(n)*100, began(incident.Blind, float64(n)*100), n).at(float64(n)*100+1, ended(incident.Blind, float64(n)*100+1), n)
	}
	w.at(570, nil)
	w.messages["chat"] = nil
	w.at(1000, began(incident.Blind, 1000), 5).at(1001, began(incident.Blind, 1001), 4).at(1002, began(incident.Blind, 1002), 3, 2, 1, 0)
	w.at(1100, nil)
	w.expect(map[string]string{"chat": "1030 6 streams opened!"})
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

// The trouble that a person has resolved goes on, and nobody is told of it again.
func TestAStormRepeatsNothingThatAPersonHasResolved(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0})
	w.routing.Routes[0].Repeat = 10 * time.Minute
	w.at(0, began(incident.Late, 0), 0, 1, 2, 3)
	w.at(60, incident.Resolve{By: "ann"}, 3).at(900, ended(incident.Late, 900), 0, 1, 2).at(1000, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 4 streams opened!, 605 4 streams worse!, 905 4 streams updated, 960 mon-0 recovered, 960 mon-1 recovered, 965 4 streams recovered"})
}

func TestAStormIsAcknowledgedWhenAllOfItsOpenIncidentsAre(t *testing.T) {
	w := newStormWorld(t, 15, map[string]int{"chat": 0})
	w.routing.Routes[0].Repeat = 10 * time.Minute
	w.at(0, began(incident.NoMedia, 0), 0, 1, 2, 3) // severity 2, 3 from 300 s on
	w.at(400, incident.Acknowledge{By: "ann"}, 0, 1).at(500, ended(incident.NoMedia, 500), 2).at(910, incident.Acknowledge{By: "bob"}, 3).at(5000, nil)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 4 streams opened!, 305 4 streams worse!, 905 4 streams repeated!, 915 4 streams acknowledged"})
}
