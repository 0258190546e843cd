package own

import (
	"context"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const (
	lookLimit = 30 * time.Second // for a look at a stream
	maxLooks  = 3                // at renditions, until one can be read
)

// Source makes the adapters of streams of one's own.
func Source(t stream.Tools) worker.Source {
	r := &Resolver{tools: t, open: map[monitor.StreamURL]*session{}}
	return worker.Source{Resolver: r, Media: r.media}
}

// Resolver is a worker.Resolver: it reads the manifest and one of its renditions. It may be used concurrently. A stream whose
// media a worker reads is asked with the same session, so that its token URL is asked by one of them.
//
//	a live playlist, or a dynamic MPD        ▶ live
//	one without any segment yet              ▶ upcoming
//	any status but those below, such as 404  ▶ upcoming: nobody broadcasts
//	401, 403, and 410 with a query           ▶ denied
//	a connection refused, or broken off      ▶ the server is down
//	EXT-X-ENDLIST, a static MPD, no manifest ▶ not a live stream
//	429                                      ▶ too many requests
//	anything else                            ▶ the state is unknown
type Resolver struct {
	tools stream.Tools

	mu   sync.Mutex
	open map[monitor.StreamURL]*session // of workers
}

// media opens the media of a stream for a worker.
func (r *Resolver) media(u monitor.StreamURL) worker.Media {
	s := newSession(r.tools, u)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[u] = s
	return &media{s, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, u)
	}}
}

// media is a worker.Media.
type media struct {
	*session

	close func()
}

// Close implements worker.Media.
func (m *media) Close() { m.close() }

func (r *Resolver) session(u monitor.StreamURL) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.open[u]; s != nil {
		return s
	}
	return newSession(r.tools, u) // for a preview
}

// Resolve implements worker.Resolver. It blocks for at most lookLimit.
func (r *Resolver) Resolve(ctx context.Context, u monitor.StreamURL) watch.Resolution {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	s := r.session(u)
	answer := watch.Resolution{Source: string(u.Source())}
	p := s.ReadPlaylist(ctx, u.ID())
	listed := p.Renditions
	for i, looks := 0, 0; i < len(listed) && looks < maxLooks; i++ {
		if !listed[i].HasVideo && !listed[i].HasAudio {
			continue
		}
		looks++
		if one := s.ReadPlaylist(ctx, listed[i].URL); looks == 1 || one.Failure == nil {
			p = one
		}
		if p.Failure == nil {
			break
		}
	}
	answer.State, answer.Detail = stateOf(p)
	if answer.State == watch.Live {
		answer.Manifest = u.ID()
	}
	return answer
}

// stateOf returns what the reading of a media playlist says about the stream.
func stateOf(p watch.Playlist) (watch.StreamState, string) {
	switch failure := p.Failure; {
	case failure == nil && p.Ended:
		return watch.NotALiveStream, "the manifest says that it is complete (EXT-X-ENDLIST, or a static MPD): it is that of a recording"
	case failure == nil && len(p.Segments) == 0:
		return watch.NotALiveStream, "the manifest lists no rendition with picture or sound"
	case failure == nil:
		return watch.Live, ""
	default:
		return failure.OwnState(), failure.Detail
	}
}
