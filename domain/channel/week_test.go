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

// monday is when the week begins.
var monday = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// at returns a time of the week, such as at(2, "20:30") on Wednesday.
func at(day int, clock string) time.Time {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return monday.AddDate(0, 0, day).Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute)
}

// broadcast is a stream as YouTube has it.
type broadcast struct {
	name      string
	announced time.Time
	scheduled time.Time // zero: it begins without being announced
	start     time.Time // zero: it never begins
	end       time.Time
	deleted   time.Time

	movedAt time.Time // when its start is moved
	movedTo time.Time
	renamed time.Time // when it gets another title

	forMembers bool
}

func (b broadcast) url() monitor.StreamURL {
	return monitor.StreamURL("https://www.youtube.com/watch?v=" + (b.name + "___________")[:11])
}

func (b broadcast) scheduledAt(now time.Time) time.Time {
	if !b.movedAt.IsZero() && !now.Before(b.movedAt) {
		return b.movedTo
	}
	return b.scheduled
}

func (b broadcast) state(now time.Time) channel.State {
	switch {
	case now.Before(b.announced) || !b.deleted.IsZero() && !now.Before(b.deleted):
		return ""
	case !b.end.IsZero() && !now.Before(b.end):
		return channel.Ended
	case !b.start.IsZero() && !now.Before(b.start):
		return channel.Live
	}
	return channel.Upcoming
}

func (b broadcast) title(now time.Time) string {
	if !b.renamed.IsZero() && !now.Before(b.renamed) {
		return b.name + ", renamed"
	}
	return b.name
}

// answers changes what a page says from one time to another.
type answers struct {
	from, to time.Time
	change   func(channel.Listing) (channel.Listing, error)
}

// world is a channel, its streams at YouTube, and the monitors, in virtual time.
type world struct {
	t          *testing.T
	now        time.Time
	channel    channel.Channel
	broadcasts []broadcast
	answers    []answers
	saysStart  bool // whether the page has the times of starts
	max        int  // of monitors
	others     func(now time.Time) int

	place   *place                // what is at the channel's address, if broadcasts come and go there; nil: its streams have URLs
	watched map[monitor.ID]string // that the workers at a place watch

	monitors map[monitor.ID]*monitor.Monitor
	liveAt   map[monitor.StreamURL]time.Time // when a monitor was first there while it was live
	log      []string
	looks    int
	asked    int
}

func newWorld(t *testing.T, broadcasts ...broadcast) *world {
	return &world{
		t: t, now: monday, broadcasts: broadcasts, max: 50, others: func(time.Time) int { return 0 },
		channel: channel.Channel{
			ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Address: "https://www.youtube.com/@example",
			Template: channel.Template{CallbackURL: "https://example.com/hook", Config: monitor.DefaultConfig(), Metadata: []byte(`{"team":"a"}`)},
		},
		monitors: map[monitor.ID]*monitor.Monitor{}, watched: map[monitor.ID]string{}, liveAt: map[monitor.StreamURL]time.Time{},
	}
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, w.now.Format("Mon 15:04 ")+fmt.Sprintf(format, args...))
}

func (w *world) find(url monitor.StreamURL) *broadcast {
	for n, b := range w.broadcasts {
		if b.url() == url {
			return &w.broadcasts[n]
		}
	}
	return nil
}

func (w *world) list() (channel.Listing, error) {
	if w.place != nil {
		return channel.ListingOf(w.channel.Address.Place(), w.place.answer(w.now))
	}
	l := channel.Listing{ID: "UCabcdefghijklmnopqrstuv", Handle: "@example", Title: "Example Channel", By: "browse"}
	for _, b := range w.broadcasts {
		if state := b.state(w.now); state != "" {
			s := channel.Stream{URL: b.url(), Title: b.title(w.now), State: state, MembersOnly: b.forMembers}
			if w.saysStart && state == channel.Upcoming {
				s.ScheduledStart = b.scheduledAt(w.now)
			}
			l.Streams = append(l.Streams, s)
		}
	}
	for _, a := range w.answers {
		if !w.now.Before(a.from) && w.now.Before(a.to) {
			return a.change(l)
		}
	}
	return l, nil
}

