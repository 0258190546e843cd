package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// Store keeps the feed. Every method that reads does so at one moment.
type Store interface {
	// NumberFeed turns changes that have no version yet into entries, and wakes all gateways.
	// It does so for a limited number, and unless another gateway is at it. more: there may
	// be further ones. It may be repeated after an error: no change is lost, or numbered twice.
	NumberFeed(ctx context.Context) (more bool, err error)

	// RenewFeedEpoch begins a new epoch if the database is not the one that numbered
	// the entries, for example after a restore.
	RenewFeedEpoch(ctx context.Context) error

	// ReadFeed returns the first entries after a version, at most limit, and the head.
	ReadFeed(ctx context.Context, after int64, limit int) (feed.Page, error)

	// ReadState returns what a reader shows, and the position to continue from.
	ReadState(ctx context.Context) (feed.State, feed.Position, error)

	// ReadChecker returns the state of all workers.
	ReadChecker(ctx context.Context) (feed.Checker, error)
}

// Config configures a Feed; the zero value is usable.
type Config struct {
	MaxReaders int              // 1 or more, default 1000
	MaxPerKey  int              // readers of one key, 1 or more, default 200
	Heartbeat  time.Duration    // interval between heartbeats, default 5 s
	MaxEntries int              // kept in memory for readers, 1 or more, default 4096
	MaxBytes   int              // of these entries, default 16 MiB
	PageSize   int              // entries that one query reads, 1 or more, default 500
	Log        *slog.Logger     // default: nothing is logged
	Now        func() time.Time // default time.Now

	// Egress returns the addresses of section 10.3, for the heartbeat. It may be nil.
	Egress func() []egress.Status
}

// Limits of the queries of a Feed.
const (
	maxStoreReads  = 4                     // at a time for readers that are behind, so that connections are left for reports
	checkerTimeout = 3 * time.Second       // a heartbeat does not wait longer for the state of the workers
	stateReuse     = time.Second           // readers that connect within it share one state
	retryInterval  = time.Second           // after a query of the feed that failed
	moreInterval   = 10 * time.Millisecond // while changes may wait for their versions

	failureLogInterval = 10 * time.Second // all readers meet the same failure
)

// ErrTooManyReaders refuses a reader beyond MaxReaders.
var ErrTooManyReaders = errors.New("too many readers follow the feed at this gateway")

// ErrTooManyReadersOfKey refuses a reader beyond MaxPerKey.
var ErrTooManyReadersOfKey = errors.New("too many readers with this key follow the feed at this gateway")

// ErrNotFollowing refuses a reader before Run and after it.
var ErrNotFollowing = errors.New("this gateway does not follow the feed: it starts or stops")

// Feed numbers changes, and follows the feed for all readers of one gateway. It queries the
// database a fixed number of times per change, however many readers there are. Its methods
// may be called concurrently.
type Feed struct {
	store Store
	wakes <-chan struct{}
	cfg   Config
	log   *slog.Logger
	reads wait.Slots    // for maxStoreReads
	again chan struct{} // asks Run to query at once
	state sharedState

	mu         sync.Mutex
	ring       ring
	known      bool // the head has been read
	following  bool
	readers    int
	perKey     map[string]int // readers by the id of their key
	heartbeat  feed.Message   // the newest
	heartbeats int64          // so far
	announced  announcements
	changed    chan struct{} // closed at the next change

	failureLogged time.Time
}

