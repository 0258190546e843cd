package postgres_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// newChannel returns a channel that is due since noon.
func newChannel(n int) channel.Channel {
	return channel.Channel{
		ID: newID(), Address: channel.Address(fmt.Sprintf("https://www.youtube.com/@channel%d", n)), CreatedAt: noon,
		Template: channel.Template{CallbackURL: "https://example.com/hook", Config: monitor.DefaultConfig(), Metadata: json.RawMessage(`{"team": "a", "b":1}`), Labels: monitor.Labels{"team": "朝"}, Jar: "members"},
		Reading:  channel.Reading{NextAt: noon},
	}
}

func createChannel(t testing.TB, s *postgres.Store, n int) channel.Channel {
	t.Helper()
	c := newChannel(n)
	check(t, s.CreateChannel(t.Context(), c))
	return c
}

func getChannel(t testing.TB, s *postgres.Store, id string) channel.Channel {
	t.Helper()
	return must(s.Channel(t.Context(), id))(t)
}

// found returns a stream with a standing.
func found(n int, standing channel.Standing) channel.Found {
	return channel.Found{
		URL: registration(n).StreamURL, Title: "<配信>\u0000", State: channel.Upcoming, ScheduledStart: noon.Add(time.Duration(n) * time.Hour), FoundAt: noon.Add(time.Duration(-n) * time.Minute), SeenAt: noon,
		Standing: standing,
	}
}

func TestAChannelIsReadAsItWasStored(t *testing.T) {
	s, _ := newStore(t)
	want := createChannel(t, s, 1)
	check(t, s.CreateChannel(t.Context(), want)) // a try with an unknown outcome may have stored it
	want.SourceID, want.Handle, want.Title = "UCabcdefghijklmnopqrstuv", "@channel1", "Channel 1"
	want.Reading = channel.Reading{NextAt: noon.Add(time.Hour), ReadAt: noon, By: "browse", FailingSince: noon, Failures: 2, LastFailure: channel.Refused, LastError: "a page of consent", UnreadableSince: noon, Starts: []time.Time{noon}}
	m := register(t, s, 1)
	want.Streams = []channel.Found{found(1, channel.Watched), found(2, channel.Wanted), found(3, channel.Pending)}
	want.Streams[0].Title, want.Streams[1].Title, want.Streams[2].Title = "one", "two", "three"
	want.Streams[0].Monitor = channel.Watch{ID: m.ID, Status: monitor.Initializing, Adopted: true, Title: "one", Start: noon}
	want.Streams[1].Why, want.Streams[1].RetryAt, want.Streams[1].Told = channel.RegRefused, noon.Add(time.Minute), true
	check(t, s.SaveLook(t.Context(), want, nil))
	if got := getChannel(t, s, want.ID); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	stopMonitor(t, s, m.ID)
	if got := getChannel(t, s, want.ID).Streams[0].Monitor; got.Status != monitor.Stopped {
		t.Errorf("its monitor is %+v", got)
	}

	want.Streams = want.Streams[:1]
	check(t, s.SaveLook(t.Context(), want, nil))
	if got := getChannel(t, s, want.ID).Streams; len(got) != 1 {
		t.Errorf("%d streams are left", len(got))
	}
	_, err := s.Channel(t.Context(), newID())
	requireCode(t, err, channels.NotFound)
}

func TestTextsThatTheDatabaseRefusesAreStoredWithoutThem(t *testing.T) {
	s, _ := newStore(t)
	c := createChannel(t, s, 1)
	c.Streams = []channel.Found{found(1, channel.Pending)}
	check(t, s.SaveLook(t.Context(), c, nil))
	if got := getChannel(t, s, c.ID).Streams[0].Title; got != "<配信>\ufffd" {
		t.Errorf("the title is %q", got)
	}
}

func TestAChannelIsRegisteredOnce(t *testing.T) {
	s, _ := newStore(t)
	first := createChannel(t, s, 1)
	first.SourceID = "UCabcdefghijklmnopqrstuv"
	check(t, s.SaveLook(t.Context(), first, nil))
	requireCode(t, s.CreateChannel(t.Context(), newChannel(1)), channels.Duplicate)
	byID := newChannel(2)
	byID.SourceID = first.SourceID
	requireCode(t, s.CreateChannel(t.Context(), byID), channels.Duplicate)

	other := createChannel(t, s, 3) // its handle turns out to be the same channel
	other.SourceID = first.SourceID
	if e := requireCode(t, s.SaveLook(t.Context(), other, nil), channels.Duplicate); !strings.Contains(e.Message, first.ID) {
		t.Errorf("the error does not name the other: %v", e)
	}
	stopChannel(t, s, first.ID)
	check(t, s.SaveLook(t.Context(), other, nil))
	check(t, s.CreateChannel(t.Context(), newChannel(1)))
}

