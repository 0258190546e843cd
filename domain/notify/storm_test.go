package notify_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestThreeStreamsAndTenOrAFifthOfThemAreAStorm(t *testing.T) { // section 19.7
	openings := func(count int, sec float64, c incident.Name, severity int) (all []notify.Opening) {
		for n := range count {
			all = append(all, notify.Opening{IncidentID: fmt.Sprintf("%v %s %d", sec, c, n), At: at(sec), Condition: c, Severity: severity})
		}
		return all
	}
	of := func(count int, sec float64) []notify.Opening { return openings(count, sec, black, 1) }
	elsewhere := func(count int, sec float64, c incident.Name) []notify.Opening {
		all := openings(count, sec, c, 1)
		for n := range all {
			all[n].Elsewhere = true
		}
		return all
	}
	inStorm := of(1, 0)
	inStorm[0].Storm = &notify.Storm{ID: "s", First: inStorm[0]}
	for _, c := range []struct {
		name    string
		unknown []notify.Opening // the destination has not been told of them, and they are due
		known   []notify.Opening
		watched int
		inStorm []notify.Opening
		want    string // the storms, and how many incidents join them
	}{
		{"nine of many", of(9, 0), nil, 1000, nil, ""},
		{"ten of many", of(10, 0), nil, 1000, nil, "new black 10"},
		{"all of two", of(2, 0), nil, 2, nil, ""},
		{"a fifth", of(3, 0), nil, 15, nil, "new black 3"},
		{"less than a fifth", of(3, 0), nil, 16, nil, ""},
		{"all of six", of(6, 0), nil, 6, nil, "new black 6"},
		{"some within a minute", of(1, 59), of(2, 0), 15, nil, "new black 3"},
		{"some a minute before", of(1, 60), of(2, 0), 15, nil, ""},
		{"another condition", append(of(2, 0), openings(1, 0, silent, 1)...), nil, 15, nil, ""},
		{"two conditions", append(of(3, 0), openings(4, 0, silent, 1)...), nil, 15, nil, "new black 3, new silent 4"},
		{"one that is worse", append(of(3, 0), openings(1, 10, black, 2)...), nil, 15, nil, "new black 3"},
		{"the worst of those that began together", append(openings(1, 0, black, 1), openings(2, 0, black, 2)...), nil, 15, nil, "new black 3"},
		{"a storm that began within a minute", of(1, 59), nil, 15, inStorm, "s black 1"},
		{"a storm that began a minute before", of(1, 60), of(2, 59), 15, inStorm, "s black 2"},
		{"a storm of something else", openings(1, 1, silent, 1), nil, 15, inStorm, ""},
		{"a storm of what is less severe", openings(1, 1, black, 2), nil, 15, inStorm, ""},
		{"nothing that it does not know", nil, of(20, 0), 20, nil, ""},
		{"one that is worse, in the midst of them", append(of(2, 0), append(openings(1, 10, black, 2), of(2, 20)...)...), nil, 15, nil, "new black 4"},
		{"three, and seven elsewhere", append(of(3, 0), elsewhere(7, 1, black)...), nil, 1000, nil, "new black 3"},
		{"three, and seven elsewhere before", append(of(3, 60), elsewhere(7, 1, black)...), nil, 1000, nil, "new black 3"},
		{"three, and seven elsewhere a minute before", append(of(3, 61), elsewhere(7, 1, black)...), nil, 1000, nil, ""},
		{"three, and seven elsewhere of another condition", append(of(3, 0), elsewhere(7, 1, silent)...), nil, 1000, nil, ""},
		{"two, and eight elsewhere", append(of(2, 0), elsewhere(8, 1, black)...), nil, 1000, nil, ""},
		{"one of a storm, and eight elsewhere", append(of(1, 0), elsewhere(8, 1, black)...), nil, 1000, inStorm, "s black 1"},
	} {
		due := notify.Due{Now: at(60), Watched: c.watched, Openings: slices.Concat(c.known, c.unknown, c.inStorm)}
		for _, o := range c.unknown {
			due.Threads = append(due.Threads, notify.Thread{Incident: &notify.StreamIncident{Incident: incident.Incident{ID: o.IncidentID}}})
		}
		for _, o := range c.known {
			due.Threads = append(due.Threads, notify.Thread{Notified: notify.Notified{Opened: true, Open: true}, Incident: &notify.StreamIncident{Incident: incident.Incident{ID: o.IncidentID}}})
		}
		var got []string
		for _, g := range due.Plan().Storms {
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
			storm.Incidents = append(storm.Incidents, notify.StreamIncident{MonitorID: monitor.ID(fmt.Sprint("mon-", n))})
		}
		if got := storm.Among(); got != c.want {
			t.Errorf("%d streams, of %d that were watched, are counted among %d, want %d", c.streams, c.watched, got, c.want)
		}
	}
}