// New makes a Feed that queries the store at every wake. It also queries at every
// heartbeat, in case a wake was lost. Errors: a value of cfg is out of its range.
func New(store Store, wakes <-chan struct{}, cfg Config) (*Feed, error) {
	for _, v := range []struct {
		value    *int
		standard int
	}{{&cfg.MaxReaders, 1000}, {&cfg.MaxPerKey, 200}, {&cfg.MaxEntries, 4096}, {&cfg.MaxBytes, 16 << 20}, {&cfg.PageSize, 500}} {
		if *v.value == 0 {
			*v.value = v.standard
		}
		if *v.value < 0 {
			return nil, fmt.Errorf("feed: a limit of the feed is %d; accepted is 1 or more", *v.value)
		}
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 5 * time.Second
	}
	if cfg.Heartbeat < 0 {
		return nil, fmt.Errorf("feed: the heartbeat of the feed is %v; accepted is more than 0", cfg.Heartbeat)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Feed{
		store:   store,
		wakes:   wakes,
		cfg:     cfg,
		log:     cfg.Log.With("component", "feed"),
		reads:   make(wait.Slots, maxStoreReads),
		again:   make(chan struct{}, 1),
		state:   sharedState{lock: make(wait.Slots, 1)},
		ring:    ring{maxEntries: cfg.MaxEntries, maxBytes: cfg.MaxBytes},
		changed: make(chan struct{}),
		perKey:  map[string]int{},
	}, nil
}

// Run follows the feed until ctx is done. Every reader then gets bye. It is called once.
func (f *Feed) Run(ctx context.Context) {
	f.update(func() { f.following = true })
	defer f.update(func() { f.following = false })
	var heartbeats sync.WaitGroup
	heartbeats.Go(func() { f.makeHeartbeats(ctx) })
	defer heartbeats.Wait()
	f.follow(ctx)
}

// update changes the Feed under its lock, and wakes the readers.
func (f *Feed) update(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

// follow numbers and queries at every wake until ctx is done.
func (f *Feed) follow(ctx context.Context) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	wakes := f.wakes
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-wakes:
			if !open {
				wakes = nil
				continue
			}
		case <-f.again:
		case <-poll.C:
		}
		more, err := f.store.NumberFeed(ctx)
		err = errors.Join(err, f.query(ctx)) // what has its version is read, whatever has none
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.logFailure(err)
			poll.Reset(retryInterval)
		case more:
			poll.Reset(moreInterval)
		default:
			poll.Reset(f.cfg.Heartbeat)
		}
	}
}

// logFailure logs a failed query of the feed, once per failureLogInterval.
func (f *Feed) logFailure(err error) {
	now := f.cfg.Now()
	f.mu.Lock()
	due := now.Sub(f.failureLogged) >= failureLogInterval
	if due {
		f.failureLogged = now
	}
	f.mu.Unlock()
	if due {
		f.log.Warn("cannot number or read the feed, its readers wait, will try again: check the database", "error", err)
	}
}

// query appends what is new to the ring.
func (f *Feed) query(ctx context.Context) error {
	f.mu.Lock()
	known, after := f.known, f.ring.position()
	f.mu.Unlock()
	if !known {
		if err := f.store.RenewFeedEpoch(ctx); err != nil {
			return err
		}
		after.Version = math.MaxInt64 // the head only
	}
	for {
		page, err := f.store.ReadFeed(ctx, after.Version, f.cfg.PageSize)
		if err != nil {
			return err
		}
		switch {
		case !known || !after.Continues(page):
			f.update(func() { f.known = true; f.ring.reset(page) })
			return nil
		case len(page.Entries) == 0:
			return nil
		}
		messages, err := toMessages(page)
		if err != nil {
			return err
		}
		f.update(func() { f.ring.append(messages) })
		after = messages[len(messages)-1].Position
		if len(page.Entries) < f.cfg.PageSize {
			return nil
		}
	}
}

// makeHeartbeats makes a heartbeat at every interval until ctx is done.
func (f *Feed) makeHeartbeats(ctx context.Context) {
	ticker := time.NewTicker(f.cfg.Heartbeat)
	defer ticker.Stop()
	for {
		message, err := f.newHeartbeat(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			f.update(func() { f.heartbeats++; f.heartbeat = message })
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// newHeartbeat reads the state of the workers. If the database does not tell it in
// time, the heartbeat says so.
func (f *Feed) newHeartbeat(ctx context.Context) (feed.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, min(checkerTimeout, f.cfg.Heartbeat))
	defer cancel()
	var heartbeat feed.Heartbeat
	if f.cfg.Egress != nil {
		heartbeat.Egress = f.cfg.Egress()
	}
	checker, err := f.store.ReadChecker(ctx)
	if err == nil {
		heartbeat.Checker = &checker
		err = f.store.RenewFeedEpoch(ctx)
	}
	if err != nil {
		f.log.Debug("heartbeat of the feed without the state of the workers", "error", err)
	}
	return newMessage(feed.Position{}, heartbeat, f.cfg.Now())
}

// newMessage encodes a message that is not an entry.
func newMessage(position feed.Position, data feed.Data, at time.Time) (feed.Message, error) {
	encoded, err := feed.Encode(data)
	if err != nil {
		return feed.Message{}, err
	}
	return feed.NewMessage(position, data.Type(), at, encoded)
}

// toMessages encodes the entries of a page.
func toMessages(page feed.Page) ([]feed.Message, error) {
	messages := make([]feed.Message, 0, len(page.Entries))
	for _, e := range page.Entries {
		m, err := feed.NewMessage(feed.Position{Epoch: page.Epoch, Version: e.Version}, e.Type, e.At, e.Data)
		if err != nil {
			return nil, fmt.Errorf("version %d of the feed: %w", e.Version, err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}
