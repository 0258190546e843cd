package fallback

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Egress chooses the address through which a question leaves, and learns from the answer
// (section 10.3). preferred is the address to which the stream's present URLs are bound;
// empty: none. It may be used concurrently.
type Egress interface {
	// Delay returns for how long the budget of questions holds back a poll.
	Delay(url monitor.StreamURL, preferred string) time.Duration

	// Other returns an address other than avoided; empty: there is none that can be used.
	Other(url monitor.StreamURL, avoided string) (address string)

	// Choose returns the name of the address of a question that is asked now.
	Choose(url monitor.StreamURL, preferred string) (address string)

	// Record records the answer to a question of urgency u.
	Record(url monitor.StreamURL, address string, u watch.Urgency, state watch.StreamState)
}

// question is one call of Resolve. Both tools use the same address.
type question struct {
	url    monitor.StreamURL
	egress Egress // nil: there is no choice

	address string        // empty: none was chosen
	urgency watch.Urgency // of the question when address was chosen
}

// holdBack waits while the budget holds the question back. It ends early when the question
// becomes more urgent than a poll. Error: ctx's.
func (q *question) holdBack(ctx context.Context) error {
	urgency, raised := worker.UrgencyOf(ctx)
	if q.egress == nil || urgency != watch.UrgencyPoll {
		return nil
	}
	delay := q.egress.Delay(q.url, request.Egress(ctx))
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-raised:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// withAddress chooses the address when the first tool has its turn. The tools use the address
// of the context that it returns.
func (q *question) withAddress(ctx context.Context) context.Context {
	if q.egress == nil {
		return ctx
	}
	if q.address == "" {
		q.urgency, _ = worker.UrgencyOf(ctx)
		preferred := request.Egress(ctx)
		if avoided := request.AvoidedEgress(ctx); avoided != "" {
			preferred = q.egress.Other(q.url, avoided)
		}
		q.address = q.egress.Choose(q.url, preferred)
	}
	return request.WithEgress(ctx, q.address)
}

// key returns of which breakers the question is.
func (q *question) key() breakerKey { return breakerKey{q.url.Source(), q.address} }

// record passes the outcome for the address to Egress. A cancelled question has none.
func (q *question) record(ctx context.Context, state watch.StreamState) {
	if q.address != "" && ctx.Err() == nil {
		q.egress.Record(q.url, q.address, q.urgency, state)
	}
}
