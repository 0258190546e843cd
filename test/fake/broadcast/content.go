package broadcast

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

var errNotThere = errors.New("broadcast: not there")

// segment is segment n, as it is sent.
func (b *Broadcast) segment(t *track, n int) ([]byte, error) {
	if n < 0 || n >= t.out(b.elapsed()) || t.segments[n].gap || b.shape.OneFile {
		return nil, errNotThere
	}
	return b.send(t, n, t.segments[n].pieces)
}

// part is a part of segment n. The next one to come is waited for.
func (b *Broadcast) part(ctx context.Context, t *track, n, i int) ([]byte, error) {
	if n < 0 || n >= len(t.segments) || i >= len(t.segments[n].pieces) || !b.shape.Parts {
		return nil, errNotThere
	}
	due := t.segments[n].at
	for _, piece := range t.segments[n].pieces[:i+1] {
		due += piece.duration
	}
	b.await(ctx, due)
	if b.elapsed() < due {
		return nil, errNotThere
	}
	return b.send(t, n, t.segments[n].pieces[i:i+1])
}

// send puts pieces of segment n together.
func (b *Broadcast) send(t *track, n int, pieces []piece) (all []byte, err error) {
	for _, p := range pieces {
		bytes, err := p.read(p.dir)
		if err != nil {
			return nil, err
		}
		if p.shift != 0 {
			restamp(bytes, p.shift)
		}
		all = append(all, bytes...)
	}
	if b.shape.Container == Packed && t.video == NoVideo {
		all = stamped(all, t.segments[n].at-b.chapterStart(t.segments[n].chapter)+firstStamp)
	}
	if b.shape.Keys == Rotating {
		return b.key(t, n).encrypt(all)
	}
	return all, nil
}

// firstStamp is where ffmpeg's MPEG-TS timestamps begin.
const firstStamp = 1400 * time.Millisecond

func (b *Broadcast) chapterStart(chapter int) time.Duration {
	if chapter == 0 {
		return 0
	}
	return b.shape.Reconnect + b.shape.Away
}

// init is a chapter's initialisation section, encrypted with a key if wanted.
func (b *Broadcast) init(t *track, chapter, number int, encrypted bool) ([]byte, error) {
	for n, s := range t.segments[:t.out(b.elapsed())] {
		if s.chapter != chapter || s.init == nil || b.shape.OneFile {
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
	return nil, errNotThere
}

// file is the one that all segments of a chapter are parts of, as far as it has
// been on the air.
func (b *Broadcast) file(t *track, chapter int) ([]byte, error) {
	var last *segment
	for n := range t.out(b.elapsed()) {
		if t.segments[n].chapter == chapter {
			last = &t.segments[n]
		}
	}
	if last == nil {
		return nil, errNotThere
	}
	p := last.pieces[0]
	return extent{p.file, 0, p.offset + p.length}.read(last.dir)
}

// at is the segment that begins at a time of the timescale, or -1.
func (t *track) at(ticks int64) int {
	at := t.first
	for n := range t.segments {
		if at == ticks {
			return n
		}
		at += t.ticksOf(n)
	}
	return -1
}

// read reads it from the directory it is in.
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
