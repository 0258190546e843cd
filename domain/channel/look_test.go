package channel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// evening is a stream that is announced at 08:00 and runs from 20:00 to 22:00.
func evening(name string) broadcast {
	return broadcast{name: name, announced: at(0, "08:00"), scheduled: at(0, "20:00"), start: at(0, "20:00"), end: at(0, "22:00")}
}

func failing(kind channel.FailureKind) func(channel.Listing) (channel.Listing, error) {
	return func(channel.Listing) (channel.Listing, error) {
		return channel.Listing{}, &channel.Failure{Kind: kind, Detail: "as the test says"}
	}
}

func TestBadAnswersEndNothingAndInventNothing(t *testing.T) {
	const registered, told = "Mon 08:06 register evening waiting", "Mon 08:06 tell evening watched "
	for name, c := range map[string]struct {
		answer func(channel.Listing) (channel.Listing, error)
		more   []string
	}{
		"an empty page": {func(channel.Listing) (channel.Listing, error) {
			return channel.Listing{ID: "UCabcdefghijklmnopqrstuv"}, nil
		}, nil},
		"a partial page that lacks it": {func(l channel.Listing) (channel.Listing, error) {
			l.Partial, l.Streams = true, []channel.Stream{{URL: "https://www.youtube.com/watch?v=00000000000", State: channel.Ended}}
			return l, nil
		}, nil},
		"a complete page that lacks it, though it is there": {func(l channel.Listing) (channel.Listing, error) {
			l.Streams = []channel.Stream{{URL: "https://www.youtube.com/watch?v=00000000000", State: channel.Ended}}
			return l, nil
		}, nil},
		"a new layout: no mark is known": {func(l channel.Listing) (channel.Listing, error) {
			for n := range 5 {
				l.Streams = append(l.Streams, channel.Stream{URL: monitor.StreamURL(fmt.Sprintf("https://www.youtube.com/watch?v=%011d", n))})
			}
			for n := range l.Streams {
				l.Streams[n].State = channel.Unclear
			}
			return l, nil
		}, nil},
		"the page of another channel": {func(l channel.Listing) (channel.Listing, error) {
			l.ID, l.Streams = "UCanother_______________", []channel.Stream{{URL: "https://www.youtube.com/watch?v=00000000000", State: channel.Live}}
			return l, nil
		}, []string{"Mon 13:00 tell channel.unreadable since 12:00: unreadable", "Mon 14:03 tell channel.readable"}},
		"strange URLs": {func(l channel.Listing) (channel.Listing, error) {
			l.Streams = append(l.Streams, channel.Stream{State: channel.Live}, channel.Stream{URL: "javascript:alert(1)", State: channel.Live})
			return l, nil
		}, nil},
		"429":               {failing(channel.RateLimited), []string{"Mon 13:00 tell channel.unreadable since 12:00: rate_limited", "Mon 14:03 tell channel.readable"}},
		"a page of consent": {failing(channel.Refused), []string{"Mon 13:00 tell channel.unreadable since 12:00: refused", "Mon 14:03 tell channel.readable"}},
		"no tab of streams": {failing(channel.NoStreams), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, evening("evening"))
			w.saysStart = true
			w.answers = []answers{{at(0, "12:00"), at(0, "14:00"), c.answer}}
			w.run(at(0, "23:00"))
			w.expectLog(append([]string{registered, told}, c.more...)...)
			if got := w.liveAt[w.broadcasts[0].url()]; !got.Equal(at(0, "20:00")) {
				t.Errorf("it is watched from %v on", got)
			}
		})
	}
}

func TestAShortFailureIsToldToNobody(t *testing.T) {
	w := newWorld(t, evening("evening"))
	w.answers = []answers{{at(0, "12:00"), at(0, "12:59"), failing(channel.Network)}}
	w.run(at(0, "14:00"))
	w.expectLog("Mon 08:06 register evening waiting", "Mon 08:06 tell evening watched ")
	if r := w.channel.Reading; r.Failures != 0 || !r.FailingSince.IsZero() || r.LastError != "" {
		t.Errorf("%+v", r)
	}
}

