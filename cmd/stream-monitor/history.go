package main

import (
	"context"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// historyInterval is the pause between two runs that merge and delete old history.
const historyInterval = 10 * time.Minute

// newHistory returns the service that answers questions about the history, and the
// task that merges old minutes and deletes what has expired.
func (a *assembly) newHistory() (*record.History, supervisor.LeaderTask, error) {
	service, err := record.NewHistory(a.store, record.HistoryConfig{Retention: a.settings.HistoryRetention, Now: a.clock})
	if err != nil {
		return nil, supervisor.LeaderTask{}, err
	}
	run := func(ctx context.Context) error {
		failed := service.MergeSettled(ctx)
		spans, minutes, err := service.DeleteExpired(ctx)
		if spans > 0 || minutes > 0 {
			a.log.Info("expired history deleted", "component", "record", "spans", spans, "minutes", minutes)
		}
		return errors.Join(failed, err)
	}
	return service, supervisor.LeaderTask{Name: "history", Every: historyInterval, Run: run}, nil
}
