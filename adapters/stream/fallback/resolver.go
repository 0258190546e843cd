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
type Resolver struct{ primary, secondary guardedTool }

// NewResolver makes a Resolver for one stream. With a nil host it shares nothing with those
// of other streams. log should carry the monitor's id.
func NewResolver(primary, secondary Tool, host *Host, log *slog.Logger) *Resolver {
	log = log.With("component", "resolver")
	r := &Resolver{
		primary:   guardedTool{tool: primary, own: newBreaker("primary", 1, log)},
		secondary: guardedTool{tool: secondary, own: newBreaker("secondary", 1, log)},
	}
	if host != nil {
		r.primary.queue, r.primary.shared = host.queue, host.primary
		r.secondary.queue, r.secondary.shared = host.queue, host.secondary
	}
	return r
}

// Resolve implements worker.Resolver. It blocks for at most the limits of both tools, and
// while it waits for its turn.
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

// learned reports whether a Resolution gives the stream's state or a manifest.
func learned(r watch.Resolution) bool { return r.State.Known() || r.State == watch.ManifestFound }

// detailLimit is the maximum length of each of two combined Details, in bytes. It is larger
// than pythontool.MaxCause, so that a cause is never cut.
const detailLimit = 220

// summary returns a short form of a Resolution for the Detail of another.
func summary(r watch.Resolution) string {
	detail := shorten(r.Detail, detailLimit)
	if r.Source == "" || r.Detail == "" || strings.HasPrefix(detail, r.Source) {
		return detail
	}
	return r.Source + ": " + detail
}

// shorten cuts a text to at most limit bytes, between characters.
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