// Each test is a timeline of streams, of which 15 are live: three are a fifth.

func chatroom() *destined { return &destined{name: "chat", kind: notify.Discord} }

func TestAStormIsOneMessageFromItsFirstIncidentsToItsEnd(t *testing.T) {
	w := newWorldOf(t, 15, chatroom())
	late := func(sec float64) incident.Input { return began(incident.Late, sec) } // it stays at severity 0 for 10 min
	w.together(0, late(0), 0, 1).together(20, late(20), 2).together(22, late(22), 3)
	w.together(59, late(59), 4, 5) // within 60 s of the first
	w.together(100, ended(incident.Late, 100), 0, 1, 2, 3).together(200, ended(incident.Late, 200), 4, 5)
	w.at(400)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 25 4 streams opened!, 64 6 streams updated, " +
		"160 mon-0 recovered, 160 mon-1 recovered, 205 6 streams updated, 265 6 streams recovered"})
}

// The storm of late starts at eight, and a channel that goes black five minutes later.
func TestAStormHidesNeitherAnotherConditionNorWhatComesLater(t *testing.T) {
	w := newWorldOf(t, 15, chatroom())
	w.together(0, began(incident.Late, 0), 0, 1, 2).together(20, ended(incident.Late, 20), 2)
	w.together(40, began(black, 40), 2, 9)                                                    // one of its streams, and another one
	w.together(110, ended(incident.Late, 110), 1).together(300, began(incident.Late, 300), 1) // resolved at 170 s: it comes back
	w.at(340)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 3 streams opened!, 40 mon-2 opened!, 40 mon-9 opened!, " +
		"160 mon-2 worse!, 160 mon-9 worse!, 170 mon-1 recovered, 300 mon-1 reopened"})
}

func TestIncidentsThatComeBackTogetherAreAStorm(t *testing.T) {
	w := newWorldOf(t, 6, chatroom())
	for n := range 6 {
		w.together(float64(n)*100, began(incident.Blind, float64(n)*100), n).together(float64(n)*100+1, ended(incident.Blind, float64(n)*100+1), n)
	}
	w.at(570)
	w.destinations[0].sent = nil
	w.together(1000, began(incident.Blind, 1000), 5).together(1001, began(incident.Blind, 1001), 4).together(1002, began(incident.Blind, 1002), 3, 2, 1, 0)
	w.at(1100)
	w.expect(map[string]string{"chat": "1030 6 streams opened!"})
}

