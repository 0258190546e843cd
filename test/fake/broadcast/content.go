package broadcast

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

var errNotFound = errors.New("broadcast: not found")

// segment returns the bytes of segment n.
func (b *Broadcast) segment(t *track, n int) ([]byte, error) {
	if n < 0 || n >= t.published(b.elapsed()) || t.segments[n].gap || b.shape.SingleFile {
		return nil, errNotFound
	}
	return b.assemble(t, n, t.segments[n].pieces)
}

// part returns a part of segment n. It waits for the next part.
func (b *Broadcast) part(ctx context.Context, t *track, n, i int) ([]byte, error) {
	if n < 0 || n >= len(t.segments) || i >= len(t.segments[n].pieces) || !b.shape.Parts {
		return nil, errNotFound
	}
	due := t.segments[n].at
	for _, piece := range t.segments[n].pieces[:i+1] {
		due += piece.duration
	}
	b.waitUntil(ctx, due)
	if b.elapsed() < due {
		return nil, errNotFound
	}
	return b.assemble(t, n, t.segments[n].pieces[i:i+1])
}

// assemble joins pieces of segment n and encrypts them if needed.
func (b *Broadcast) assemble(t *track, n int, pieces []piece) (all []byte, err error) {
	for _, p := range pieces {
		data, err := p.read(p.dir)
		if err != nil {
			return nil, err
		}
		if p.shift != 0 {
			shiftTimestamps(data, p.shift)
		}
		all = append(all, data...)
	}
	if b.shape.Container == Packed && t.video == NoVideo {
		all = withID3Timestamp(all, t.segments[n].at-b.connectionStart(t.segments[n].connection)+firstTimestamp)
	}
	if b.shape.Keys == Rotating {
		return b.key(t, n).encrypt(all)
	}
	return all, nil
}

// firstTimestamp is the first timestamp of ffmpeg's MPEG-TS.
const firstTimestamp = 1400 * time.Millisecond

func (b *Broadcast) connectionStart(connection int) time.Duration {
	if connection == 0 {
		return 0
	}
	return b.shape.Reconnect + b.shape.ReconnectGap
}

// init returns the init section of a connection, encrypted with key number if wanted.
func (b *Broadcast) init(t *track, connection, number int, encrypted bool) ([]byte, error) {
	for n, s := range t.segments[:t.published(b.elapsed())] {
		if s.connection != connection || s.init == nil || b.shape.SingleFile {
			continue
		}
		k := b.key(t, n)
		if encrypted != (k != nil) || k != nil && k.number != number {
			continue
		}
		body, err := s.init.read(s.dir)
		if err == nil && k != nil {
			body, err = k.encrypt(body)
		}
		return body, err
	}
	return nil, errNotFound
}

// file returns the single file of a connection, as far as it is published.
func (b *Broadcast) file(t *track, connection int) ([]byte, error) {
	var last *segment
	for n := range t.published(b.elapsed()) {
		if t.segments[n].connection == connection {
			last = &t.segments[n]
		}
	}
	if last == nil {
		return nil, errNotFound
	}
	p := last.pieces[0]
	return extent{p.file, 0, p.offset + p.length}.read(last.dir)
}

// indexOf returns the segment that begins at a time in the timescale, or -1.
func (t *track) indexOf(ticks int64) int {
	at := t.first
	for n := range t.segments {
		if at == ticks {
			return n
		}
		at += t.ticksOf(n)
	}
	return -1
}

// read returns the bytes of e, a file in dir.
func (e extent) read(dir string) ([]byte, error) {
	f, err := os.Open(filepath.Join(dir, e.file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if e.length == 0 {
		return io.ReadAll(f)
	}
	b := make([]byte, e.length)
	_, err = f.ReadAt(b, e.offset)
	return b, err
}
