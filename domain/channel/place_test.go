package channel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const twitchURL = monitor.StreamURL("https://www.twitch.tv/example")

// place is what its site answers about a place from certain times on.
type place struct {
	from []placeAnswer
	late time.Duration // by which workers learn it
}

type placeAnswer struct {
	at     time.Time
	answer watch.Resolution
}

// shows adds what is answered from a time on; without an id that nothing is live.
func (p *place) shows(from time.Time, id string) {
	r := watch.Resolution{State: watch.Upcoming}
	if id != "" {
		r = watch.Resolution{State: watch.Live, Broadcast: id, Title: id, Channel: "Example", ActualStart: from}
	}
	p.says(from, r)
}

func (p *place) says(from time.Time, r watch.Resolution) {
	p.from = append(p.from, placeAnswer{from, r})
	slices.SortFunc(p.from, func(a, b placeAnswer) int { return a.at.Compare(b.at) })
}

func (p *place) answer(now time.Time) (r watch.Resolution) {
	r = watch.Resolution{State: watch.Upcoming}
	for _, a := range p.from {
		if !a.at.After(now) {
			r = a.answer
		}
	}
	return r
}

func newPlaceWorld(t *testing.T) *world {
	w := newWorld(t)
	w.channel.Address, w.place = channel.Address(twitchURL), &place{}
	return w
}

// watchPlace lets each worker wait for a broadcast, watch it, and end with it, 2 min after it was seen last (decision S25).
func (w *world) watchPlace() {
	seen := w.now.Add(-w.place.late)
	now, before := w.place.answer(seen), w.place.answer(seen.Add(-time.Minute))
	for id, m := range w.monitors {
		watched := w.watched[id]
		switch {
		case !m.Status.Active() || !m.ReservedUntil.IsZero():
		case watched == "" && now.State == watch.Live:
			m.Status, w.watched[id] = monitor.Monitoring, now.Broadcast
			w.note("%s watches %s", id, now.Broadcast)
		case watched != "" && (now.State == watch.Live && now.Broadcast != watched || now.State != watch.Live && before.State != watch.Live):
			m.Status = monitor.Completed
			w.note("%s ends", id)
		}
	}
}

// byBroadcast writes the standing of each broadcast.
func (w *world) byBroadcast() (all []string) {
	for _, f := range w.channel.Streams {
		all = append(all, strings.TrimSpace(fmt.Sprint(f.Broadcast, " ", f.Standing, " ", f.Why)))
	}
	slices.Sort(all)
	return all
}

func (w *world) expectStandings(want ...string) {
	w.t.Helper()
	if got := w.byBroadcast(); !slices.Equal(got, want) {
		w.t.Errorf("the standings are %q, want %q", got, want)
	}
}

func TestAWeekOfAPlaceWhereBroadcastsComeAndGo(t *testing.T) {
	w := newPlaceWorld(t)
	p := w.place
	p.shows(at(0, "20:00"), "mon")
	p.shows(at(0, "22:00"), "")
	p.shows(at(1, "19:58"), "tue")
	p.shows(at(1, "22:30"), "")
	p.shows(at(2, "12:00"), "noon") // two on one day
	p.shows(at(2, "13:00"), "")
	p.shows(at(2, "20:00"), "eve")
	p.shows(at(2, "21:00"), "") // for a minute
	p.shows(at(2, "21:01"), "eve")
	p.shows(at(2, "21:30"), "")
	p.says(at(3, "20:00"), watch.Resolution{State: watch.Upcoming, Detail: "Twitch shows a repetition"})
	p.shows(at(3, "23:00"), "")
	p.shows(at(4, "20:01"), "flap") // a start that flaps
	p.shows(at(4, "20:02"), "")
	p.shows(at(4, "20:03"), "flap")
	p.shows(at(4, "23:00"), "next") // without a pause
	p.shows(at(5, "02:00"), "")
	w.run(at(7, "00:00"))

	w.expectStandings("eve over ended", "flap over ended", "mon over ended", "next over ended", "noon over ended", "tue over ended")
	said := strings.Join(w.log, "\n")
	for _, name := range []string{"mon", "tue", "noon", "eve", "flap", "next"} {
		for _, line := range []string{"register " + name + " initializing", "tell " + name + " watched", " watches " + name} {
			if strings.Count(said, line) != 1 {
				t.Errorf("%q happened %d times", line, strings.Count(said, line))
			}
		}
	}
	if len(w.monitors) != 6 || strings.Count(said, " ends") != 6 || w.asked > 0 {
		t.Errorf("%d monitors, %d questions about single streams:\n%s", len(w.monitors), w.asked, said)
	}
	if starts := w.channel.Reading.Starts; len(starts) != 6 || !starts[0].Equal(at(4, "23:00")) || !starts[5].Equal(at(0, "20:00")) {
		t.Errorf("the starts are %v", starts)
	}
	if w.looks > 1500 { // every 9 minutes are 1,120; 1 h 30 in the usual evenings at 2 minutes add some 250
		t.Errorf("%d looks", w.looks)
	}
	t.Logf("%d looks\n%s", w.looks, said)
}

