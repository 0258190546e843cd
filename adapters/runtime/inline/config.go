package inline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// WorkerFunc runs a worker. When ctx is done, it must shut down as section 8.3 says. When
// force is done, it must return at once; force is never done before ctx. It returns nil if
// the worker has made its final report.
type WorkerFunc func(ctx, force context.Context, spec supervisor.WorkerSpec) error

// Config configures a Launcher. RunDir and RunWorker are required.
type Config struct {
	// RunDir identifies this gateway's runtime. It is created if it does not
	// exist, and belongs to one gateway at a time.
	RunDir string

	RunWorker   WorkerFunc    // must return when force is done, wherever it waits
	GracePeriod time.Duration // between ctx and force, default 30 s (section 8.3)
	Log         *slog.Logger  // default: nothing is logged
}

// replacementGracePeriod is the longest grace period of a worker that a newer
// generation replaces.
const replacementGracePeriod = 5 * time.Second

// forcedExitTimeout is how long Close waits for workers that it has forced.
const forcedExitTimeout = 5 * time.Second

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.RunDir == "":
		return c, errors.New("inline: RunDir is required")
	case c.RunWorker == nil:
		return c, errors.New("inline: RunWorker is required")
	case c.GracePeriod < 0:
		return c, errors.New("inline: GracePeriod must not be negative")
	case c.GracePeriod == 0:
		c.GracePeriod = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
