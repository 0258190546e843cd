package channels_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// server is a real PostgreSQL that all tests share.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(m, postgrestest.Config{}, func(s *postgrestest.Server) { server = s }))
}

// site answers for the source. It may be used concurrently.
type site struct {
	mu      sync.Mutex
	name    string
	answer  func(address string) (channel.Listing, error)
	asked   map[string]int // by address
	resolve func(monitor.StreamURL) watch.Resolution
}

// List implements channels.Lister.
func (s *site) List(_ context.Context, address string) (channel.Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[address]++
	l, err := s.answer(address)
	l.By = s.name
	return l, err
}

// Resolve implements channels.Resolver.
func (s *site) Resolve(_ context.Context, url monitor.StreamURL) watch.Resolution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resolve(url)
}

func (s *site) requests() (n int) {
	for _, count := range s.asked {
		n += count
	}
	return n
}

// audit is a monitors.Recorder.
type audit struct{ lines []string }

// Record implements monitors.Recorder.
func (a *audit) Record(ctx context.Context, by, action string, do func(context.Context) (string, error)) error {
	object, err := do(ctx)
	if err == nil {
		a.lines = append(a.lines, action)
		if !strings.HasPrefix(by, "channel ") || object == "" {
			return fmt.Errorf("the entry has %q and %q", by, object)
		}
	}
	return err
}

// gateway has the parts of a gateway that find streams, on a real store, in virtual time.
type gateway struct {
	*channels.Service
	*channels.Discovery

	t        *testing.T
	now      time.Time
	store    *postgrestest.Store
	monitors *monitors.Services
	workers  *monitorstest.WorkerManager
	audit    *audit
}

// pages lets so many requests through, and remembers their outcomes.
type pages struct {
	mu       sync.Mutex
	left     int
	outcomes []watch.StreamState
}

type pageKey struct{}

func (p *pages) set(left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = left
}

// Page implements channels.Pages.
func (p *pages) Page(ctx context.Context, _ monitor.SourceName) (context.Context, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left--
	return context.WithValue(ctx, pageKey{}, true), p.left >= 0
}

// Record implements channels.Pages.
func (p *pages) Record(through context.Context, _ monitor.SourceName, outcome watch.StreamState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if through.Value(pageKey{}) == nil {
		outcome = "through another context"
	}
	p.outcomes = append(p.outcomes, outcome)
}

func newGateway(t *testing.T, limit int, budget channels.Pages, listers ...*site) *gateway {
	return newGatewayWith(t, limit, channels.DiscoveryConfig{Pages: budget}, listers...)
}

// newGatewayWith makes a gateway with the Pages and the Logins of cfg.
func newGatewayWith(t *testing.T, limit int, cfg channels.DiscoveryConfig, listers ...*site) *gateway {
	g := &gateway{t: t, now: noon, store: server.Store(t), workers: &monitorstest.WorkerManager{}, audit: &audit{}}
	now := func() time.Time { return g.now }
	policy := monitorstest.CallbackPolicy(func(u monitor.CallbackURL) error {
		if strings.Contains(string(u), "private") {
			return monitor.Errorf(monitor.InvalidURL, "leads to a private address")
		}
		return nil
	})
	var err error
	g.monitors, err = monitors.NewServices(g.store, g.workers, policy, &monitorstest.TestSender{}, monitors.Config{
		NewUUID: func() [16]byte { return uuid.Must(uuid.NewV7()) }, MaxMonitors: limit, ScheduleLead: 10 * time.Minute, Now: now, Log: slog.New(slog.DiscardHandler),
	})
	must.Do(t, err)
	cfg.Resolver, cfg.Registrar, cfg.Now, cfg.Log = listers[0], monitors.NewForChannels(g.monitors, g.audit), now, slog.New(slog.DiscardHandler)
	cfg.Jitter = func() float64 { return 0.5 }
	var all []channels.Lister
	for _, l := range listers {
		all = append(all, l)
	}
	cfg.Listers = map[monitor.SourceName][]channels.Lister{monitor.YouTube: all, monitor.Twitch: all}
	g.Discovery = channels.NewDiscovery(g.store, cfg)
	g.Service = channels.NewService(g.store, g.Discovery, func() string { return uuid.Must(uuid.NewV7()).String() })
	return g
}

