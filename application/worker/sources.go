package worker

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Source finds the streams of one kind of source.
type Source struct {
	Resolver Resolver
	Prober   Prober // nil: nothing but the resolver knows whether a stream exists
}

// Sources is a Resolver and a Prober that asks those of the stream's source
// (monitor.Sources).
type Sources map[monitor.SourceName]Source

// Resolve implements Resolver. It does not answer for a source without a
// resolver.
func (s Sources) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	if source := s[url.Source()]; source.Resolver != nil {
		return source.Resolver.Resolve(ctx, url)
	}
	return watch.Resolution{Began: time.Now(), State: watch.ToolFailed, Source: string(url.Source()), Detail: "this worker has no resolver for " + string(url)}
}

// Probe implements Prober.
func (s Sources) Probe(ctx context.Context, url monitor.StreamURL) watch.ProbeResult {
	if source := s[url.Source()]; source.Prober != nil {
		return source.Prober.Probe(ctx, url)
	}
	return watch.ProbeResult{Began: time.Now(), Detail: "this worker has no prober for " + string(url)}
}