func TestFewerThanThreeStreamsOfAStormAreToldOneByOne(t *testing.T) {
	team := &destined{name: "team", kind: notify.Discord, first: 4}
	w := newWorldOf(t, 15, chatroom(), team)
	w.together(0, began(incident.Late, 0), 8, 9, 10, 11, 0).together(10, began(incident.Late, 10), 1).at(20)
	w.expect(map[string]string{
		"chat": "0 mon-8 opened!, 0 mon-9 opened!, 5 5 streams opened!, 15 6 streams updated",
		"team": "0 mon-0 opened!, 10 mon-1 opened!",
	})
	w.together(30, incident.Acknowledge{By: "ann"}, 0)
	w.together(40, began(incident.Late, 40), 2).together(50, began(incident.Late, 50), 3) // the third and the fourth of the team
	w.together(60, ended(incident.Late, 60), 0, 1, 2, 3).at(200)
	w.expect(map[string]string{
		"chat": "0 mon-8 opened!, 0 mon-9 opened!, 5 5 streams opened!, 15 6 streams updated, 45 7 streams updated, 55 8 streams updated",
		"team": "0 mon-0 opened!, 10 mon-1 opened!, 30 mon-0 acknowledged, 45 3 streams opened!, 55 4 streams updated, 65 4 streams updated, " +
			"120 mon-0 recovered, 120 mon-1 recovered, 125 4 streams recovered",
	})
}

func TestADestinationToWhichNoStreamOfAStormLeadsAnyMoreOnlyGetsItsEnd(t *testing.T) {
	w := newWorldOf(t, 15, chatroom())
	w.together(0, began(incident.Late, 0), 0, 1, 2).at(10)
	w.routing.Routes = nil
	w.together(11, began(incident.Late, 11), 3).together(20, ended(incident.Late, 20), 0, 1, 2).at(100)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 3 streams opened!, 80 mon-0 recovered, 80 mon-1 recovered, 85 3 streams recovered"})
}

func TestASilenceOverPartOfAStormHoldsBackNothing(t *testing.T) {
	of := func(ids ...monitor.ID) notify.Silence {
		return notify.Silence{StartsAt: at(0), EndsAt: at(300), Match: notify.Match{Monitors: ids}}
	}
	w := newWorldOf(t, 15, chatroom()).silence(of("mon-0", "mon-1"))
	w.together(0, began(incident.Late, 0), 0, 1, 2, 3).at(400)
	w.expect(map[string]string{"chat": "5 4 streams opened!"})

	w = newWorldOf(t, 15, chatroom()).silence(of("mon-0", "mon-1", "mon-2", "mon-3"))
	w.together(0, began(incident.Late, 0), 0, 1, 2, 3).at(400)
	w.expect(map[string]string{"chat": "300 4 streams opened!"})

	w = newWorldOf(t, 15, chatroom())
	w.together(0, began(incident.Late, 0), 0, 1, 2, 3).at(10).silence(of("mon-0", "mon-1", "mon-2", "mon-3"))
	w.together(20, ended(incident.Late, 20), 0, 1, 2, 3).at(400)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 4 streams opened!, 80 mon-0 recovered, 80 mon-1 recovered, 85 4 streams recovered"})
}

// The trouble that a person has resolved goes on, and nobody is told of it again.
func TestAStormRepeatsNothingThatAPersonHasResolved(t *testing.T) {
	w := newWorldOf(t, 15, chatroom())
	w.routing.Routes[0].RepeatSec = 600
	w.together(0, began(incident.Late, 0), 0, 1, 2, 3)
	w.together(60, incident.Resolve{By: "ann"}, 3).together(900, ended(incident.Late, 900), 0, 1, 2).at(1000)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 4 streams opened!, 605 4 streams worse!, 905 4 streams updated, 960 mon-0 recovered, 960 mon-1 recovered, 965 4 streams recovered"})
}

func TestAStormIsAcknowledgedWhenAllOfItsOpenIncidentsAre(t *testing.T) {
	w := newWorldOf(t, 15, chatroom())
	w.routing.Routes[0].RepeatSec = 600
	w.together(0, began(incident.NoMedia, 0), 0, 1, 2, 3) // severity 2, 3 from 300 s on
	w.together(400, incident.Acknowledge{By: "ann"}, 0, 1).together(500, ended(incident.NoMedia, 500), 2).together(910, incident.Acknowledge{By: "bob"}, 3).at(5000)
	w.expect(map[string]string{"chat": "0 mon-0 opened!, 0 mon-1 opened!, 5 4 streams opened!, 305 4 streams worse!, 905 4 streams repeated!, 915 4 streams acknowledged"})
}
