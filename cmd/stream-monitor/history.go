package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// historyInterval is the pause between two runs that merge and delete old history.
const historyInterval = 10 * time.Minute

// newHistory returns the service that answers questions about the history, and the
// task that merges old minutes and deletes what has expired.
func (g *gatewayServer) newHistory(now func() time.Time, log *slog.Logger) (*record.History, supervisor.LeaderTask, error) {
	service, err := record.NewHistory(g.store, record.HistoryConfig{Retention: g.settings.HistoryRetention, Now: now})
	if err != nil {
		return nil, supervisor.LeaderTask{}, err
	}
	run := func(ctx context.Context) error {
		failed := service.MergeSettled(ctx)
		spans, minutes, err := service.DeleteExpired(ctx)
		if spans > 0 || minutes > 0 {
			log.Info("expired history deleted", "component", "record", "spans", spans, "minutes", minutes)
		}
		return errors.Join(failed, err)
	}
	return service, supervisor.LeaderTask{Name: "history", Every: historyInterval, Run: run}, nil
}