func stopChannel(t testing.TB, s *postgres.Store, id string) {
	t.Helper()
	must(s.ChangeChannel(t.Context(), id, func(c *channel.Channel) error {
		c.StoppedAt = noon
		return nil
	}))(t)
}

func TestThereAreAtMostAThousandChannels(t *testing.T) {
	s, db := newStore(t)
	c := createChannel(t, s, 0)
	alter(t, db, `INSERT INTO channels SELECT gen_random_uuid(), address || n, '', '', '', callback_url, config, metadata_text, labels, '', '', reading, next_at, created_at FROM channels, generate_series(1, $1) AS n`, channels.MaxChannels-1)
	requireCode(t, s.CreateChannel(t.Context(), newChannel(1)), monitor.InvalidConfig)
	stopChannel(t, s, c.ID)
	check(t, s.CreateChannel(t.Context(), newChannel(1)))
	page, total, err := s.Channels(t.Context(), true, 2, 999)
	if err != nil || total != 1001 || len(page) != 2 {
		t.Errorf("%d of %d are listed, %v", len(page), total, err)
	}
}

func TestAPageIsClaimedOnceUntilItIsDueAgain(t *testing.T) {
	s, _ := newStore(t)
	for n := range 5 {
		createChannel(t, s, n)
	}
	stopped := createChannel(t, s, 5)
	stopChannel(t, s, stopped.ID)
	claim := func(now time.Time, limit int) int {
		t.Helper()
		return len(must(s.ClaimChannels(t.Context(), "", now, now.Add(2*time.Minute), limit))(t))
	}
	for _, step := range []struct {
		now         time.Time
		limit, want int
	}{{noon.Add(-time.Second), 10, 0}, {noon, 3, 3}, {noon, 10, 2}, {noon, 10, 0}, {noon.Add(2 * time.Minute), 10, 5}} {
		if got := claim(step.now, step.limit); got != step.want {
			t.Errorf("at %v %d are claimed, want %d", step.now, got, step.want)
		}
	}
	of := func(prefix string) int {
		return len(must(s.ClaimChannels(t.Context(), prefix, noon.Add(time.Hour), noon.Add(2*time.Hour), 10))(t))
	}
	if other, all := of("https://www.twitch.tv/"), of("https://www.youtube.com/"); other != 0 || all != 5 {
		t.Errorf("of the addresses with a prefix %d and %d are claimed, want 0 and 5", other, all)
	}
}

func TestWhatIsWantedComesInTheOrderOfTheStarts(t *testing.T) {
	s, _ := newStore(t)
	for n, streams := range [][]channel.Found{{found(3, channel.Wanted), found(1, channel.Wanted)}, {found(2, channel.Wanted), found(4, channel.Pending)}, {found(5, channel.Wanted)}, {found(6, channel.Wanted)}} {
		c := createChannel(t, s, n)
		if n == 2 {
			streams[0].State = channel.Live
		}
		if n == 3 {
			streams[0].RetryAt = noon.Add(time.Second)
		}
		c.Streams = streams
		check(t, s.SaveLook(t.Context(), c, nil))
	}
	gone := createChannel(t, s, 9)
	gone.Streams = []channel.Found{found(9, channel.Wanted)}
	check(t, s.SaveLook(t.Context(), gone, nil))
	stopChannel(t, s, gone.ID)
	var order []string
	for _, c := range must(s.WantedStreams(t.Context(), noon, 10))(t) {
		order = append(order, strings.TrimLeft(c.Stream.URL.ID(), "0"))
		if c.Channel.Template.Jar != "members" {
			t.Errorf("the channel of %s is %+v", c.Stream.URL, c.Channel)
		}
	}
	require(t, "the order", fmt.Sprint(order), "[5 1 2 3]")
	require(t, "how many are read", len(must(s.WantedStreams(t.Context(), noon, 2))(t)), 2)
}

