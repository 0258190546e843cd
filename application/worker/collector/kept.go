package collector

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of the segments that are kept in memory for captures.
const (
	maxKept     = 1 << 20                         // bytes of all that one collector keeps
	keepSegment = capture.Before + 30*time.Second // after its end, by the newest one: until a capture has begun
)

// Memory bounds the bytes that the collectors of a process keep of segments: each keeps an
// equal share at most. It is safe for concurrent use.
type Memory struct {
	bytes      int64
	collectors atomic.Int64
}

// NewMemory makes a bound of so many bytes for all collectors.
func NewMemory(bytes int64) *Memory { return &Memory{bytes: bytes} }

// join counts a collector until leave is called.
func (m *Memory) join() (leave func()) {
	if m == nil {
		return func() {}
	}
	m.collectors.Add(1)
	return func() { m.collectors.Add(-1) }
}

// share returns how many bytes a collector may keep.
func (m *Memory) share() int {
	if m == nil {
		return maxKept
	}
	return int(min(maxKept, m.bytes/max(1, m.collectors.Load())))
}

// kept holds the segments that analysis fetched last. It may be used concurrently.
type kept struct {
	memory   *Memory
	mu       sync.Mutex
	segments []keptSegment // in the order of their arrival
	size     int
}

type keptSegment struct {
	segment watch.Segment
	bytes   []byte
}

// Keep returns a body that reads like that of s, and keeps its bytes for captures once it
// was read to its end and closed. A segment larger than this collector's share is not kept.
func (c *Collector) Keep(s watch.Segment, body io.ReadCloser) io.ReadCloser {
	if c.ports.Store == nil || s.ProgramTime.IsZero() {
		return body
	}
	return CopyBody(body, c.kept.memory.share(), func(content []byte) {
		if cap(content) > len(content)+len(content)/8 {
			content = bytes.Clone(content) // else the unused room of its buffer would stay in memory, too
		}
		c.kept.add(keptSegment{s, content})
	})
}

// add keeps a segment and forgets those that are too old or too many.
func (k *kept) add(s keptSegment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.segments = append(k.segments, s)
	k.size += len(s.bytes)
	oldest, share := s.segment.End().Add(-keepSegment), k.memory.share()
	for k.size > share && len(k.segments) > 1 || k.segments[0].segment.End().Before(oldest) {
		k.size -= len(k.segments[0].bytes)
		k.segments = slices.Delete(k.segments, 0, 1)
	}
}

// content returns the bytes of a segment, or nil.
func (k *kept) content(s watch.Segment) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, known := range k.segments {
		if known.segment.SameListing(s) {
			return known.bytes
		}
	}
	return nil
}
