package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// How the elected gateway looks. The times of one run together are within a minute, which a task of the leader has.
const (
	Every = 5 * time.Second // the pause between two runs

	claimTerm     = 2 * time.Minute // a gateway that dies keeps a channel for so long
	lookAtOnce    = 8
	maxLooks      = 16               // of one run, so that channels that are due at once spread
	startLooks    = 10 * time.Second // a run begins no look later: what it has claimed is due again after claimTerm
	maxAsked      = 4                // streams of one run: YouTube allows about 300 questions an hour and session
	askTimeout    = 12 * time.Second
	maxWanted     = 200
	registerLimit = 20 // registrations of one run
	budgetPause   = time.Minute
)

// DiscoveryConfig holds what a Discovery uses. Pages may be nil: nothing is held back. So may Logins.
type DiscoveryConfig struct {
	Listers   map[monitor.SourceName][]Lister      // of each source in the order in which they are asked
	APIs      map[monitor.SourceName]BroadcastsAPI // of sources of places; may be nil
	Resolver  Resolver
	Registrar Registrar
	Logins    Logins
	Pages     Pages
	Now       func() time.Time
	Jitter    func() float64 // at random from 0 to less than 1
	Log       *slog.Logger
}

// Discovery finds the streams of channels, and registers those that are wanted. Run is not called concurrently.
type Discovery struct {
	store DiscoveryStore
	cfg   DiscoveryConfig
	log   *slog.Logger

	restUntil map[monitor.SourceName]time.Time // for a BroadcastsAPI that has failed

	mu     sync.Mutex
	pauses map[monitor.SourceName]pause
}

// pause is for how long nobody reads a page of a source.
type pause struct {
	limited int // rate limits in a row
	until   time.Time
}

// NewDiscovery makes a Discovery.
func NewDiscovery(store DiscoveryStore, cfg DiscoveryConfig) *Discovery {
	return &Discovery{store: store, cfg: cfg, log: cfg.Log.With("component", "channels"), pauses: map[monitor.SourceName]pause{}, restUntil: map[monitor.SourceName]time.Time{}}
}

// Run reads the pages that are due, and registers what is wanted as far as there is room.
func (d *Discovery) Run(ctx context.Context) error {
	now := d.cfg.Now()
	due, err := d.store.ClaimChannels(ctx, "", now, now.Add(claimTerm), maxLooks)
	if err != nil {
		return fmt.Errorf("claim channels: %w", err)
	}
	if due, err = d.askAPIs(ctx, now, due); err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, startLooks)
	defer cancel()
	var looking sync.WaitGroup
	slots := make(wait.Slots, lookAtOnce)
	failures := make([]error, len(due)+2)
	for n, c := range due {
		release, err := slots.Take(starting)
		if err != nil {
			break
		}
		looking.Go(func() {
			defer release()
			failures[n] = d.look(ctx, c)
		})
	}
	looking.Wait()
	failures[len(due)], failures[len(due)+1] = d.ask(ctx), d.register(ctx)
	return errors.Join(failures...)
}

