package fallback

import (
	"context"
	"log/slog"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Host holds a queue, and a circuit breaker for each tool, source and egress address, which the
// Resolvers of many streams share. A shared breaker opens when its tool has failed for
// MaxFailures streams in a row. One stream for which it always fails does not keep it from the
// others.
type Host struct {
	queue              *Queue
	primary, secondary *breakers
}

// NewHost makes a Host that runs at most that many tools at once.
func NewHost(places int, log *slog.Logger) *Host {
	log = log.With("component", "resolver")
	return &Host{
		queue:     NewQueue(places),
		primary:   newBreakers("primary of the host", MaxFailures, log),
		secondary: newBreakers("secondary of the host", MaxFailures, log),
	}
}

// guardedTool is a Tool behind the breaker of its stream. If there is a host, it is also behind
// the host's queue and breaker.
type guardedTool struct {
	tool   Tool
	own    *breakers
	queue  *Queue    // nil: every run begins at once
	shared *breakers // nil: there is no host
}

// resolve waits for its turn before it looks at the circuits, so that questions that wait
// notice when one opens.
func (g guardedTool) resolve(ctx context.Context, q *question) watch.Resolution {
	if g.queue != nil {
		if err := g.queue.acquire(ctx); err != nil {
			return notAsked(err)
		}
		defer g.queue.release()
	}
	ctx = q.withAddress(ctx)
	return g.own.of(q.key()).resolve(ctx, string(q.url), func() watch.Resolution {
		run := func() watch.Resolution { return g.tool.Resolve(ctx, q.url) }
		if g.shared == nil {
			return run()
		}
		return g.shared.of(q.key()).resolve(ctx, string(q.url), run)
	})
}

// notAsked is the answer to a question that ended before a tool was run.
func notAsked(err error) watch.Resolution {
	return watch.Resolution{State: watch.Unreachable, Detail: "the question waited for its turn and was not asked: " + err.Error()}
}