func TestWhatDoesNotFitWaitsAndIsToldOnce(t *testing.T) {
	early, late, live := evening("early"), evening("late"), broadcast{name: "live", announced: at(0, "09:00"), start: at(0, "09:00"), end: at(0, "13:00")}
	early.scheduled, early.start = at(0, "19:00"), at(0, "19:00")
	w := newWorld(t, late, early, live)
	w.saysStart, w.max = true, 3
	w.others = func(now time.Time) int {
		switch {
		case now.Before(at(0, "10:00")):
			return 3
		case now.Before(at(0, "11:00")):
			return 2
		}
		return 1
	}
	w.run(at(0, "21:00"))
	w.expectLog(
		"Mon 08:06 tell early wanted no_room", "Mon 08:06 tell late wanted no_room", "Mon 09:00 tell live wanted no_room",
		"Mon 10:00 register live initializing", "Mon 11:00 register early waiting", "Mon 13:00 register late waiting")
}

func TestAMonitorThatAPersonHasRegisteredIsAdopted(t *testing.T) {
	own, moved := evening("own start"), evening("same start")
	for _, b := range []*broadcast{&own, &moved} {
		b.movedAt, b.movedTo, b.start, b.end, b.renamed = at(0, "12:00"), at(0, "21:00"), at(0, "21:00"), at(0, "22:00"), at(0, "12:00")
	}
	w := newWorld(t, own, moved)
	w.saysStart = true
	given, same := at(0, "19:30"), at(0, "20:00")
	for n, start := range []*time.Time{&given, &same} {
		id := monitor.ID(fmt.Sprint("by-hand-", n))
		w.monitors[id] = &monitor.Monitor{ID: id, StreamURL: w.broadcasts[n].url(), Status: monitor.Waiting, ReservedUntil: at(0, "19:00"), Metadata: []byte(`{"stream_title":"same start","note":1}`)}
		w.monitors[id].Config.ScheduledStartTime = start
	}
	w.run(at(0, "18:00"))
	w.expectLog("Mon 08:06 adopt own start", "Mon 08:06 tell own start watched ", "Mon 08:06 adopt same start", "Mon 08:06 tell same start watched ",
		"Mon 12:00 move same start, renamed to Mon 21:00", "Mon 12:00 rename same start, renamed")
	if m := w.monitors["by-hand-1"]; string(m.Metadata) != `{"note":1,"stream_title":"same start, renamed"}` {
		t.Errorf("its metadata are %s", m.Metadata)
	}
}

func TestAStreamWhoseMonitorAPersonStoppedIsNotRegisteredAgain(t *testing.T) {
	w := newWorld(t, evening("evening"))
	w.saysStart = true
	w.run(at(0, "09:00"))
	w.monitors["mon-0"].Status = monitor.Stopped
	w.run(at(0, "21:00"))
	if got := w.standings()["evening"]; got != "skipped stopped_by_hand" || len(w.monitors) != 1 {
		t.Errorf("it is %s, with %d monitors", got, len(w.monitors))
	}
}

func TestAStreamWhoseWorkerFailedIsRegisteredAgain(t *testing.T) {
	for reason, want := range map[string]string{
		event.ReasonWorkerLost: "watched", event.ReasonLaunchFailed: "watched", event.ReasonCallbackFailed: "over monitor_failed", event.ReasonVideoPrivate: "over monitor_failed",
	} {
		w := newWorld(t, evening("evening"))
		w.saysStart = true
		w.run(at(0, "20:30"))
		w.monitors["mon-0"].Status, w.monitors["mon-0"].Reason = monitor.Failed, reason
		w.run(at(0, "21:00"))
		if got := w.standings()["evening"]; got != want {
			t.Errorf("after %s it is %s, want %s", reason, got, want)
		}
	}
}

func TestAReservationThatBecomesMembersOnlyIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		jar  string
		want []string
	}{
		"without a jar": {"", []string{"Mon 12:09 stop evening: members_only"}},
		"with a jar":    {"members", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, evening("evening"))
			w.saysStart, w.channel.Template.Jar = true, c.jar
			w.answers = []answers{{at(0, "12:00"), at(0, "19:00"), func(l channel.Listing) (channel.Listing, error) {
				l.Streams[0].MembersOnly = true
				return l, nil
			}}}
			w.run(at(0, "18:00"))
			w.expectLog(append([]string{"Mon 08:06 register evening waiting", "Mon 08:06 tell evening watched "}, c.want...)...)
		})
	}
}

func TestAStreamThatBeginsLongBeforeItsStartIsWatched(t *testing.T) {
	early, byHand := evening("early"), evening("own start")
	for _, b := range []*broadcast{&early, &byHand} {
		b.start = at(0, "18:00")
	}
	for _, saysStart := range []bool{true, false} {
		w := newWorld(t, early, byHand)
		w.saysStart = saysStart
		given := at(0, "19:30")
		w.monitors["by-hand"] = &monitor.Monitor{ID: "by-hand", StreamURL: byHand.url(), Status: monitor.Waiting, ReservedUntil: at(0, "19:20"), Config: monitor.Config{ScheduledStartTime: &given}}
		w.run(at(0, "21:00"))
		if got := w.liveAt[early.url()]; got.IsZero() || got.After(at(0, "18:12")) {
			t.Errorf("it is watched from %v on", got)
		}
		if got := w.liveAt[byHand.url()]; !got.Equal(at(0, "19:20")) {
			t.Errorf("the start that a person has set is not kept: watched from %v on", got)
		}
	}
}

func TestAStreamThatComesBackIsRegisteredAgain(t *testing.T) {
	w := newWorld(t, evening("evening"), broadcast{name: "old", announced: at(-2, "00:00"), start: at(-2, "00:00"), end: at(-1, "00:00")})
	w.saysStart = true
	w.broadcasts[0].deleted = at(0, "10:00")
	w.run(at(0, "12:00"))
	w.broadcasts[0].deleted = time.Time{}
	w.run(at(0, "19:00"))
	w.expectLog("Mon 08:06 register evening waiting", "Mon 08:06 tell evening watched ", "Mon 10:12 stop evening: gone", "Mon 12:00 register evening waiting")
}

func TestAStreamThatTheCompletePageLacksIsOverAlsoIfTheResolverCannotAnswer(t *testing.T) {
	now := at(0, "12:00")
	c := newWorld(t).channel
	soon := channel.Stream{URL: "https://www.youtube.com/watch?v=aaaaaaaaaaa", State: channel.Upcoming, ScheduledStart: now.Add(time.Hour)}
	old := channel.Stream{URL: "https://www.youtube.com/watch?v=bbbbbbbbbbb", State: channel.Ended}
	for name, page := range map[string]channel.Listing{"complete": {Streams: []channel.Stream{old}}, "partial": {Streams: []channel.Stream{old}, Partial: true}, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			c := c
			c.Read(now, channel.Listing{Streams: []channel.Stream{soon, old}}, 0)
			for n := range 2 {
				c.Read(now.Add(time.Duration(n+1)*time.Minute), page, 0)
			}
			f := channel.Candidate{Channel: c, Stream: c.Streams[0]}.Resolved(now.Add(3*time.Minute), watch.Resolution{State: watch.Blocked})
			if got, want := f.Standing == channel.Over, name == "complete"; got != want {
				t.Errorf("it is %s %s", f.Standing, f.Why)
			}
		})
	}
}

