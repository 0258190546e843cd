package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// feedInterval is the pause between two runs that delete expired entries of the feed.
const feedInterval = 10 * time.Minute

// newFeed returns the feed, which listens to the database until ctx is done, and the
// task that deletes expired entries.
func (g *gatewayServer) newFeed(ctx context.Context, now func() time.Time, log *slog.Logger) (*record.Feed, supervisor.LeaderTask, error) {
	var announcer atomic.Pointer[record.Feed]
	wakes := g.store.ListenFeed(ctx, func(t feed.Thumbnail) {
		if f := announcer.Load(); f != nil {
			f.Announce(t)
		}
	})
	f, err := record.NewFeed(g.store, wakes, record.FeedConfig{Log: log, Now: now})
	if err != nil {
		return nil, supervisor.LeaderTask{}, err
	}
	announcer.Store(f)
	expire := func(ctx context.Context) error {
		deleted, err := g.deleteExpiredFeed(ctx)
		if deleted > 0 {
			log.Info("expired entries of the feed deleted", "component", "record", "entries", deleted)
		}
		return err
	}
	return f, supervisor.LeaderTask{Name: "feed", Every: feedInterval, Run: expire}, nil
}

func (g *gatewayServer) deleteExpiredFeed(ctx context.Context) (total int64, err error) {
	for more := true; more && err == nil; {
		var deleted int64
		deleted, more, err = g.store.DeleteFeed(ctx, g.settings.FeedRetention)
		total += deleted
	}
	return total, err
}