func (w *world) resolve(url monitor.StreamURL) watch.Resolution {
	b := w.find(url)
	switch b.state(w.now) {
	case channel.Upcoming:
		return watch.Resolution{State: watch.Upcoming, ScheduledStart: b.scheduledAt(w.now)}
	case channel.Live:
		return watch.Resolution{State: watch.Live}
	case channel.Ended:
		return watch.Resolution{State: watch.Ended}
	}
	return watch.Resolution{State: watch.Removed}
}

// watch lets the monitors' workers do what they do without the channel: they see starts and ends.
func (w *world) watch() {
	if w.place != nil {
		w.watchPlace()
		return
	}
	for _, m := range w.monitors {
		b := w.find(m.StreamURL)
		if !m.Status.Active() || b == nil {
			continue
		}
		if !m.ReservedUntil.IsZero() && !w.now.Before(m.ReservedUntil) {
			m.ReservedUntil = time.Time{}
		}
		if m.Status == monitor.Waiting && !m.ReservedUntil.IsZero() {
			continue
		}
		switch b.state(w.now) {
		case channel.Live:
			m.Status = monitor.Monitoring
			if w.liveAt[m.StreamURL].IsZero() {
				w.liveAt[m.StreamURL] = w.now
			}
		case channel.Ended:
			m.Status = monitor.Completed
		case "":
			m.Status, m.Reason = monitor.Failed, "video_unavailable"
		}
	}
}

func (w *world) look() {
	w.looks++
	l, err := w.list()
	var events []channel.Event
	if failure, failed := errors.AsType[*channel.Failure](err); failed {
		events = w.channel.Fail(w.now, *failure, 0.5)
	} else {
		events = w.channel.Read(w.now, l, 0.5)
	}
	w.tell(events)
	w.work()
}

// work does what follows for the streams.
func (w *world) work() {
	for n, f := range w.channel.Streams {
		if !f.AskAt.IsZero() && !f.AskAt.After(w.now) {
			w.asked++
			w.channel.Streams[n] = channel.Candidate{Channel: w.channel, Stream: f}.Resolved(w.now, w.resolve(f.URL))
		}
	}
	for _, task := range w.channel.Tasks() {
		w.do(task)
	}
	w.register()
}

func (w *world) do(task channel.Task) {
	m := w.monitors[task.Stream.Monitor.ID]
	switch task.Kind {
	case channel.Stop:
		w.note("stop %s: %s", task.Stream.Title, task.Stream.Doubt)
		m.Status = monitor.Stopped
		w.channel.Stopped(w.now, task.Stream)
	case channel.Change:
		ch := channel.ChangesOf(task.Stream, *m)
		switch {
		case ch.Start == nil:
		case ch.Start.IsZero():
			w.note("begin %s", task.Stream.Title)
			m.Config.ScheduledStartTime, m.ReservedUntil = nil, time.Time{}
		default:
			w.note("move %s to %s", task.Stream.Title, ch.Start.Format("Mon 15:04"))
			m.Config.ScheduledStartTime, m.ReservedUntil = ch.Start, ch.Start.Add(-10*time.Minute)
		}
		if ch.Metadata != nil {
			w.note("rename %s", task.Stream.Title)
			m.Metadata = ch.Metadata
		}
		w.channel.Changed(task.Stream)
	}
}

func (w *world) active() (n int) {
	for _, m := range w.monitors {
		if m.Status.Active() {
			n++
		}
	}
	return n + w.others(w.now)
}