// Two monitors of one place follow each other. What a broadcast is known by is the worker's report, and before it what its monitor was registered for.
func TestBroadcastsOfOnePlaceAreApart(t *testing.T) { // section 20.3
	s, db := newStore(t)
	c := createChannel(t, s, 1)
	m := register(t, s, 1)
	one, two := found(1, channel.Watched), found(1, channel.Wanted)
	one.Broadcast, one.Monitor.ID, two.Broadcast = "one", m.ID, "two"
	c.Streams = []channel.Found{one, two}
	check(t, s.SaveLook(t.Context(), c, nil))
	active := func() channel.Watch {
		t.Helper()
		wanted := must(s.WantedStreams(t.Context(), noon, 10))(t)
		if len(wanted) != 1 || wanted[0].Stream.Broadcast != "two" {
			t.Fatalf("wanted are %+v", wanted)
		}
		return wanted[0].Active
	}
	require(t, "what the monitor was registered for", active(), channel.Watch{ID: m.ID, Broadcast: "one"})
	r := report()
	r.Broadcast = "two"
	acceptReport(t, s, m.ID, r, monitor.Run)
	require(t, "what its worker watches", active(), channel.Watch{ID: m.ID, Broadcast: "two"})
	r.Broadcast, r.At = "", r.At.Add(time.Second)
	acceptReport(t, s, m.ID, r, monitor.Run)
	streams := getChannel(t, s, c.ID).Streams
	require(t, "the broadcast of the monitor", streams[0].Monitor.Broadcast+streams[1].Monitor.Broadcast, "two")
	stopMonitor(t, s, m.ID)
	require(t, "once the monitor has ended", active(), channel.Watch{})
	reserved := registration(1)
	reserved.Status, reserved.ReservedUntil = monitor.Waiting, noon.Add(time.Hour)
	check(t, s.Insert(t.Context(), reserved, unlimited))
	require(t, "a reservation", active(), channel.Watch{ID: reserved.ID, Reserved: true})

	two.Title = "now"
	check(t, s.SaveStream(t.Context(), c, two, nil))
	c.Streams = []channel.Found{two}
	check(t, s.SaveLook(t.Context(), c, nil))
	if got := getChannel(t, s, c.ID).Streams; len(got) != 1 || got[0].Broadcast != "two" || got[0].Title != "now" {
		t.Errorf("left are %+v", got)
	}
	expectRows(t, db, "channel_streams", 1)
}

func TestNothingIsRegisteredForAChannelThatWasStopped(t *testing.T) {
	s, db := newStore(t)
	c := createChannel(t, s, 1)
	watched := registerOf(t, s, 1, c.ID)
	require(t, "the channel of the monitor", getMonitor(t, s, watched.ID).ChannelID, c.ID)
	byHand := register(t, s, 2)
	stopChannel(t, s, c.ID)
	m := registration(3)
	m.ChannelID = c.ID
	requireCode(t, s.Insert(t.Context(), m, unlimited), channels.Stopped)
	_, _, err := s.Adopt(t.Context(), byHand.ID, c.ID)
	requireCode(t, err, channels.Stopped)
	expectRows(t, db, "monitors", 2)

	c.Title = "too late"
	c.Streams = []channel.Found{found(5, channel.Wanted)}
	check(t, s.SaveLook(t.Context(), c, []channel.Event{{Type: event.ChannelUnreadable, At: noon, Gap: &channel.Gap{Since: noon}}}))
	if got := getChannel(t, s, c.ID); got.Title != "" || len(got.Streams) != 0 {
		t.Errorf("a look after the stop is stored: %+v", got)
	}
	requireEmpty(t, db, "channel_events")
	stopMonitor(t, s, watched.ID)
	alter(t, db, `UPDATE channels SET stopped_at = now() - interval '2 days'`)
	check(t, s.ExpireChannels(t.Context(), 24*time.Hour, 10))
	requireEmpty(t, db, "channels", "channel_streams")
}

func TestAMonitorIsAdoptedOnce(t *testing.T) {
	s, _ := newStore(t)
	first, second := createChannel(t, s, 1), createChannel(t, s, 2)
	m := register(t, s, 1)
	for _, step := range []struct {
		channel, owner string
		adopted        bool
	}{{first.ID, first.ID, true}, {first.ID, first.ID, false}, {second.ID, first.ID, true}} {
		got, adopted, err := s.Adopt(t.Context(), m.ID, step.channel)
		if err != nil || adopted != step.adopted || got.ChannelID != step.owner {
			t.Errorf("adopted %t by %s, %v", adopted, got.ChannelID, err)
		}
	}
	stopMonitor(t, s, m.ID)
	_, _, err := s.Adopt(t.Context(), m.ID, first.ID)
	requireCode(t, err, monitor.Ended)
}

