package officialstate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const heartbeat = 10 * time.Second // between two reports of a worker, which learns from the answer what the API has said

// officialAPI is an API of these tests.
type officialAPI struct {
	units   bool                                 // of a day
	lag     func(starts time.Time) time.Duration // after which it learns of a start
	flaps   bool                                 // a minute after it has learned of a start, it takes that back for another
	check   time.Duration                        // monitor.Source.OfficialCheck
	refuses func(time.Time) bool                 // nil: never
}

// saysLive reports whether the API says at a time that a stream is live.
func (a officialAPI) saysLive(starts, now time.Time) bool {
	if starts.IsZero() {
		return false
	}
	known := now.Sub(starts.Add(a.lag(starts)))
	return known >= 0 && (!a.flaps || known < time.Minute || known >= 2*time.Minute)
}

// begin begins a round.
func (a officialAPI) begin(account *officialstate.Account, now time.Time, ask []officialstate.Stream, zone *time.Location) []officialstate.Stream {
	if a.units {
		return account.Begin(now, key, ask, zone)
	}
	return account.BeginAll(now, key, ask)
}

// waiting is a stream that waits for its start, and its worker.
type waiting struct {
	officialstate.Stream

	tolerance time.Duration
	check     time.Duration // Rules.OfficialCheck
	starts    time.Time     // zero: not in this test
	workFrom  time.Time     // when its worker starts
	watcher   *watch.Watcher
	said      watch.OfficialState // by the API; not learned by the worker while its AskedAt is after learnedAt
	learnedAt time.Time
	askAt     time.Time // when the next question is due
	questions int       // to yt-dlp
	startedAt time.Time // when the worker has learned of the start; zero: it waits
}

func (s *waiting) waits(now time.Time) bool { return !now.Before(s.workFrom) && s.startedAt.IsZero() }

func (s *waiting) liveAt(now time.Time) bool { return !s.starts.IsZero() && !now.Before(s.starts) }

// work does what is due at now.
func (s *waiting) work(now time.Time) {
	if s.watcher == nil {
		rules := watch.RulesOf(monitor.DefaultConfig(), watch.Smallest)
		rules.ScheduledStart, rules.StartTolerance, rules.OfficialCheck = s.ScheduledStart, s.tolerance, s.check
		s.watcher = watch.New(rules, now)
		s.askAt = s.nextQuestion()
	}
	if s.said.AskedAt.After(s.learnedAt) && now.Sub(s.workFrom)%heartbeat == 0 {
		s.learnedAt = now
		s.watcher.Step(now, s.said)
		s.askAt = s.nextQuestion()
	}
	if now.Before(s.askAt) {
		return
	}
	s.questions++
	r := watch.Resolution{Began: now, State: watch.Upcoming}
	if s.liveAt(now) {
		r.State, s.startedAt = watch.Live, now
	}
	s.watcher.Step(now, r)
	s.askAt = s.nextQuestion()
}

func (s *waiting) nextQuestion() time.Time {
	tasks := s.watcher.Next()
	return tasks[slices.IndexFunc(tasks, func(t watch.Task) bool { return t.Kind == watch.TaskResolve })].At
}

// outcome is what a day has taken.
type outcome struct {
	questions, units int
	latest           time.Duration // from a start until the worker has learned of it
}

// live lets all streams wait from begin until end. With a key the API is asked.
func live(all []*waiting, begin, end time.Time, zone *time.Location, withKey bool, api officialAPI) (o outcome) {
	var account officialstate.Account
	byID := map[monitor.ID]*waiting{}
	for _, s := range all {
		byID[s.MonitorID] = s
	}
	for now := begin; now.Before(end); now = now.Add(officialstate.Tick) {
		if withKey && account.Due(now, key) {
			var ask []officialstate.Stream
			for _, s := range all {
				if s.waits(now) {
					ask = append(ask, s.Stream)
				}
			}
			asked := api.begin(&account, now, ask, zone)
			o.units += (len(asked) + officialstate.PerCall - 1) / officialstate.PerCall
			if len(asked) > 0 && api.refuses != nil && api.refuses(now) {
				account.End(now, quotaExceeded, zone)
				asked = nil
			}
			for _, a := range asked {
				s := byID[a.MonitorID]
				s.said = watch.OfficialState{Status: monitor.StreamUpcoming, AskedAt: now}
				if api.saysLive(s.starts, now) {
					s.said.Status = monitor.StreamLive
				}
			}
		}
		for _, s := range all {
			if s.waits(now) {
				s.work(now)
			}
		}
	}
	for _, s := range all {
		o.questions += s.questions
		if !s.starts.IsZero() {
			o.latest = max(o.latest, s.startedAt.Sub(s.starts))
		}
	}
	return o
}