// register registers what is wanted, as far as there is room.
func (w *world) register() {
	var wanted []channel.Candidate
	for _, f := range w.channel.Streams {
		if f.Standing == channel.Wanted && !f.RetryAt.After(w.now) {
			wanted = append(wanted, channel.Candidate{Channel: w.channel, Stream: f})
		}
	}
	slices.SortFunc(wanted, channel.Compare)
	for _, c := range wanted {
		var f channel.Found
		var events []channel.Event
		by := w.byHand(c.Stream.URL)
		if by != nil {
			c.Active = channel.Watch{ID: by.ID, Broadcast: w.watched[by.ID]}
		}
		switch {
		case c.Waits():
			continue
		case by != nil:
			w.note("adopt %s", c.Stream.Title)
			f, events = c.Registered(w.now, *by, true)
		case w.active() >= w.max:
			f, events = c.NoRoom(w.now)
		default:
			r := c.Registration()
			m := monitor.Monitor{ID: monitor.ID(fmt.Sprint("mon-", len(w.monitors))), StreamURL: r.StreamURL, Config: r.Config, Metadata: r.Metadata, Status: monitor.Initializing}
			if s := r.Config.ScheduledStartTime; s != nil && s.Sub(w.now) > 10*time.Minute {
				m.Status, m.ReservedUntil = monitor.Waiting, s.Add(-10*time.Minute)
			}
			w.monitors[m.ID] = &m
			w.note("register %s %s", c.Stream.Title, m.Status)
			f, events = c.Registered(w.now, m, false)
		}
		w.channel.Streams[slices.IndexFunc(w.channel.Streams, func(o channel.Found) bool { return o.URL == f.URL && o.Broadcast == f.Broadcast })] = f
		w.tell(events)
	}
}

// byHand returns the active monitor of a stream.
func (w *world) byHand(url monitor.StreamURL) *monitor.Monitor {
	for _, m := range w.monitors {
		if m.StreamURL == url && m.Status.Active() {
			return m
		}
	}
	return nil
}

func (w *world) tell(events []channel.Event) {
	for _, e := range events {
		switch {
		case e.Stream != nil:
			w.note("tell %s %s %s", e.Stream.Title, e.Stream.Standing, e.Stream.Why)
		case e.Gap.Until == nil:
			w.note("tell %s since %s: %s", e.Type, e.Gap.Since.Format("15:04"), e.Gap.Failure)
		default:
			w.note("tell %s", e.Type)
		}
	}
}

// run lets time pass until the end, minute by minute.
func (w *world) run(until time.Time) {
	for ; w.now.Before(until); w.now = w.now.Add(time.Minute) {
		w.watch()
		for n := range w.channel.Streams {
			if m := w.monitors[w.channel.Streams[n].Monitor.ID]; m != nil {
				f := &w.channel.Streams[n].Monitor
				f.Status, f.Reason, f.Broadcast, f.Reserved = m.Status, m.Reason, w.watched[m.ID], m.Status == monitor.Waiting && !m.ReservedUntil.IsZero()
			}
		}
		if !w.now.Before(w.channel.Reading.NextAt) {
			w.look()
		} else {
			w.work()
		}
	}
}

// standings writes the standing of each stream.
func (w *world) standings() map[string]string {
	all := map[string]string{}
	for _, f := range w.channel.Streams {
		all[w.find(f.URL).name] = strings.TrimSpace(fmt.Sprint(f.Standing, " ", f.Why))
	}
	return all
}

func (w *world) expectLog(lines ...string) {
	w.t.Helper()
	if got, want := strings.Join(w.log, "\n"), strings.Join(lines, "\n"); got != want {
		w.t.Errorf("what happened:\n%s\nwant:\n%s", got, want)
	}
}

