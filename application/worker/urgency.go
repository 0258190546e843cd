package worker

import (
	"context"
	"sync"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Priority is the urgency of one question. It may be raised while the question waits: its
// stream fails, or its scheduled start comes. It may be used concurrently.
type Priority struct {
	mu      sync.Mutex
	urgency watch.Urgency
	raised  chan struct{} // closed when urgency is raised
}

// NewPriority makes a Priority that begins with an urgency.
func NewPriority(u watch.Urgency) *Priority {
	return &Priority{urgency: u, raised: make(chan struct{})}
}

// Raise makes the question at least as urgent as u.
func (p *Priority) Raise(u watch.Urgency) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u > p.urgency {
		p.urgency = u
		close(p.raised)
		p.raised = make(chan struct{})
	}
}

// get returns the urgency, and a channel that is closed when it is raised.
func (p *Priority) get() (watch.Urgency, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.urgency, p.raised
}

type priorityKey struct{}

// WithPriority returns a context for a question of that priority. A Resolver that many
// streams share asks the more urgent ones first.
func WithPriority(ctx context.Context, p *Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, p)
}

// UrgencyOf returns the urgency of the question that ctx is for, and a channel that is closed
// when it is raised. A question without one is as urgent as a start, and remains so: a person
// waits for the preview of a stream.
func UrgencyOf(ctx context.Context) (u watch.Urgency, raised <-chan struct{}) {
	if p, ok := ctx.Value(priorityKey{}).(*Priority); ok {
		return p.get()
	}
	return watch.UrgencyStart, nil
}
