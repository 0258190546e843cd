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
type Resolver struct {
	primary, secondary guardedTool
	egress             Egress // nil: there is no choice of addresses
}

// NewResolver makes a Resolver for one stream. With a nil host it shares nothing with those
// of other streams. With a nil egress the environment decides how requests leave. log should
// carry the monitor's id.
func NewResolver(primary, secondary Tool, egress Egress, host *Host, log *slog.Logger) *Resolver {
	log = log.With("component", "resolver")
	r := &Resolver{
		primary:   guardedTool{tool: primary, own: newBreakers("primary", 1, log)},
		secondary: guardedTool{tool: secondary, own: newBreakers("secondary", 1, log)},
		egress:    egress,
	}
	if host != nil {
		r.primary.queue, r.primary.shared = host.queue, host.primary
		r.secondary.queue, r.secondary.shared = host.queue, host.secondary
	}
	return r
}

// Resolve implements worker.Resolver. It blocks for at most the limits of both tools, while
// it waits for its turn, and while the budget of questions holds it back.
func (r *Resolver) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	q := &question{url: url, egress: r.egress}
	if err := q.holdBack(ctx); err != nil {
		return notAsked(err)
	}
	answer := r.ask(ctx, q)
	answer.Egress = q.address
	return answer
}

// ask runs the tools. If the primary was run, its outcome is that of the address: a manifest
// that the secondary finds does not show that the source answers this address.
func (r *Resolver) ask(ctx context.Context, q *question) watch.Resolution {
	first := r.primary.resolve(ctx, q)
	if learned(first) || ctx.Err() != nil {
		q.record(ctx, first.State)
		return first
	}
	second := r.secondary.resolve(ctx, q)
	if first.State == watch.ToolFailed || first.State == watch.CircuitOpen {
		q.record(ctx, second.State)
	} else {
		q.record(ctx, first.State)
	}
	if learned(second) {
		if second.Detail == "" {
			second.Detail = summary(first)
		}
		return second
	}
	first.Detail = shorten(first.Detail, detailLimit) + "; " + summary(second)
	return first
}

// learned reports whether a Resolution gives the stream's state or a manifest, or says that nobody gets them without a
// login, which the secondary does not have.
func learned(r watch.Resolution) bool {
	return r.State.Known() || r.State == watch.ManifestFound || r.State == watch.LoginLost
}

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