func TestAWeekOfAChannelIsWatchedWithoutAnybodyThinkingOfIt(t *testing.T) {
	for name, saysStart := range map[string]bool{"the page says when streams start": true, "the resolver says it": false} {
		t.Run(name, func(t *testing.T) {
			var week []broadcast
			missed := map[string]bool{} // streams that are not to be watched
			for day := range 7 {        // the daily talk
				week = append(week, broadcast{name: fmt.Sprint("talk", day), announced: at(day, "08:00"), scheduled: at(day, "20:00"), start: at(day, "20:03"), end: at(day, "21:30")})
			}
			week = append(week,
				broadcast{name: "moved later", announced: at(0, "09:00"), scheduled: at(1, "12:00"), movedAt: at(0, "18:00"), movedTo: at(2, "12:00"), start: at(2, "12:01"), end: at(2, "13:00")},
				broadcast{name: "sooner", announced: at(0, "09:00"), scheduled: at(3, "12:00"), movedAt: at(2, "15:00"), movedTo: at(3, "02:00"), start: at(3, "02:00"), end: at(3, "03:00")},
				broadcast{name: "cancelled", announced: at(1, "08:00"), scheduled: at(2, "18:00"), deleted: at(1, "22:00")},
				broadcast{name: "cancelled2", announced: at(1, "08:00"), scheduled: at(6, "18:00"), deleted: at(3, "22:00")},
				broadcast{name: "members", announced: at(2, "08:00"), scheduled: at(3, "15:00"), start: at(3, "15:00"), end: at(3, "16:00"), forMembers: true},
				broadcast{name: "sudden", announced: at(4, "03:00"), start: at(4, "03:00"), end: at(4, "04:00")},
				broadcast{name: "sudden2", announced: at(5, "20:05"), start: at(5, "20:05"), end: at(5, "20:15")},
				broadcast{name: "twins left", announced: at(3, "08:00"), scheduled: at(4, "10:00"), start: at(4, "10:00"), end: at(4, "12:00")},
				broadcast{name: "twinsright", announced: at(3, "08:00"), scheduled: at(4, "10:00"), start: at(4, "10:00"), end: at(4, "12:00")},
				broadcast{name: "free chat", announced: at(0, "00:00"), scheduled: at(700, "00:00")},
				broadcast{name: "abandoned", announced: at(-60, "00:00"), scheduled: at(-50, "00:00")},
				broadcast{name: "next week", announced: at(0, "12:00"), scheduled: at(6, "12:00"), renamed: at(5, "13:00"), start: at(6, "12:00"), end: at(6, "13:00")},
				broadcast{name: "all week", announced: at(-3, "00:00"), start: at(-3, "00:00")},
			)
			for _, n := range []string{"cancelled", "cancelled2", "members", "free chat", "abandoned"} {
				missed[n] = true
			}
			w := newWorld(t, week...)
			w.saysStart = saysStart
			w.run(at(7, "00:00"))

			for _, b := range week {
				got, watched := w.liveAt[b.url()]
				late := got.Sub(b.start)
				switch {
				case missed[b.name] != !watched:
					t.Errorf("%s is watched: %t", b.name, watched)
				case b.name == "all week", missed[b.name]:
				case late > channel.Interval, !b.scheduled.IsZero() && late > time.Minute, b.name == "sudden2" && late > channel.UsualInterval:
					t.Errorf("%s is watched %v after its start", b.name, late)
				}
			}
			if len(week) != 20 {
				t.Errorf("the week has %d streams", len(week))
			}
			for name, want := range map[string]string{
				"cancelled": "over gone", "cancelled2": "over gone", "members": "skipped members_only", "free chat": "pending beyond_horizon",
				"abandoned": "skipped overdue", "talk3": "over ended", "all week": "watched",
			} {
				if got := w.standings()[name]; got != want {
					t.Errorf("%s is %s, want %s", name, got, want)
				}
			}
			said := strings.Join(w.log, "\n")
			for _, line := range []string{"move moved later to Wed 12:00", "move sooner to Thu 02:00", "stop cancelled: gone", "rename next week, renamed", "register twins left waiting", "register twinsright waiting"} {
				if strings.Count(said, line) != 1 {
					t.Errorf("%q happened %d times", line, strings.Count(said, line))
				}
			}
			if told := strings.Count(said, "tell "); told != 16 || strings.Contains(said, "stop cancelled2") {
				t.Errorf("%d were told, want one for each of the 16 streams within the horizon:\n%s", told, said)
			}
			if w.looks > 1900 || w.asked > 250 || saysStart && w.asked > 20 { // every 9 minutes are 1,120; 1 h 30 each day at 2 minutes add 270
				t.Errorf("%d looks and %d questions", w.looks, w.asked)
			}
			t.Logf("%d looks and %d questions about single streams", w.looks, w.asked)
		})
	}
}
