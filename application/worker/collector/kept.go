package collector

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of the segments that are kept in memory for captures.
const (
	maxKept     = 1 << 20                         // bytes of all
	keepSegment = capture.Before + 30*time.Second // after its end, by the newest one: until a capture has begun
)

// kept holds the segments that analysis fetched last. It may be used concurrently.
type kept struct {
	mu       sync.Mutex
	segments []keptSegment // in the order of their arrival
	size     int
}

type keptSegment struct {
	segment watch.Segment
	bytes   []byte
}

// Keep returns a body that reads like that of s, and keeps its bytes for captures once it
// was read to its end and closed. A segment that is too large is not kept.
func (c *Collector) Keep(s watch.Segment, body io.ReadCloser) io.ReadCloser {
	if c.ports.Store == nil || s.ProgramTime.IsZero() {
		return body
	}
	return &keptBody{ReadCloser: body, kept: &c.kept, segment: s}
}

// keptBody copies what is read.
type keptBody struct {
	io.ReadCloser
	kept     *kept
	segment  watch.Segment
	content  bytes.Buffer
	tooLarge bool
	whole    bool // it was read to its end
}

func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.tooLarge = b.tooLarge || b.content.Len()+n > maxKept; b.tooLarge {
		b.content = bytes.Buffer{}
	} else {
		b.content.Write(p[:n])
	}
	b.whole = b.whole || errors.Is(err, io.EOF)
	return n, err
}

func (b *keptBody) Close() error {
	err := b.ReadCloser.Close()
	if err == nil && b.whole && !b.tooLarge {
		b.kept.add(keptSegment{b.segment, bytes.Clone(b.content.Bytes())})
	}
	return err
}

// add keeps a segment and forgets those that are too old or too many.
func (k *kept) add(s keptSegment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.segments = append(k.segments, s)
	k.size += len(s.bytes)
	oldest := s.segment.End().Add(-keepSegment)
	for k.size > maxKept || k.segments[0].segment.End().Before(oldest) {
		k.size -= len(k.segments[0].bytes)
		k.segments = slices.Delete(k.segments, 0, 1)
	}
}

// content returns the bytes of a segment, or nil.
func (k *kept) content(s watch.Segment) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, known := range k.segments {
		if known.segment.ID() == s.ID() {
			return known.bytes
		}
	}
	return nil
}