// told writes what destinations get of events of channels, and makes what waits due.
func told(t *testing.T, s *postgres.Store, wait func()) (all []string) {
	t.Helper()
	wait()
	for _, d := range leaseForDestinations(t, s) {
		n := d.Notice.Channel
		line := fmt.Sprintf("%s: %s of %d", d.Destination.Name, n.EventType, n.Count)
		for _, c := range n.Channels {
			line += fmt.Sprintf(" [%s %s]", c.Channel, c.Stream)
		}
		if n.Body != nil {
			var body struct {
				EventID   string            `json:"event_id"`
				EventType string            `json:"event_type"`
				ChannelID string            `json:"channel_id"`
				Metadata  map[string]any    `json:"metadata"`
				Data      map[string]any    `json:"data"`
				Rest      map[string]string `json:"-"`
			}
			check(t, json.Unmarshal(n.Body, &body))
			line += fmt.Sprint(" ", body.EventType, " ", body.Metadata["team"], " ", body.Data["stream_url"] != nil, " ", body.EventID == n.EventID && body.ChannelID != "")
		}
		all = append(all, line)
		recordAttempt(t, s, d, accepting, sent)
	}
	slices.Sort(all)
	return all
}

func TestEventsOfChannelsGoWhereRoutesLeadThem(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Ntfy, "people")
	addDestination(t, s, notify.Webhook, "systems")
	addDestination(t, s, notify.PagerDuty, "pager")
	addRoute(t, s, notify.Email, "finds", notify.Match{Events: []event.Type{event.StreamFound}, Metadata: map[string]string{"team": "a"}, Labels: monitor.Labels{"team": "朝"}})
	addRoute(t, s, notify.Email, "others", notify.Match{Events: []event.Type{event.StreamFound}, Metadata: map[string]string{"team": "b"}})
	addRoute(t, s, notify.Email, "black", notify.Match{Conditions: []incident.Name{"black"}})
	addRoute(t, s, notify.Email, "severe", notify.Match{MinSeverity: 3})
	due := func() { alter(t, db, `UPDATE deliveries SET due_at = now() WHERE due_at > now() AND lease IS NULL`) }
	two := []channel.Channel{createChannel(t, s, 1), createChannel(t, s, 2)}
	say := func(n int, e channel.Event) {
		t.Helper()
		c := two[n]
		c.Title = fmt.Sprint("channel ", n)
		check(t, s.SaveLook(t.Context(), c, []channel.Event{e}))
	}
	stream := channel.Event{Type: event.StreamFound, At: noon, Stream: &channel.StreamFound{StreamURL: registration(1).StreamURL, Title: "talk", Standing: channel.Watched}}
	gap := channel.Event{Type: event.ChannelUnreadable, At: noon, Gap: &channel.Gap{Since: noon.Add(-time.Hour), Detail: "429"}}
	over := channel.Event{Type: event.ChannelReadable, At: noon, Gap: &channel.Gap{Since: noon.Add(-time.Hour), Until: &noon}}

	say(0, stream)
	require(t, "a stream was found", strings.Join(told(t, s, due), "\n"), "finds: channel.stream_found of 1 [channel 0 talk]\nsystems: channel.stream_found of 1 channel.stream_found a true true")
	say(0, gap)
	say(1, gap)
	require(t, "before it is due", fmt.Sprint(told(t, s, func() {})), "[systems: channel.unreadable of 1 channel.unreadable a false true systems: channel.unreadable of 1 channel.unreadable a false true]")
	require(t, "both cannot be read", fmt.Sprint(told(t, s, due)), "[people: channel.unreadable of 2 [channel 0 ] [channel 1 ]]")
	must(s.CreateSilence(t.Context(), notify.Silence{ID: newID(), StartsAt: noon, EndsAt: time.Now().Add(time.Hour)}))(t)
	say(0, over)
	require(t, "the end is told to who knows", strings.Join(told(t, s, due), "\n"), "people: channel.readable of 1 [channel 0 ]\nsystems: channel.readable of 1 channel.readable a false true")
	say(0, gap)
	require(t, "a silence", fmt.Sprint(told(t, s, due)), "[systems: channel.unreadable of 1 channel.unreadable a false true]")
	say(0, over)
	require(t, "the end of what was silenced", fmt.Sprint(told(t, s, due)), "[systems: channel.readable of 1 channel.readable a false true]")
	if got := must(s.ChannelEvents(t.Context(), two[0].ID, 10))(t); len(got) != 5 || !strings.Contains(string(got[4]), `"channel.stream_found"`) {
		t.Errorf("the channel has the events %s", got)
	}
	requireEmpty(t, db, "monitor_events")
}

