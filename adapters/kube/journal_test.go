package kube_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"github.com/stream-monitor/stream-monitor/adapters/kube"
)

// journal is a log to read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) count(text string) int { return strings.Count(j.String(), text) }

// logged is settings with a log.
func logged() (kube.Config, *journal) {
	j, cfg := &journal{}, settings()
	cfg.Log = slog.New(slog.NewJSONHandler(j, nil))
	return cfg, j
}
