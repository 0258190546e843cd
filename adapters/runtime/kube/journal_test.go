package kube_test

import (
	"log/slog"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

// logged is settings with a log.
func logged() (kube.Config, *logbuffer.Buffer) {
	j, cfg := &logbuffer.Buffer{}, settings()
	cfg.Log = slog.New(slog.NewJSONHandler(j, nil))
	return cfg, j
}