// look reads the page of a channel, and does what follows for its streams.
func (d *Discovery) look(ctx context.Context, c channel.Channel) error {
	before := c
	before.Streams = slices.Clone(c.Streams)
	now := d.cfg.Now()
	if until := d.pauseOf(c); now.Before(until) {
		c.Reading.NextAt = until
		return d.save(ctx, c, nil)
	}
	asked := false
	l, err := d.list(ctx, c, func(l channel.Listing) bool {
		asked = c.WantsOpinion(now, l)
		return asked
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if asked {
		c.Reading.OpinionAt = now
	}
	events, ok := d.take(&c, now, l, err)
	if !ok {
		return d.save(ctx, c, nil)
	}
	if d.apiOf(c, now) != nil {
		c.DueForAPI(now)
	}
	d.work(ctx, &c, now)
	err = d.save(ctx, c, events)
	if refusal, is := errors.AsType[*monitor.Error](err); is && refusal.Code == Duplicate {
		events = before.Fail(now, channel.Failure{Kind: channel.Unreadable, Detail: refusal.Message}, d.cfg.Jitter())
		return d.save(ctx, before, events)
	}
	return err
}

// take gives an answer to the channel. ok is false if nothing was asked: the budget holds it back.
func (d *Discovery) take(c *channel.Channel, now time.Time, l channel.Listing, err error) (events []channel.Event, ok bool) {
	failure, failed := errors.AsType[*channel.Failure](err)
	switch {
	case errors.Is(err, errNoBudget):
		c.Reading.NextAt = now.Add(budgetPause)
		return nil, false
	case failed:
		events = c.Fail(now, *failure, d.cfg.Jitter())
		log := d.log.With("channel_id", c.ID, "channel", c.Title, "failure", string(failure.Kind), "error", failure.Detail)
		switch {
		case failure.Kind == channel.NoStreams:
		case len(events) > 0:
			log.Warn("the page of a channel cannot be read, it is tried again; streams that were found are watched all the same")
		default:
			log.Info("the page of a channel was not read, it is tried again", "failures", c.Reading.Failures)
		}
	default:
		events = c.Read(now, l, d.cfg.Jitter())
	}
	d.count(now, c.Address.Source(), failed && failure.Kind == channel.RateLimited)
	return events, true
}

// count lets nobody read a page of a source for a while after a rate limit: all its channels are read from the same addresses.
func (d *Discovery) count(now time.Time, source monitor.SourceName, limited bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pauses[source]
	switch {
	case !limited:
		p.limited = 0
	case !now.Before(p.until):
		p.limited++
		p.until = now.Add(channel.PauseOf(p.limited))
		d.log.Warn("the source limits how often pages of channels are read, none of its channels is read for a while: add addresses to EGRESS_PROXIES, or register fewer channels",
			"source", string(source), "pause_sec", channel.PauseOf(p.limited).Seconds())
	}
	d.pauses[source] = p
}

// pauseOf returns until when nobody reads the page of a channel.
func (d *Discovery) pauseOf(c channel.Channel) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pauses[c.Address.Source()].until
}

// work does the tasks of a channel. What fails is due again at the next look.
func (d *Discovery) work(ctx context.Context, c *channel.Channel, now time.Time) {
	for _, task := range c.Tasks() {
		var err error
		switch task.Kind {
		case channel.Stop:
			if err = d.cfg.Registrar.StopStream(ctx, *c, task.Stream.Monitor.ID); err == nil {
				c.Stopped(now, task.Stream)
			}
		case channel.Change:
			if err = d.cfg.Registrar.ChangeStream(ctx, *c, task.Stream); err == nil {
				c.Changed(task.Stream)
			}
		}
		if err != nil {
			d.log.Warn("a stream of a channel could not be followed, will try again", "channel_id", c.ID, "stream_url", string(task.Stream.URL), "task", string(task.Kind), "error", err.Error())
		}
	}
}

// ask asks the resolver about streams whose pages do not say all, and does what follows.
func (d *Discovery) ask(ctx context.Context) error {
	now := d.cfg.Now()
	asked, err := d.store.AskedStreams(ctx, now, maxAsked)
	if err != nil {
		return fmt.Errorf("read the streams that are asked about: %w", err)
	}
	var asking sync.WaitGroup
	failures := make([]error, len(asked))
	for n, c := range asked {
		asking.Go(func() {
			limited, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			if jar := c.Channel.Template.Jar; d.cfg.Logins != nil && jar != "" && c.Stream.MembersOnly {
				if limited, failures[n] = d.cfg.Logins.With(limited, jar, c.Stream.URL); failures[n] != nil {
					return
				}
			}
			one := c.Channel
			one.Streams = []channel.Found{c.Resolved(now, d.cfg.Resolver.Resolve(limited, c.Stream.URL))}
			d.work(ctx, &one, now)
			for _, f := range one.Streams { // none: it was not seen for so long that it is forgotten
				failures[n] = d.store.SaveStream(ctx, c.Channel, f, nil)
			}
		})
	}
	asking.Wait()
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("store what the resolver says: %w", err)
	}
	return nil
}

func (d *Discovery) save(ctx context.Context, c channel.Channel, events []channel.Event) error {
	if err := d.store.SaveLook(ctx, c, events); err != nil {
		return fmt.Errorf("store a look at channel %s: %w", c.ID, err)
	}
	return nil
}

// register registers the streams that are wanted, in the order of their starts, until there is no more room.
func (d *Discovery) register(ctx context.Context) error {
	now := d.cfg.Now()
	wanted, err := d.store.WantedStreams(ctx, now, maxWanted)
	if err != nil {
		return fmt.Errorf("read the streams that are wanted: %w", err)
	}
	full := false
	for n, c := range wanted {
		if n >= registerLimit && !full {
			return nil // the next run goes on
		}
		f, events, failure := d.registerOne(ctx, c, now, &full)
		switch {
		case failure != nil:
			return failure
		case f == c.Stream:
			continue
		}
		if err := d.store.SaveStream(ctx, c.Channel, f, events); err != nil {
			return fmt.Errorf("store a stream of channel %s: %w", c.Channel.ID, err)
		}
	}
	return nil
}

// registerOne registers a stream, unless it is known that there is no room.
func (d *Discovery) registerOne(ctx context.Context, c channel.Candidate, now time.Time, full *bool) (f channel.Found, events []channel.Event, failure error) {
	log := d.log.With("channel_id", c.Channel.ID, "stream_url", string(c.Stream.URL))
	switch {
	case c.Waits():
		return c.Stream, nil, nil
	case c.Taken():
		f, events = c.Refused(now, fmt.Sprintf("monitor %s is reserved for a later start at the same place; stop it, or change its scheduled start", c.Active.ID))
		return f, events, nil
	case !*full || c.Active.ID != "":
		m, adopted, err := d.cfg.Registrar.RegisterStream(ctx, c.Registration())
		refusal, refused := errors.AsType[*monitor.Error](err)
		switch {
		case err == nil:
			log.Info("a stream of a channel is watched", "monitor_id", string(m.ID), "adopted", adopted)
			f, events = c.Registered(now, m, adopted)
			return f, events, nil
		case refused && refusal.Code == monitor.MaxMonitorsExceeded:
			*full = true
		case refused && refusal.Code == monitor.Duplicate:
			return c.Stream, nil, nil // somebody has registered it meanwhile: the next run adopts it
		case refused && refusal.Code != monitor.Internal:
			log.Warn("a stream of a channel is not watched, because its registration is refused, will try again: change the channel", "error", refusal.Message)
			f, events = c.Refused(now, refusal.Message)
			return f, events, nil
		default:
			return f, nil, fmt.Errorf("register a stream of channel %s: %w", c.Channel.ID, err)
		}
	}
	f, events = c.NoRoom(now)
	if len(events) > 0 {
		log.Warn("a stream of a channel is not watched yet, because as many monitors are active as may be: raise MAX_MONITORS, or stop one")
	}
	return f, events, nil
}
