package inline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// Work is a worker's whole life. ctx done: it is asked to end, and takes the
// steps of section 8.3. force done, which is never before ctx: it ends at once.
// nil says that it ended by its own decision, or as it was asked, having said so
// to the gateway.
type WorkerFunc func(ctx, force context.Context, j supervisor.WorkerSpec) error

// Config is what a Launcher needs to know. RunDir and Work are required.
type Config struct {
	// RunDir is the directory that makes this gateway a place of its own, made if
	// it is not there. It belongs to one gateway at a time.
	RunDir string

	RunWorker   WorkerFunc    // must heed force wherever it waits
	GracePeriod time.Duration // between ctx and force, default 30 s (section 8.3)
	Log         *slog.Logger  // default: none
}

// replaceGrace is the most that a worker gets which a newer generation replaces.
const replaceGrace = 5 * time.Second

// heedGrace is how long Close waits for workers that it has forced.
const heedGrace = 5 * time.Second

func (c Config) complete() (Config, error) {
	switch {
	case c.RunDir == "":
		return c, errors.New("inline: RunDir is required")
	case c.RunWorker == nil:
		return c, errors.New("inline: Work is required")
	case c.GracePeriod < 0:
		return c, errors.New("inline: Grace must not be negative")
	case c.GracePeriod == 0:
		c.GracePeriod = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