func TestThePageIsReadMoreOftenAroundTheUsualHours(t *testing.T) {
	daily := []time.Time{at(-1, "20:03"), at(-2, "20:00")}
	for name, c := range map[string]struct {
		starts []time.Time
		now    time.Time
		jitter float64
		want   time.Duration
	}{
		"nothing is known":               {nil, at(0, "20:00"), 0, 10 * time.Minute},
		"the shortest interval":          {nil, at(0, "20:00"), 1, 8 * time.Minute},
		"at the usual hour":              {daily, at(0, "20:00"), 0, 2 * time.Minute},
		"45 minutes before":              {daily, at(0, "19:18"), 0, 2 * time.Minute},
		"45 minutes after":               {daily, at(0, "20:45"), 0, 2 * time.Minute},
		"an hour before":                 {daily, at(0, "19:00"), 0, 10 * time.Minute},
		"on both sides of midnight":      {[]time.Time{at(-1, "23:50"), at(-2, "00:10")}, at(0, "00:05"), 0, 2 * time.Minute},
		"a single stream is no habit":    {daily[:1], at(0, "20:00"), 0, 10 * time.Minute},
		"habits of two months ago ended": {daily, at(60, "20:00"), 0, 10 * time.Minute},
	} {
		ch := newWorld(t).channel
		ch.Reading.Starts = c.starts
		ch.Read(c.now, channel.Listing{}, c.jitter)
		if got := ch.Reading.NextAt.Sub(c.now).Round(time.Second); got != c.want {
			t.Errorf("%s: the page is read again after %v, want %v", name, got, c.want)
		}
	}
}

