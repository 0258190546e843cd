package main

import (
	"context"
	"sync/atomic"
	"time"

	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// feedInterval is the pause between two runs that delete expired entries of the feed.
const feedInterval = 10 * time.Minute

// newFeed returns the feed, which listens to the database until ctx is done, and the
// task that deletes expired entries.
func (a *assembly) newFeed(ctx context.Context) (*feeds.Feed, supervisor.LeaderTask, error) {
	var announcer atomic.Pointer[feeds.Feed]
	wakes := a.store.ListenFeed(ctx, func(t feed.Thumbnail) {
		if f := announcer.Load(); f != nil {
			f.Announce(t)
		}
	})
	f, err := feeds.New(a.store, wakes, feeds.Config{Log: a.log, Now: a.clock, Egress: a.egress})
	if err != nil {
		return nil, supervisor.LeaderTask{}, err
	}
	announcer.Store(f)
	expire := func(ctx context.Context) error {
		deleted, err := a.deleteExpiredFeed(ctx)
		if deleted > 0 {
			a.log.Info("expired entries of the feed deleted", "component", "feed", "entries", deleted)
		}
		return err
	}
	return f, supervisor.LeaderTask{Name: "feed", Every: feedInterval, Run: expire}, nil
}

// egress returns the addresses of this gateway's inline workers. Worker processes and pods
// choose for themselves, and nobody else knows what they know.
func (g *gatewayServer) egress() []egress.Status {
	if g.settings.WorkerRuntime != config.RuntimeInline {
		return nil
	}
	return g.resolving.egress.Status()
}

func (a *assembly) deleteExpiredFeed(ctx context.Context) (total int64, err error) {
	for more := true; more && err == nil; {
		var deleted int64
		deleted, more, err = a.store.DeleteFeed(ctx, a.settings.FeedRetention)
		total += deleted
	}
	return total, err
}
