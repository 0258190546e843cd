package fallback

import (
	"context"
	"log/slog"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Tool is one way to resolve a stream. Its contract is that of worker.Resolver.
type Tool interface {
	Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution
}

// Resolver is a worker.Resolver of two tools. It may be used concurrently.
type Resolver struct{ primary, secondary *breaker }

// NewResolver makes a Resolver. log should carry the monitor's id.
func NewResolver(primary, secondary Tool, log *slog.Logger) *Resolver {
	log = log.With("component", "resolver")
	return &Resolver{
		primary:   newBreaker("primary", primary, log),
		secondary: newBreaker("secondary", secondary, log),
	}
}

// Resolve implements worker.Resolver. It blocks for as long as both tools may.
func (r *Resolver) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	first := r.primary.resolve(ctx, url)
	if learned(first) || ctx.Err() != nil {
		return first
	}
	second := r.secondary.resolve(ctx, url)
	if learned(second) {
		if second.Detail == "" {
			second.Detail = summary(first)
		}
		return second
	}
	first.Detail = shorten(first.Detail, detailLimit) + "; " + summary(second)
	return first
}

// learned reports whether an answer says anything about the stream.
func learned(r watch.Resolution) bool { return r.State.Answers() || r.State == watch.ManifestFound }

// detailLimit is how much of a Detail remains when two are told in one, in bytes.
// It is larger than a cause (150 bytes), which is never cut.
const detailLimit = 220

// summary is a short form of an answer for another's Detail.
func summary(r watch.Resolution) string {
	detail := shorten(r.Detail, detailLimit)
	if r.Source == "" || r.Detail == "" || strings.HasPrefix(detail, r.Source) {
		return detail
	}
	return r.Source + ": " + detail
}

// shorten cuts a text between characters to at most limit bytes.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := 0
	for i := range text {
		if i > limit-len("…") {
			break
		}
		cut = i
	}
	return text[:cut] + "…"
}
