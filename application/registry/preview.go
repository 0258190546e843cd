package registry

import (
	"context"
	"fmt"
	"strings"
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
	StreamURL  monitor.StreamURL    // empty: it is wrong
	Resolution watch.Resolution     // State is empty if nobody asked
	Problems   []monitor.FieldError // why Register would refuse it now; Field is empty if no field is to blame
}

// Previewer checks registrations without making them, and finds the state of their streams.
// It may be used concurrently.
type Previewer struct {
	streams     AdmissionReader
	callbacks   CallbackPolicy
	resolver    StreamResolver // nil: the state of the stream stays unknown
	maxMonitors int
	now         func() time.Time
	running     chan struct{} // a semaphore of MaxPreviews
}

// Preview checks a registration as Register does, and resolves its stream once, within
// PreviewTimeout. It stores nothing. An empty CallbackURL is not checked. Errors: the store
// cannot be read.
func (p *Previewer) Preview(ctx context.Context, r Request) (Preview, error) {
	var preview Preview
	var err error
	if preview.Problems, err = p.problems(ctx, r); err != nil {
		return preview, err
	}
	if preview.StreamURL, err = monitor.ParseStreamURL(r.StreamURL); err != nil || !r.readable("stream_url") {
		preview.StreamURL = ""
		return preview, nil //nolint:nilerr // it is among the problems
	}
	preview.Resolution = p.resolveOnce(ctx, preview.StreamURL)
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

// problems returns why Register would refuse a request now.
func (p *Previewer) problems(ctx context.Context, r Request) (all []monitor.FieldError, err error) {
	all = append(all, r.Unreadable...)
	add := func(field string, refusal error) bool {
		switch {
		case refusal == nil:
			return true
		case !isRefusal(refusal):
			err = refusal
		case field == "" || r.readable(field):
			all = append(all, monitor.FieldError{Field: field, Err: refusal})
		}
		return false
	}
	stream, refusal := monitor.ParseStreamURL(r.StreamURL)
	streamOK := add("stream_url", refusal)
	if r.CallbackURL != "" {
		callback, refusal := monitor.ParseCallbackURL(r.CallbackURL)
		if add("callback_url", refusal) {
			add("callback_url", p.callbacks.Check(ctx, callback))
		}
	}
	_, refusal = checkMetadata(r.Metadata)
	add("metadata", refusal)
	for _, e := range configErrors(r.Config.Valid()) {
		add(e.Field, e.Err)
	}
	add("config.scheduled_end_time", checkExpiry(r.Config, p.now()))
	if err != nil || !streamOK {
		return all, err
	}
	watched, active, err := p.streams.ActiveStreams(ctx, []monitor.StreamURL{stream})
	if err != nil {
		return nil, fmt.Errorf("preview a registration: %w", err)
	}
	if same, duplicate := watched[stream]; duplicate {
		add("stream_url", monitor.DuplicateOf(stream, same))
	} else if active >= p.maxMonitors {
		add("", monitor.TooMany(active, p.maxMonitors))
	}
	return all, nil
}

// configErrors divides the error of monitor.Config.Valid into one for each field. Each
// sentence of it begins with the field.
func configErrors(err error) (all []monitor.FieldError) {
	if err == nil {
		return nil
	}
	refusal, is := err.(*monitor.Error) //nolint:errorlint // Config.Valid returns it so
	if !is {
		return []monitor.FieldError{{Field: "config", Err: err}}
	}
	const prefix = "config."
	for rest := range strings.SplitSeq(strings.TrimPrefix(refusal.Message, prefix), ". "+prefix) {
		field, _, _ := strings.Cut(rest, " ")
		all = append(all, monitor.FieldError{Field: prefix + field, Err: monitor.Errorf(refusal.Code, "%s", prefix+rest)})
	}
	return all
}
