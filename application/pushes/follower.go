package pushes

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

// FollowerConfig says how Twitch sends.
type FollowerConfig struct {
	Client   string // the id of the application
	Callback string // the URL of the webhook; empty: by a conduit, over a socket
}

// Follower keeps the subscriptions, and the socket of a conduit. The elected gateway runs it.
type Follower struct {
	service  *Service
	api      API
	conduits Conduits
	dialer   Dialer
	cfg      FollowerConfig
	log      *slog.Logger

	subscriptions subscriptions // of the goroutine of Run alone

	mu        sync.Mutex
	transport eventsub.Transport // zero: not known yet
	failures  [parts]string      // why the newest step of each part failed; empty: it did not
}

// The parts of a Follower that fail by themselves.
const (
	listening = iota
	syncing
	parts
)

// NewFollower returns a Follower whose messages the service accepts.
func NewFollower(service *Service, api API, conduits Conduits, dialer Dialer, cfg FollowerConfig) *Follower {
	return &Follower{service: service, api: api, conduits: conduits, dialer: dialer, cfg: cfg, log: service.log}
}

// Run keeps the subscriptions until ctx is done.
func (f *Follower) Run(ctx context.Context) error {
	f.subscriptions = subscriptions{refused: map[eventsub.Key]refusal{}}
	var socket sync.WaitGroup
	defer socket.Wait()
	if f.cfg.Callback != "" {
		f.use(eventsub.Transport{Callback: f.cfg.Callback + "?secret=" + f.service.secret.Fingerprint()}) // another secret is another transport
	} else {
		f.use(eventsub.Transport{})
		socket.Go(func() { f.listen(ctx) })
	}
	for failures := 0; ctx.Err() == nil; {
		change, refused, err := f.sync(ctx)
		pause := eventsub.SyncEvery
		if failures++; err == nil {
			failures = 0
		} else {
			pause = max(pause, eventsub.Backoff.Delay(failures))
		}
		f.note(ctx, syncing, cmp.Or(err, refused), change)
		wait.For(ctx, pause)
	}
	return nil
}

func (f *Follower) use(t eventsub.Transport) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.transport = t
}

func (f *Follower) current() eventsub.Transport {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.transport
}

// note stores a change of the state, and why a part of the Follower fails; nil: it does not. It logs the first failure of a part in a row.
func (f *Follower) note(ctx context.Context, part int, err error, change func(*eventsub.State)) {
	if ctx.Err() != nil {
		err = nil // the gateway is not elected any more, or stops
	}
	f.mu.Lock()
	before := cmp.Or(f.failures[listening], f.failures[syncing])
	if f.failures[part] = ""; err != nil {
		f.failures[part] = err.Error()
	}
	after := cmp.Or(f.failures[listening], f.failures[syncing])
	f.mu.Unlock()
	switch {
	case before == "" && after != "":
		f.log.Warn("Twitch pushes no starts or not all, will try again; streams are found as without pushes", "error", after)
	case before != "" && after == "":
		f.log.Info("Twitch pushes starts again")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	err = f.service.store.ChangeEventSubState(ctx, func(s *eventsub.State) {
		if t := f.current(); t != (eventsub.Transport{}) {
			s.Use(f.cfg.Client, t)
		}
		change(s)
		s.Failure = after
	})
	if err != nil {
		f.log.Debug("the state of pushes is not stored", "error", err.Error())
	}
}

// noteTimeout bounds the change of the state in the store.
const noteTimeout = 3 * time.Second
