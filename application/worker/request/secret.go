package request

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type secretKey struct{}

// WithSecret returns a context for questions about a stream, and for readings of its manifests, that carry its secret.
func WithSecret(ctx context.Context, s monitor.StreamSecret) context.Context {
	return context.WithValue(ctx, secretKey{}, s)
}

// SecretOf returns the secret of ctx, which no log and no result may show. Most streams have an empty one.
func SecretOf(ctx context.Context) monitor.StreamSecret {
	s, _ := LentSecret(ctx)
	return s
}

// LentSecret returns the secret of ctx. lent is false for a request of which nobody has said which secret its stream has.
func LentSecret(ctx context.Context) (s monitor.StreamSecret, lent bool) {
	s, lent = ctx.Value(secretKey{}).(monitor.StreamSecret)
	return s, lent
}
