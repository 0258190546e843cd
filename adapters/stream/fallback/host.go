package fallback

import (
	"context"
	"log/slog"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Host holds a queue, and a circuit breaker for each tool, which the Resolvers of many
// streams share. A shared breaker opens when its tool has failed for MaxFailures streams in a
// row. One stream for which it always fails does not keep it from the others.
type Host struct {
	queue              *Queue
	primary, secondary *breaker
}

// NewHost makes a Host that runs so many tools at once.
func NewHost(places int, log *slog.Logger) *Host {
	log = log.With("component", "resolver")
	return &Host{
		queue:     NewQueue(places),
		primary:   newBreaker("primary of the host", MaxFailures, log),
		secondary: newBreaker("secondary of the host", MaxFailures, log),
	}
}

// guardedTool is a Tool behind the breaker of its stream, and with a host behind its queue
// and its breaker.
type guardedTool struct {
	tool   Tool
	own    *breaker
	queue  *Queue   // nil: every run begins at once
	shared *breaker // nil: there is no host
}

// resolve waits for its turn before it looks at the circuits, so that questions that wait
// notice when one opens.
func (g guardedTool) resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	if g.queue != nil {
		if err := g.queue.acquire(ctx); err != nil {
			return watch.Resolution{State: watch.Unreachable, Detail: "the question waited for its turn and was not asked: " + err.Error()}
		}
		defer g.queue.release()
	}
	return g.own.resolve(ctx, url, func() watch.Resolution {
		run := func() watch.Resolution { return g.tool.Resolve(ctx, url) }
		if g.shared == nil {
			return run()
		}
		return g.shared.resolve(ctx, url, run)
	})
}
