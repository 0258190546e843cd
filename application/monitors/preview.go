package monitors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of previews (section 17.3).
const (
	PreviewTimeout = 20 * time.Second // for the tools, and for the wait for them
	MaxPreviews    = 2                // at a time in one gateway, whose container must hold their tools
)

// StreamResolver finds the state of a stream, as a worker does. It blocks until it has an
// answer or ctx is done, and may be called concurrently.
type StreamResolver interface {
	Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution
}

// Preview tells about a registration that was not made.
type Preview struct {
	StreamURL  monitor.StreamURL // empty: it is wrong
	Resolution watch.Resolution  // State is empty if nobody asked
	Problems   []error           // *monitor.Error: why Register would refuse it now
}

// Previewer checks registrations without making them, and finds the state of their streams.
// It may be used concurrently.
type Previewer struct {
	admission

	resolver   StreamResolver // nil: the state of the stream stays unknown
	withSecret func(context.Context, monitor.StreamSecret) context.Context
	running    chan struct{} // a semaphore of MaxPreviews
}

// Preview checks a registration as Register does, and resolves its stream once, within
// PreviewTimeout. It stores nothing. A missing CallbackURL is not checked. Errors: the store
// cannot be read.
func (p *Previewer) Preview(ctx context.Context, r Request) (preview Preview, err error) {
	m, problems := p.read(r)
	now, err := p.refusedNow(ctx, m, problems)
	if err != nil {
		return preview, err
	}
	if r.CallbackURL == nil && r.readable("callback_url") {
		problems = slices.DeleteFunc(problems, func(err error) bool { return monitor.FieldOf(err) == "callback_url" })
	}
	preview.Problems = slices.Concat(problems, now)
	if m.StreamURL == "" || !r.readable("stream_url") {
		return preview, nil
	}
	watched, active, err := p.reader.ActiveStreams(ctx, []monitor.StreamURL{m.StreamURL})
	if err != nil {
		return preview, fmt.Errorf("preview a registration: %w", err)
	}
	if err := p.room(m.StreamURL, watched, active); err != nil {
		preview.Problems = append(preview.Problems, err)
	}
	if p.jars != nil {
		if ctx, err = p.jars.With(ctx, m.Config.CookieJar, m.StreamURL); err != nil {
			return preview, fmt.Errorf("preview a registration: %w", err)
		}
	}
	if p.withSecret != nil {
		ctx = p.withSecret(ctx, m.StreamSecret)
	}
	preview.StreamURL, preview.Resolution = m.StreamURL, p.resolveOnce(ctx, m.StreamURL)
	return preview, nil
}

// resolveOnce waits for its turn and asks the resolver. A failure is in the Resolution.
func (p *Previewer) resolveOnce(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	if p.resolver == nil {
		return watch.Resolution{State: watch.ToolFailed, Detail: "this gateway has no resolver"}
	}
	ctx, cancel := context.WithTimeout(ctx, PreviewTimeout)
	defer cancel()
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	case <-ctx.Done():
		return watch.Resolution{State: watch.Unreachable, Detail: fmt.Sprintf("%d other previews are under way; try again", MaxPreviews)}
	}
	resolution := p.resolver.Resolve(ctx, url)
	if ctx.Err() != nil && !resolution.State.Known() {
		return watch.Resolution{State: watch.Unreachable, Detail: fmt.Sprintf("no answer within %.0f s", PreviewTimeout.Seconds())}
	}
	return resolution
}
