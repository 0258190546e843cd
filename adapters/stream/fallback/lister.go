package fallback

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// NewLister puts a Lister of all channels of a source behind a circuit breaker for each egress address, which the
// context of a question names. name is what logs call it; log should carry the source. An open circuit answers with the
// kind of the failure that opened it. A Lister that runs a tool gets the host, if there is one, and waits for its turn
// among the tools that resolve streams.
func NewLister(name string, l channels.Lister, host *Host, log *slog.Logger) channels.Lister {
	g := guardedLister{name: name, lister: l, breakers: newBreakers(name, MaxFailures, log.With("component", "resolver"))}
	if host != nil {
		g.queue = host.queue
	}
	return g
}

type guardedLister struct {
	name     string
	lister   channels.Lister
	queue    *Queue // nil: every question is asked at once
	breakers *breakers
}

// List implements channels.Lister.
func (g guardedLister) List(ctx context.Context, address string) (found channel.Listing, err error) {
	if g.queue != nil {
		if err := g.queue.acquire(ctx); err != nil {
			return found, &channel.Failure{Kind: channel.Network, Detail: notAsked(err).Detail, NotAsked: true}
		}
		defer g.queue.release()
	}
	b := g.breakers.of(breakerKey{address: request.Egress(ctx)})
	outcome := b.resolve(ctx, address, func() watch.Resolution {
		found, err = g.lister.List(ctx, address)
		return g.outcome(err)
	})
	if outcome.State != watch.CircuitOpen {
		return found, err
	}
	last := b.getLastFailure()
	return channel.Listing{}, &channel.Failure{Kind: kinds[last.State], Detail: shorten(g.name+" is not asked for a while, because it failed repeatedly: "+last.Detail, 2*detailLimit), NotAsked: true}
}

// kinds are the kinds of failure by what breakers call them. Each other kind is one of the tool.
var kinds = map[watch.StreamState]channel.FailureKind{
	watch.Blocked: channel.Refused, watch.RateLimited: channel.RateLimited, watch.Unreachable: channel.Network, watch.ToolFailed: channel.ToolFailed,
}

// outcome returns what a breaker has to know of a question.
func (g guardedLister) outcome(err error) watch.Resolution {
	failure, failed := errors.AsType[*channel.Failure](err)
	r := watch.Resolution{State: channel.StateOf(failure)}
	if failed {
		r.Source, r.Detail = g.name, failure.Detail
	}
	return r
}