func TestAPlaceThatAPersonWatches(t *testing.T) {
	w := newPlaceWorld(t)
	w.monitors["mon-hand"] = &monitor.Monitor{ID: "mon-hand", StreamURL: twitchURL, Status: monitor.Waiting, Metadata: []byte(`{}`)}
	w.place.shows(at(0, "01:00"), "one")
	w.place.shows(at(0, "02:00"), "two")
	w.place.shows(at(0, "05:00"), "")
	w.run(at(0, "02:30"))
	w.expectLog("Mon 01:00 mon-hand watches one", "Mon 01:03 adopt one", "Mon 01:03 tell one watched ", "Mon 02:00 mon-hand ends",
		"Mon 02:06 register two initializing", "Mon 02:06 tell two watched ", "Mon 02:07 mon-1 watches two")
	w.monitors["mon-1"].Status = monitor.Stopped
	w.run(at(0, "06:00"))
	w.expectStandings("one over ended", "two skipped stopped_by_hand")
	if len(w.monitors) != 2 {
		t.Errorf("a broadcast is registered again after its monitor was stopped:\n%s", strings.Join(w.log, "\n"))
	}
}

func TestTheNextBroadcastWaitsForTheMonitorOfTheFormerOne(t *testing.T) {
	w := newPlaceWorld(t)
	w.place.late = 9 * time.Minute
	w.place.shows(at(0, "00:00"), "one")
	w.place.shows(at(0, "00:30"), "two")
	w.run(at(0, "00:39"))
	w.expectStandings("one watched", "two wanted")
	w.run(at(0, "00:50"))
	w.expectStandings("one over ended", "two watched")
}

// A worker may begin to watch a place only once the broadcast is over for which its monitor was registered.
func TestAWorkerThatCameTooLateWatchesTheNextBroadcast(t *testing.T) {
	w := newPlaceWorld(t)
	w.place.shows(at(0, "01:00"), "one")
	w.run(at(0, "00:59"))
	w.now = at(0, "01:00")
	w.look()
	w.place.shows(at(0, "01:01"), "")
	w.now = at(0, "01:01")
	w.run(at(0, "02:00"))
	w.expectStandings("one watched") // nobody knows better
	w.place.shows(at(0, "03:00"), "two")
	w.place.shows(at(0, "04:00"), "")
	w.run(at(0, "03:30"))
	w.expectStandings("one over gone", "two watched")
	w.run(at(0, "05:00"))
	w.expectStandings("one over gone", "two over ended")
	if len(w.monitors) != 1 {
		t.Errorf("%d monitors:\n%s", len(w.monitors), strings.Join(w.log, "\n"))
	}
}

func TestABroadcastThatComesBackIsWatchedAgain(t *testing.T) {
	w := newPlaceWorld(t)
	w.place.shows(at(0, "01:00"), "one")
	w.place.shows(at(0, "02:00"), "")
	w.place.shows(at(0, "03:00"), "one")
	w.run(at(0, "02:59"))
	w.expectStandings("one over ended")
	w.run(at(0, "03:30"))
	w.expectStandings("one watched")
	if told := strings.Count(strings.Join(w.log, "\n"), "tell "); told != 1 || len(w.monitors) != 2 {
		t.Errorf("%d monitors, told %d times", len(w.monitors), told)
	}
}

