package kube_test

import (
	"log/slog"

	"github.com/stream-monitor/stream-monitor/adapters/kube"
	"github.com/stream-monitor/stream-monitor/test/journal"
)

// logged is settings with a log.
func logged() (kube.Config, *journal.Journal) {
	j, cfg := &journal.Journal{}, settings()
	cfg.Log = slog.New(slog.NewJSONHandler(j, nil))
	return cfg, j
}
