package worker

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

type urgencyKey struct{}

// WithUrgency returns a context for a question of that urgency. A Resolver that many
// streams share asks the more urgent ones first.
func WithUrgency(ctx context.Context, u watch.Urgency) context.Context {
	return context.WithValue(ctx, urgencyKey{}, u)
}

// UrgencyOf returns the urgency of the question that ctx is for. A question without one is
// as urgent as a start: a person waits for the preview of a stream.
func UrgencyOf(ctx context.Context) watch.Urgency {
	if u, ok := ctx.Value(urgencyKey{}).(watch.Urgency); ok {
		return u
	}
	return watch.UrgencyStart
}