// TestADayOfFiftyStreamsThatWait counts the questions to yt-dlp. docs/capacity.md has the figures.
func TestADayOfFiftyStreamsThatWait(t *testing.T) {
	zone := pacific(t)
	begin := time.Date(2026, 6, 1, 0, 0, 0, 0, zone)
	noon := begin.Add(12 * time.Hour)
	youTube := officialAPI{units: true, lag: func(time.Time) time.Duration { return time.Minute }}
	upToNoon := youTube
	upToNoon.refuses = func(now time.Time) bool { return !now.Before(noon) }
	for name, c := range map[string]struct {
		change        func(i int, s *waiting)
		api           officialAPI
		without, with outcome
	}{
		"without a scheduled start": {func(int, *waiting) {}, youTube,
			outcome{144_000, 0, 0}, outcome{50, 2880, 0}},
		"late for the whole day": {func(_ int, s *waiting) { s.ScheduledStart, s.tolerance = begin, 5*time.Minute }, youTube,
			outcome{432_000, 0, 0}, outcome{100, 2880, 0}},
		// The worker of a reservation starts 10 minutes before the scheduled start.
		"reserved, of which one begins every 28 minutes, 3 minutes late": {func(i int, s *waiting) {
			s.ScheduledStart, s.tolerance = begin.Add(10*time.Minute+time.Duration(i)*28*time.Minute), 5*time.Minute
			s.workFrom, s.starts = s.ScheduledStart.Add(-10*time.Minute), s.ScheduledStart.Add(3*time.Minute+time.Second)
		}, youTube, outcome{50 * 40, 0, 9 * time.Second}, outcome{50 * 3, 1500, 89 * time.Second}},
		"the units are used up at noon": {func(int, *waiting) {}, upToNoon,
			outcome{}, outcome{50 + 50*1438, 1441, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			for withKey, want := range map[bool]outcome{false: c.without, true: c.with} {
				if want == (outcome{}) {
					continue // as in another case
				}
				expectDay(t, begin, zone, c.api, c.change, withKey, want)
			}
		})
	}
}

// expectDay lets 50 streams wait for a day.
func expectDay(t *testing.T, begin time.Time, zone *time.Location, api officialAPI, change func(int, *waiting), withKey bool, want outcome) {
	t.Helper()
	var all []*waiting
	for i, s := range streams(50) {
		s.ScheduledStart = time.Time{}
		all = append(all, &waiting{Stream: s, workFrom: begin, check: api.check})
		change(i, all[i])
	}
	got := live(all, begin, begin.Add(24*time.Hour), zone, withKey, api)
	t.Logf("with a key: %v: %d questions to the tools, %d calls, the last start was learned after %v", withKey, got.questions, got.units, got.latest)
	if got != want {
		t.Errorf("with a key: %v: %+v, want %+v", withKey, got, want)
	}
}

// TestADayOfFiftyStreamsOfTwitchThatWait counts the same for Twitch, whose API learns of starts 1 to 15 minutes late and flaps.
func TestADayOfFiftyStreamsOfTwitchThatWait(t *testing.T) {
	begin := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	after := func(lag time.Duration) officialAPI {
		return officialAPI{lag: func(time.Time) time.Duration { return lag }, flaps: true, check: 2 * time.Minute}
	}
	starting := func(i int, s *waiting) {
		s.starts = begin.Add(time.Hour + time.Duration(i)*(28*time.Minute-7*time.Second))
	}
	for name, c := range map[string]struct {
		change        func(i int, s *waiting)
		api           officialAPI
		without, with outcome
	}{
		"without a scheduled start": {func(int, *waiting) {}, after(time.Minute), outcome{}, outcome{36_000, 2880, 0}},
		"late for the whole day": {func(_ int, s *waiting) { s.ScheduledStart, s.tolerance = begin, 5*time.Minute }, after(time.Minute),
			outcome{}, outcome{36_050, 2880, 0}},
		"one begins every 28 minutes, known a minute later":   {starting, after(time.Minute), outcome{74_388, 0, 29 * time.Second}, outcome{18_653, 2856, 89 * time.Second}},
		"one begins every 28 minutes, known 15 minutes later": {starting, after(15 * time.Minute), outcome{}, outcome{18_653, 2857, 119 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			for withKey, want := range map[bool]outcome{false: c.without, true: c.with} {
				if want == (outcome{}) {
					continue // as in another case, or for YouTube
				}
				expectDay(t, begin, time.UTC, c.api, c.change, withKey, want)
			}
		})
	}
}
