package worker

import (
	"bytes"
	"io"
	"sync"

	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// maxScreened is the size in bytes up to which a screened segment is kept. A larger one is
// fetched again.
const maxScreened = 8 << 20

// screened keeps the bytes of the segment that was screened last (decision S18), until the
// watcher has decided whether to look at every frame of it.
type screened struct {
	mu      sync.Mutex
	segment watch.Segment
	content []byte // nil: there is none
}

// keep returns a body that reads like that of s, and keeps its bytes once it was read to
// its end and closed.
func (k *screened) keep(s watch.Segment, body io.ReadCloser) io.ReadCloser {
	return collector.CopyBody(body, maxScreened, func(content []byte) { k.set(s, content) })
}

// body returns the bytes of a segment, if they were kept.
func (k *screened) body(s watch.Segment) (io.ReadCloser, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.content == nil || !k.segment.SameListing(s) {
		return nil, false
	}
	return io.NopCloser(bytes.NewReader(k.content)), true
}

// forget drops the bytes unless one of the tasks needs them.
func (k *screened) forget(tasks []watch.Task) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range tasks {
		if t.Kind == watch.TaskSegment && t.Segment.SameListing(k.segment) {
			return
		}
	}
	k.segment, k.content = watch.Segment{}, nil
}

func (k *screened) set(s watch.Segment, content []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.segment, k.content = s, content
}
