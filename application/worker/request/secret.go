package request

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type secretKey struct{}

// WithSecret returns a context for questions about a stream that carry its secret. An empty one changes nothing.
func WithSecret(ctx context.Context, s monitor.StreamSecret) context.Context {
	if s.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, secretKey{}, s)
}

// SecretOf returns the secret of ctx, which no log and no result may show. Most streams have an empty one.
func SecretOf(ctx context.Context) monitor.StreamSecret {
	s, _ := ctx.Value(secretKey{}).(monitor.StreamSecret)
	return s
}