func TestWhatAResolverSaysOfAPlace(t *testing.T) {
	live := channel.Stream{URL: twitchURL, Broadcast: "1", State: channel.Live}
	unnamed, members := channel.Stream{URL: twitchURL, State: channel.Live}, channel.Stream{URL: twitchURL, State: channel.Live, MembersOnly: true}
	locked := live
	locked.MembersOnly = true
	for _, c := range []struct {
		answer  watch.Resolution
		streams []channel.Stream
		failure channel.FailureKind
	}{
		{answer: watch.Resolution{State: watch.Live, Broadcast: "1"}, streams: []channel.Stream{live}},
		{answer: watch.Resolution{State: watch.ManifestFound, Broadcast: "1"}, streams: []channel.Stream{live}},
		{answer: watch.Resolution{State: watch.Live}, failure: channel.Unreadable},
		{answer: watch.Resolution{State: watch.Upcoming}},
		{answer: watch.Resolution{State: watch.Offline}},
		{answer: watch.Resolution{State: watch.RegionLocked}, streams: []channel.Stream{unnamed}},
		{answer: watch.Resolution{State: watch.MembersOnly}, streams: []channel.Stream{members}},
		{answer: watch.Resolution{State: watch.ToolFailed, Broadcast: "1"}, streams: []channel.Stream{locked}},
		{answer: watch.Resolution{State: watch.Removed}, failure: channel.NotFound},
		{answer: watch.Resolution{State: watch.Blocked}, failure: channel.Refused},
		{answer: watch.Resolution{State: watch.RateLimited}, failure: channel.RateLimited},
		{answer: watch.Resolution{State: watch.NameUnresolved}, failure: channel.Network},
		{answer: watch.Resolution{State: watch.ToolFailed}, failure: channel.ToolFailed},
	} {
		l, err := channel.ListingOf(twitchURL, c.answer)
		var kind channel.FailureKind
		if failure, failed := errors.AsType[*channel.Failure](err); failed {
			kind = failure.Kind
		}
		if kind != c.failure || !slices.Equal(l.Streams, c.streams) || l.Partial {
			t.Errorf("%+v: got %+v, %v", c.answer, l, err)
		}
	}
}

func TestABroadcastForSubscribersIsSkippedWithoutALogin(t *testing.T) {
	w := newPlaceWorld(t)
	w.place.says(at(0, "00:00"), watch.Resolution{State: watch.MembersOnly})
	w.place.shows(at(0, "03:00"), "")
	w.run(at(0, "01:00"))
	w.expectStandings("skipped members_only")
	w.run(at(0, "04:00"))
	if len(w.monitors) != 0 || len(w.log) != 0 {
		t.Errorf("%d monitors: %q", len(w.monitors), w.log)
	}
}

func TestWhenAPlaceIsReadAlthoughItsAPIHasAnswered(t *testing.T) { // section 20.2
	now := at(0, "20:00")
	usual := []time.Time{at(-1, "20:00"), at(-2, "20:10")}
	stream := func(s channel.Standing) []channel.Found {
		return []channel.Found{{URL: twitchURL, Broadcast: "1", Standing: s}}
	}
	for name, c := range map[string]struct {
		reading channel.Reading // ReadAt: ago
		streams []channel.Found
		live    string
		read    time.Duration // ago
		pushed  time.Duration // ago; 0: never
		want    bool
	}{
		"nothing is live":                                {read: 59 * time.Minute},
		"and it was read long ago":                       {read: time.Hour, want: true},
		"in usual hours":                                 {reading: channel.Reading{Starts: usual}, read: 9 * time.Minute},
		"in usual hours, 10 minutes ago":                 {reading: channel.Reading{Starts: usual}, read: 10 * time.Minute, want: true},
		"it was never read":                              {read: -1, want: true},
		"it cannot be read":                              {reading: channel.Reading{Failures: 1}, want: true},
		"a new broadcast":                                {live: "2", streams: stream(channel.Over), want: true},
		"one that is watched":                            {live: "1", streams: stream(channel.Watched), read: 59 * time.Minute},
		"one that is watched, and the API is silent":     {streams: stream(channel.Watched), read: 59 * time.Minute},
		"one that has ended a while ago":                 {live: "1", streams: stream(channel.Over), read: 10 * time.Minute, want: true},
		"one that has ended just now":                    {live: "1", streams: stream(channel.Over), read: 9 * time.Minute},
		"one that waits for room, and the API is silent": {streams: stream(channel.Wanted), want: true},
		"one that waits for room":                        {live: "1", streams: stream(channel.Wanted)},
		"one that was missed at one look":                {live: "1", streams: stream(channel.Pending), want: true},
		"a start was pushed since":                       {read: 2 * time.Minute, pushed: time.Minute, want: true},
		"a start was pushed before, and is not shown":    {read: 30 * time.Second, pushed: time.Minute, want: true},
		"but it was read just now":                       {read: 29 * time.Second, pushed: time.Minute},
		"a start was pushed long ago":                    {read: time.Minute, pushed: 4 * time.Minute},
		"one that a person has stopped":                  {streams: stream(channel.Skipped)},
	} {
		if c.read >= 0 {
			c.reading.ReadAt = now.Add(-c.read)
		}
		ch := channel.Channel{Address: channel.Address(twitchURL), Reading: c.reading, Streams: c.streams}
		if c.pushed > 0 {
			ch.PushedAt = now.Add(-c.pushed)
		}
		if got := ch.WantsLook(now, c.live); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