func TestTwoAnswersAreMerged(t *testing.T) {
	now := at(0, "12:00")
	c := newWorld(t).channel
	first := channel.Listing{ID: "UCa", By: "browse", Partial: true, Streams: []channel.Stream{{URL: "a", State: channel.Unclear}, {URL: "b", State: channel.Live}}}
	second := channel.Listing{ID: "UCa", By: "yt-dlp", Title: "T", Streams: []channel.Stream{{URL: "c", State: channel.Ended}, {URL: "a", State: channel.Upcoming, ScheduledStart: now, MembersOnly: true}, {URL: "b", State: channel.Ended}}}
	if !c.WantsOpinion(now, first) || !c.WantsOpinion(now, channel.Listing{}) || c.WantsOpinion(now, second) {
		t.Error("a strange and an empty answer want a second opinion, and no other")
	}
	c.Reading.OpinionAt = now.Add(-59 * time.Minute)
	if c.WantsOpinion(now, first) {
		t.Error("somebody else is asked twice within an hour")
	}
	got := channel.Merge(first, second)
	if want := (channel.Listing{ID: "UCa", By: "browse+yt-dlp", Title: "T", Streams: []channel.Stream{
		{URL: "a", State: channel.Upcoming, ScheduledStart: now, MembersOnly: true}, {URL: "b", State: channel.Live}, {URL: "c", State: channel.Ended},
	}}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
	if got := channel.Merge(first, channel.Listing{ID: "UCb", Streams: second.Streams}); len(got.Streams) != 2 {
		t.Errorf("the answer about another channel is merged: %+v", got)
	}
}

func TestTheAddressOfAChannel(t *testing.T) {
	const id = "UCabcdefghijklmnopqrstuv"
	for given, want := range map[string]channel.Address{
		id:           "https://www.youtube.com/channel/" + id,
		"@Example":   "https://www.youtube.com/@example",
		"@星凪ルカ":      "https://www.youtube.com/@星凪ルカ",
		"@example\n": "https://www.youtube.com/@example",
		"https://www.youtube.com/@Example/streams?x=1":      "https://www.youtube.com/@example",
		"http://m.youtube.com/channel/" + id + "/videos":    "https://www.youtube.com/channel/" + id,
		"youtube.com/@%E6%98%9F%E5%87%AA%E3%83%AB%E3%82%AB": "https://www.youtube.com/@星凪ルカ",
		"https://youtube.com/c/Example":                     "https://www.youtube.com/c/example",
		"https://youtube.com/user/Example/live":             "https://www.youtube.com/user/example",

		"https://www.twitch.tv/Some_Login":                     "https://www.twitch.tv/some_login",
		"m.twitch.tv/some_login":                               "https://www.twitch.tv/some_login",
		"https://player.twitch.tv/?channel=some_login&muted=1": "https://www.twitch.tv/some_login",
		"https://en.twitcasting.tv/c:Someone":                  "https://twitcasting.tv/c:Someone",

		"https://www.twitch.tv/videos/1": "", "https://twitcasting.tv/x/movie/1": "", "icy+https://radio.example/live": "",
		"https://youtu.be/@example": "", "": "", "example": "", "UCabc": "", "@a": "", "ftp://www.youtube.com/@example": "", "https://u@www.youtube.com/@example": "",
		"https://example.com/@example": "", "https://www.youtube.com/": "", "https://www.youtube.com/playlist?list=PL1": "",
		"https://www.youtube.com/watch?v=dQw4w9WgXcQ": "", "https://www.youtube.com/channel/UCabc": "",
		"@配配配": "https://www.youtube.com/@配配配", "@" + strings.Repeat("配", 30): channel.Address("https://www.youtube.com/@" + strings.Repeat("配", 30)),
		"@配配": "", "@" + strings.Repeat("配", 31): "",
		"youtube.com/c/" + strings.Repeat("配", 100): channel.Address("https://www.youtube.com/c/" + strings.Repeat("配", 100)),
		"youtube.com/c/" + strings.Repeat("配", 101): "",
	} {
		got, err := channel.ParseAddress(given)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", given, got, err)
		}
		if err != nil && monitor.FieldOf(err) != "channel" {
			t.Errorf("%q: the error names no field: %v", given, err)
		}
	}
	handle, place := channel.Address("https://www.youtube.com/@example"), channel.Address("https://www.twitch.tv/example")
	if byID := handle.ByID(id); byID.SourceID() != id || handle.SourceID() != "" || byID.Source() != monitor.YouTube || handle.ByID("") != handle || handle.Place() != "" {
		t.Errorf("the address by ID is %s", byID)
	}
	if place.Place() != monitor.StreamURL(place) || place.SourceID() != "" || place.Source() != monitor.Twitch || place.ByID("x") != place {
		t.Errorf("the place is %s", place.Place())
	}
}

func TestAStreamIsRegisteredWithTheLoginOfItsChannel(t *testing.T) {
	c := channel.Candidate{Channel: newWorld(t).channel, Stream: channel.Found{State: channel.Live, MembersOnly: true}}
	c.Channel.Template.Jar = "members"
	if got := c.Registration().Config.CookieJar; got != "members" {
		t.Errorf("its jar is %q", got)
	}
}

func TestATemplateNamesEverythingThatIsWrong(t *testing.T) {
	good := channel.Template{Config: monitor.DefaultConfig(), Metadata: []byte(`{}`)}
	if refused := good.Check(); len(refused) != 0 {
		t.Errorf("%v", refused)
	}
	start := at(0, "12:00")
	bad := good
	bad.Config.CookieJar = "members"
	bad.Config.ScheduledStartTime, bad.Config.CheckIntervalSec, bad.Metadata, bad.Labels, bad.Jar = &start, 0, []byte(`[]`), monitor.Labels{"team": ""}, "a\nb"
	fields := map[string]bool{}
	for _, err := range bad.Check() {
		fields[monitor.FieldOf(err)] = true
	}
	for _, field := range []string{"config.scheduled_start_time", "config.check_interval_sec", "config.cookie_jar", "metadata", "labels.team", "cookie_jar"} {
		if !fields[field] {
			t.Errorf("%s is not refused", field)
		}
	}
}