// run lets time pass until the end.
func (g *gateway) run(until time.Time) {
	g.t.Helper()
	for ; g.now.Before(until); g.now = g.now.Add(channels.Every) {
		must.Do(g.t, g.Run(g.t.Context()))
	}
}

func (g *gateway) register(address string) channel.Channel {
	g.t.Helper()
	return must.Get(g.Register(g.t.Context(), address, channels.Change{CallbackURL: new("https://example.com/hook"), Labels: map[string]*string{"team": new("a")}}))(g.t)
}

func (g *gateway) standings(id string) string {
	g.t.Helper()
	c := must.Get(g.Get(g.t.Context(), id))(g.t)
	var all []string
	for _, f := range c.Streams {
		all = append(all, strings.TrimSpace(fmt.Sprint(f.Title, " ", f.Standing, " ", f.Why, " ", f.Monitor.Status)))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// stream is a stream of a page. Its title is its number.
func stream(n int, state channel.State, start time.Time) channel.Stream {
	return channel.Stream{URL: monitor.StreamURL(fmt.Sprintf("https://www.youtube.com/watch?v=%011d", n)), Title: fmt.Sprint(n), State: state, ScheduledStart: start}
}

// page returns what answers with streams.
func page(streams ...channel.Stream) func(string) (channel.Listing, error) {
	return func(string) (channel.Listing, error) {
		return channel.Listing{ID: "UCabcdefghijklmnopqrstuv", Title: "Example Channel", Streams: streams}, nil
	}
}

func failing(kind channel.FailureKind) func(string) (channel.Listing, error) {
	return func(string) (channel.Listing, error) {
		return channel.Listing{}, &channel.Failure{Kind: kind, Detail: "as the test says"}
	}
}

func TestSomebodyElseIsAskedIfAnAnswerIsMissingOrStrange(t *testing.T) {
	soon := stream(1, channel.Upcoming, noon.Add(time.Hour))
	for name, c := range map[string]struct {
		first, second func(string) (channel.Listing, error)
		asked         [2]int // in the first 5 minutes
		want          string
	}{
		"a good answer":                 {page(soon), failing(channel.Network), [2]int{1, 0}, "1 watched  waiting"},
		"the first fails":               {failing(channel.Unreadable), page(soon), [2]int{1, 1}, "1 watched  waiting"},
		"the first is refused":          {failing(channel.Refused), page(soon), [2]int{1, 1}, "1 watched  waiting"},
		"the first breaks":              {func(string) (channel.Listing, error) { return channel.Listing{}, errors.New("broken") }, page(soon), [2]int{1, 1}, "1 watched  waiting"},
		"an empty answer":               {page(), page(soon), [2]int{1, 1}, "1 watched  waiting"},
		"a strange answer":              {page(stream(1, channel.Unclear, time.Time{})), page(soon), [2]int{1, 1}, "1 watched  waiting"},
		"no page of streams":            {failing(channel.NoStreams), page(soon), [2]int{1, 1}, "1 watched  waiting"},
		"empty, and the other fails":    {page(), failing(channel.Network), [2]int{1, 1}, ""},
		"a rate limit: nobody is asked": {failing(channel.RateLimited), page(soon), [2]int{3, 0}, ""},
		"both fail":                     {failing(channel.Network), failing(channel.Network), [2]int{3, 3}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := &site{name: "browse", answer: c.first}, &site{name: "yt-dlp", answer: c.second}
			g := newGateway(t, 50, nil, first, second)
			ch := g.register("@example")
			g.run(noon.Add(5 * time.Minute))
			if got := [2]int{first.requests(), second.requests()}; got != c.asked {
				t.Errorf("they were asked %v times, want %v", got, c.asked)
			}
			if got := g.standings(ch.ID); got != c.want {
				t.Errorf("its streams are %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheResolverSaysWhenAStreamStarts(t *testing.T) {
	asked, start := 0, noon.Add(2*time.Hour)
	s := &site{answer: page(stream(1, channel.Upcoming, time.Time{}), stream(2, channel.Live, time.Time{}))}
	s.resolve = func(monitor.StreamURL) watch.Resolution {
		asked++
		if asked == 1 {
			return watch.Resolution{State: watch.Blocked}
		}
		return watch.Resolution{State: watch.Upcoming, ScheduledStart: start}
	}
	g := newGateway(t, 5, nil, s)
	ch := g.register("@example")
	g.run(noon.Add(time.Minute))
	if got := g.standings(ch.ID); got != "1 pending start_unknown; 2 watched  initializing" || asked != 1 {
		t.Errorf("without an answer they are %q, after %d questions", got, asked)
	}
	start = noon.Add(3 * time.Hour) // it is moved after the second answer
	g.run(noon.Add(115 * time.Minute))
	c := must.Get(g.Get(t.Context(), ch.ID))(t)
	f := c.Streams[slices.IndexFunc(c.Streams, func(f channel.Found) bool { return f.Title == "1" })]
	m := must.Get(g.monitors.Monitors.Get(t.Context(), f.Monitor.ID))(t)
	if !m.Config.ScheduledStartTime.Equal(start) || asked > 5 {
		t.Errorf("the monitor starts at %v, after %d questions", m.Config.ScheduledStartTime, asked)
	}
	start = noon.Add(4 * time.Hour)
	g.run(noon.Add(170 * time.Minute))
	if m := must.Get(g.monitors.Monitors.Get(t.Context(), f.Monitor.ID))(t); !m.Config.ScheduledStartTime.Equal(start) {
		t.Errorf("the moved start is %v, after %d questions", m.Config.ScheduledStartTime, asked)
	}
}

func TestEachPageThatWasAskedForCountsForItsAddress(t *testing.T) { // section 10.3
	counted := pages{left: 3}
	failing := func(f channel.Failure) *site {
		return &site{answer: func(string) (channel.Listing, error) { return channel.Listing{}, &f }}
	}
	g := newGateway(t, 50, &counted, failing(channel.Failure{Kind: channel.Refused}), failing(channel.Failure{Kind: channel.Network, NotAsked: true}), &site{answer: page(stream(1, channel.Live, time.Time{}))})
	g.register("@example")
	g.run(noon.Add(time.Second))
	expect.Equal(t, "the outcomes", counted.outcomes, []watch.StreamState{watch.Blocked, watch.CircuitOpen, watch.Live})
}

// TestAReservationFollowsItsStream has a page that is read every 9 minutes.
func TestAReservationFollowsItsStream(t *testing.T) {
	tomorrow := noon.Add(24 * time.Hour)
	other := stream(2, channel.Ended, time.Time{})
	for name, c := range map[string]struct {
		then   func(string) (channel.Listing, error) // from the second reading on
		within time.Duration
		want   string
		due    bool // a worker
	}{
		"deleted: two looks, and the resolver": {page(other), 19 * time.Minute, "1 over gone", false},
		"begins a day early: one look":         {page(stream(1, channel.Live, time.Time{}), other), 10 * time.Minute, "1 watched  waiting", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{answer: page(stream(1, channel.Upcoming, tomorrow), other)}
			s.resolve = func(monitor.StreamURL) watch.Resolution { return watch.Resolution{State: watch.Removed} }
			g := newGateway(t, 5, nil, s)
			ch := g.register("@example")
			g.run(noon.Add(time.Minute))
			id := must.Get(g.Get(t.Context(), ch.ID))(t).Streams[0].Monitor.ID
			s.answer = c.then
			g.run(noon.Add(c.within))
			if got := g.standings(ch.ID); got != c.want {
				t.Errorf("its stream is %q, want %q", got, c.want)
			}
			m := must.Get(g.monitors.Monitors.Get(t.Context(), id))(t)
			if due := m.Status.Active() && !m.ReservedUntil.After(g.now); due != c.due {
				t.Errorf("its monitor is %+v", m)
			}
		})
	}
}

func TestWhileTheBudgetIsUsedUpNoPageIsRead(t *testing.T) {
	budget := &pages{left: 3}
	first := &site{answer: page(stream(1, channel.Live, time.Time{}))}
	g := newGateway(t, 50, budget, first)
	for n := range 5 {
		g.register(fmt.Sprint("@example", n))
	}
	first.answer = func(string) (channel.Listing, error) { return channel.Listing{}, nil }
	g.run(noon.Add(time.Minute - time.Second))
	if first.requests() != 3 {
		t.Errorf("%d pages were read", first.requests())
	}
	budget.set(5)
	g.run(noon.Add(2 * time.Minute))
	if first.requests() != 5 {
		t.Errorf("%d pages were read once the budget allows it", first.requests())
	}
}

func TestAStreamOfAChannelIsRegisteredByTheRulesOfTheAPI(t *testing.T) {
	s := &site{answer: page(
		stream(1, channel.Live, time.Time{}), stream(2, channel.Upcoming, noon.Add(5*time.Minute)), stream(3, channel.Upcoming, noon.Add(2*time.Hour)), stream(4, channel.Upcoming, noon.Add(time.Hour)),
	)}
	g := newGateway(t, 3, nil, s)
	byHand := must.Get(g.monitors.Registrar.Register(t.Context(), monitors.Request{StreamURL: string(stream(3, "", noon).URL), CallbackURL: new("https://example.com/other"), Config: monitor.DefaultConfig()}))(t)
	ch := g.register("@example")
	g.run(noon.Add(time.Minute))
	if got, want := g.standings(ch.ID), "1 watched  initializing; 2 watched  initializing; 3 watched  initializing; 4 wanted no_room"; got != want {
		t.Errorf("its streams are %q, want %q", got, want)
	}
	c := must.Get(g.Get(t.Context(), ch.ID))(t)
	m := must.Get(g.monitors.Monitors.Get(t.Context(), c.Streams[slices.IndexFunc(c.Streams, func(f channel.Found) bool { return f.Title == "2" })].Monitor.ID))(t)
	if m.ChannelID != ch.ID || m.CallbackURL != "https://example.com/hook" || m.Labels["team"] != "a" || string(m.Metadata) != `{"channel_name":"Example Channel","stream_title":"2"}` || !m.Config.ScheduledStartTime.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("the monitor is %+v", m)
	}
	must.Get(g.monitors.Editor.Stop(t.Context(), m.ID))(t)
	g.run(noon.Add(10 * time.Minute))
	if got, want := g.standings(ch.ID), "1 watched  initializing; 2 skipped stopped_by_hand stopped; 3 watched  initializing; 4 watched  waiting"; got != want {
		t.Errorf("its streams are %q, want %q", got, want)
	}
	if m := must.Get(g.monitors.Monitors.Get(t.Context(), byHand.ID))(t); m.ChannelID != ch.ID || m.CallbackURL != "https://example.com/other" {
		t.Errorf("the adopted monitor is %+v", m)
	}
	if got := strings.Join(g.audit.lines, " "); got != "monitor.register monitor.register monitor.adopt monitor.register" {
		t.Errorf("the audit list has %s", got)
	}
}

func TestAMonitorWhoseRecordWasLostIsNotTakenForSomebodyElses(t *testing.T) {
	s := &site{answer: page(stream(1, channel.Live, time.Time{}))}
	g := newGateway(t, 3, nil, s)
	ch := g.register("@example")
	registrar := monitors.NewForChannels(g.monitors, g.audit)
	candidate := channel.Candidate{Channel: ch, Stream: channel.Found{URL: stream(1, "", noon).URL, State: channel.Live}}
	_, _, err := registrar.RegisterStream(t.Context(), candidate.Registration()) // and the gateway dies
	must.Do(t, err)
	g.run(noon.Add(time.Minute))
	if c := must.Get(g.Get(t.Context(), ch.ID))(t); c.Streams[0].Standing != channel.Watched || c.Streams[0].Monitor.Adopted {
		t.Errorf("the stream is %+v", c.Streams[0])
	}
}

func TestARefusedRegistrationIsTriedAgain(t *testing.T) {
	s := &site{answer: page(stream(1, channel.Live, time.Time{}))}
	g := newGateway(t, 3, nil, s)
	ch := g.register("@example")
	g.store.ChangeChannel(t.Context(), ch.ID, func(c *channel.Channel) error { // a change of CALLBACK_ALLOWED_NETWORKS does the same
		c.Template.CallbackURL = "https://private.example/"
		return nil
	})
	g.run(noon.Add(time.Minute))
	c := must.Get(g.Get(t.Context(), ch.ID))(t)
	if f := c.Streams[0]; f.Standing != channel.Wanted || f.Why != channel.RegRefused || !strings.Contains(f.Detail, "private address") {
		t.Errorf("the stream is %+v", f)
	}
	must.Get(g.Change(t.Context(), ch.ID, channels.Change{CallbackURL: new("https://example.com/new")}))(t)
	g.run(noon.Add(12 * time.Minute))
	if got := g.standings(ch.ID); got != "1 watched  initializing" {
		t.Errorf("afterwards it is %s", got)
	}
}

func TestAChannelThatIsStoppedAsksWhatBecomesOfRunningWatches(t *testing.T) {
	for running, want := range map[channels.OnRunning]string{
		channels.KeepRunning: "1 watched  initializing; 2 skipped stopped_by_hand stopped", channels.StopRunning: "1 skipped stopped_by_hand stopped; 2 skipped stopped_by_hand stopped",
	} {
		t.Run(string(running), func(t *testing.T) {
			s := &site{answer: page(stream(1, channel.Live, time.Time{}), stream(2, channel.Upcoming, noon.Add(2*time.Hour)))}
			g := newGateway(t, 5, nil, s)
			ch := g.register("@example")
			g.run(noon.Add(time.Minute))
			_, err := g.Stop(t.Context(), ch.ID, "")
			if refusal, is := errors.AsType[*monitor.Error](err); !is || refusal.Code != channels.Running || !strings.HasPrefix(refusal.Message, "1 streams") {
				t.Fatalf("the stop is refused with %v", err)
			}
			for range 2 {
				c := must.Get(g.Stop(t.Context(), ch.ID, running))(t)
				if c.StoppedAt.IsZero() || g.standings(ch.ID) != want {
					t.Errorf("its streams are %q, want %q", g.standings(ch.ID), want)
				}
			}
			asked := s.requests()
			g.run(noon.Add(time.Hour))
			if s.requests() != asked {
				t.Error("its page is read after the stop")
			}
			_, err = g.Change(t.Context(), ch.ID, channels.Change{})
			if refusal, is := errors.AsType[*monitor.Error](err); !is || refusal.Code != channels.Stopped {
				t.Errorf("a change is refused with %v", err)
			}
		})
	}
}

func TestAPreviewSaysWhatWillBeWatched(t *testing.T) {
	s := &site{answer: page(stream(1, channel.Live, time.Time{}), stream(2, channel.Upcoming, noon.Add(100*time.Hour)))}
	g := newGateway(t, 5, nil, s)
	p := must.Get(g.Preview(t.Context(), "@example", channels.Change{CallbackURL: new("https://private.example/"), Metadata: json.RawMessage(`[]`)}))(t)
	if len(p.Problems) != 2 || p.Failure != nil || p.Channel.Title != "Example Channel" || len(p.Channel.Streams) != 2 || p.Channel.Streams[1].Standing != channel.Wanted {
		t.Errorf("%+v", p)
	}
	if p := must.Get(g.Preview(t.Context(), "nonsense", channels.Change{}))(t); len(p.Problems) != 1 || s.requests() != 1 {
		t.Errorf("%+v, after %d requests", p, s.requests())
	}
	s.answer = failing(channel.NotFound)
	if p := must.Get(g.Preview(t.Context(), "@example", channels.Change{}))(t); p.Failure == nil || p.Failure.Kind != channel.NotFound || len(p.Problems) != 0 {
		t.Errorf("%+v", p)
	}
	if _, total, _ := g.List(t.Context(), true, 10, 0); total != 0 {
		t.Error("a preview was stored")
	}
}

func TestTheSameChannelUnderAnotherNameIsToldInItsError(t *testing.T) {
	s := &site{answer: page(stream(1, channel.Live, time.Time{}))}
	g := newGateway(t, 5, nil, s)
	first, second := g.register("@example"), g.register("@other")
	g.run(noon.Add(time.Minute))
	a, b := must.Get(g.Get(t.Context(), first.ID))(t), must.Get(g.Get(t.Context(), second.ID))(t)
	if a.SourceID == "" {
		a, b = b, a
	}
	if !strings.Contains(b.Reading.LastError, a.ID) || len(b.Streams) != 0 || len(a.Streams) != 1 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// TestNoStreamOf500ChannelsIsMissedInAnHour has channels that are registered at once. Each starts a stream at its own minute.
func TestNoStreamOf500ChannelsIsMissedInAnHour(t *testing.T) {
	const count = 500
	var g *gateway
	startOf := func(n int) time.Time { return noon.Add(10*time.Minute + time.Duration(n%40)*time.Minute) }
	s := &site{answer: func(address string) (channel.Listing, error) {
		var n int
		if _, err := fmt.Sscanf(address, "https://www.youtube.com/channel/UC%022d", &n); err != nil {
			return channel.Listing{}, err
		}
		l := channel.Listing{ID: fmt.Sprintf("UC%022d", n), Streams: []channel.Stream{stream(10000+n, channel.Ended, time.Time{})}}
		if !g.now.Before(startOf(n)) {
			l.Streams = append(l.Streams, stream(n, channel.Live, time.Time{}))
		}
		return l, nil
	}}
	g = newGateway(t, count, nil, s)
	for n := range count {
		g.register(fmt.Sprintf("UC%022d", n))
	}
	busiest := 0
	for until := noon.Add(time.Minute); !until.After(noon.Add(time.Hour)); until = until.Add(time.Minute) {
		before := s.requests()
		g.run(until)
		busiest = max(busiest, s.requests()-before)
	}
	if n := s.requests(); n < 6*count || n > 8*count || busiest > 200 {
		t.Errorf("%d requests in an hour, at most %d in a minute", n, busiest)
	}
	var missed int
	var latest time.Duration
	for _, l := range must.Get(allChannels(t, g))(t) {
		var n int
		fmt.Sscanf(l.SourceID, "UC%022d", &n)
		c := must.Get(g.Get(t.Context(), l.ID))(t)
		if len(c.Streams) != 1 || c.Streams[0].Standing != channel.Watched {
			missed++
			continue
		}
		latest = max(latest, c.Streams[0].FoundAt.Sub(startOf(n)))
	}
	if missed > 0 || latest > channel.Interval {
		t.Errorf("%d are missed, the latest is found after %v", missed, latest)
	}
	t.Logf("%d requests, at most %d in a minute; the latest was found after %v", s.requests(), busiest, latest)
}

func allChannels(t *testing.T, g *gateway) (all []channels.Listed, err error) {
	for {
		page, total, err := g.List(t.Context(), false, channels.MaxPage, len(all))
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(all) == total {
			return all, nil
		}
	}
}
