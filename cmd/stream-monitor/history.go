package main

import (
	"context"
	"errors"
	"time"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// historyInterval is the pause between two runs that merge and delete old history.
const historyInterval = 10 * time.Minute

// newHistory returns the service that answers questions about the history, and the
// task that merges old minutes and deletes what has expired.
func (a *assembly) newHistory() (*histories.Service, supervisor.LeaderTask) {
	expiry := histories.NewExpiry(a.store, a.settings.HistoryRetention, a.clock)
	run := func(ctx context.Context) error {
		failed := expiry.MergeSettled(ctx)
		spans, minutes, err := expiry.DeleteExpired(ctx)
		if spans > 0 || minutes > 0 {
			a.log.Info("expired history deleted", "component", "history", "spans", spans, "minutes", minutes)
		}
		return errors.Join(failed, err)
	}
	return histories.NewService(a.store, a.clock), supervisor.LeaderTask{Name: "history", Every: historyInterval, Run: run}
}
