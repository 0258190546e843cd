package worker_test

import (
	"context"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// fakeSource is the resolver and prober of one source.
type fakeSource struct{}

func (fakeSource) Resolve(context.Context, monitor.StreamURL) watch.Resolution {
	return watch.Resolution{State: watch.Upcoming}
}

func (fakeSource) Probe(context.Context, monitor.StreamURL) watch.OEmbedResult {
	return watch.OEmbedResult{Known: true}
}

func TestAStreamIsResolvedByItsSource(t *testing.T) {
	const stream monitor.StreamURL = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
	for name, c := range map[string]struct {
		sources worker.Sources
		state   watch.StreamState
		known   bool
	}{
		"a resolver and a prober": {worker.Sources{monitor.YouTube: {fakeSource{}, fakeSource{}}}, watch.Upcoming, true},
		"no prober":               {worker.Sources{monitor.YouTube: {Resolver: fakeSource{}}}, watch.Upcoming, false},
		"another source":          {worker.Sources{"example": {fakeSource{}, fakeSource{}}}, watch.ToolFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			if r := c.sources.Resolve(t.Context(), stream); r.State != c.state || (r.Detail == "") != (c.state == watch.Upcoming) {
				t.Errorf("resolved as %+v", r)
			}
			if p := c.sources.Probe(t.Context(), stream); p.Known != c.known || (p.Detail == "") != c.known {
				t.Errorf("probed as %+v", p)
			}
		})
	}
}