func TestManyChannelsThatCannotBeReadAreFewMessages(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Ntfy, "people")
	gap := channel.Event{Type: event.ChannelUnreadable, At: noon, Gap: &channel.Gap{Since: noon.Add(-time.Hour)}}
	for n := range 30 {
		c := createChannel(t, s, n)
		check(t, s.SaveLook(t.Context(), c, []channel.Event{gap}))
		if n == 9 { // a minute has passed
			require(t, "the first message", len(told(t, s, func() { alter(t, db, `UPDATE deliveries SET due_at = now()`) })), 1)
		}
	}
	var wait float64
	check(t, db.QueryRow(`SELECT EXTRACT(EPOCH FROM due_at - now()) FROM deliveries WHERE state = 'pending'`).Scan(&wait))
	if wait < 590 || wait > 600 {
		t.Errorf("the next message comes after %.0f s, want 10 min", wait)
	}
	require(t, "the second message", told(t, s, func() { alter(t, db, `UPDATE deliveries SET due_at = now() WHERE due_at > now()`) })[0][:len("people: channel.unreadable of 20 ")], "people: channel.unreadable of 20 ")
}

func TestEventsOfChannelsAreExplained(t *testing.T) { // section 20.4
	s, db := newStore(t)
	c := createChannel(t, s, 1)
	c.Title = "Orbit"
	check(t, s.SaveLook(t.Context(), c, []channel.Event{{Type: event.StreamFound, At: noon, Stream: &channel.StreamFound{Title: "talk"}}, {Type: event.ChannelReadable, At: noon, Gap: &channel.Gap{Since: noon, Until: &noon}}}))
	want := notify.Subject{EventType: event.StreamFound, ChannelID: c.ID, Metadata: map[string]string{"team": "a", "b": "1", "channel_name": "Orbit", "stream_title": "talk"}, Labels: monitor.Labels{"team": "朝"}}
	for _, kind := range []event.Type{event.StreamFound, event.ChannelReadable} {
		var id string
		check(t, db.QueryRow(`SELECT id FROM channel_events WHERE event_type = $1`, kind).Scan(&id))
		if kind == event.ChannelReadable {
			delete(want.Metadata, "stream_title")
			want.EventType, want.Severity = kind, 2
		}
		want.EventID = id
		if got := must(s.EventSubject(t.Context(), id))(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		want.EventID = ""
		if got := must(s.ChannelSubject(t.Context(), c.ID, kind))(t); kind == event.ChannelReadable && !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	_, err := s.ChannelSubject(t.Context(), newID(), event.StreamFound)
	requireCode(t, err, channels.NotFound)
	_, err = s.EventSubject(t.Context(), newID())
	requireCode(t, err, routing.EventNotFound)
}

func TestADeliveryNamesTheChannelThatItIsAbout(t *testing.T) { // section 17.1
	s, db := newStore(t)
	addDestination(t, s, notify.Ntfy, "people")
	addDestination(t, s, notify.Webhook, "systems")
	one, other := createChannel(t, s, 1), createChannel(t, s, 2)
	list := func() (lines []string) {
		for _, d := range deliveries(t, s, monitors.DeliveryQuery{Limit: 10}) {
			line := fmt.Sprint(d.Destination.Name, " ", *d.EventType, " event ", d.EventID != nil, " monitor ", d.MonitorID != nil, " body ", strings.Contains(d.Body, `"channel_id"`))
			if d.ChannelID != nil {
				line += " " + map[string]string{one.ID: "one", other.ID: "other"}[*d.ChannelID]
			}
			if d.ChannelURL != nil {
				line += " " + *d.ChannelURL
			}
			lines = append(lines, line)
		}
		slices.Sort(lines)
		return lines
	}
	gap := channel.Event{Type: event.ChannelUnreadable, At: noon, Gap: &channel.Gap{Since: noon}}
	check(t, s.SaveLook(t.Context(), one, []channel.Event{gap}))
	hook := "systems channel.unreadable event true monitor false body true "
	alone := "people channel.unreadable event false monitor false body false"
	require(t, "one channel", strings.Join(list(), "\n"), alone+" one https://www.youtube.com/@channel1\n"+hook+"one https://www.youtube.com/@channel1")
	check(t, s.SaveLook(t.Context(), one, []channel.Event{gap}))
	require(t, "the same channel again", list()[0], alone+" one https://www.youtube.com/@channel1")
	for range 2 {
		check(t, s.SaveLook(t.Context(), other, []channel.Event{gap}))
		require(t, "several channels", list()[0], alone)
	}
	alter(t, db, `DELETE FROM channels`)
	require(t, "a channel that was deleted", list()[1], hook+"one")
}
