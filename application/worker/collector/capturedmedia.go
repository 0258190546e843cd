package collector

import (
	"bytes"
	"context"
	"errors"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// capturedMedia are the segments of one capture, on disk.
type capturedMedia struct {
	segments Fetcher
	kept     *kept
	tempFile func() (TempFile, error)
	defects  *defects
	tracks   []*track
}

// maxFailures is how many segments in a row may fail before a job asks for no more.
const maxFailures = 3

// gather gets the segments of the tracks that it does not have yet: those that analysis
// fetched, and the others if the job says so.
func (m *capturedMedia) gather(ctx context.Context, j capture.Job) {
	for i, want := range j.Tracks {
		if i == len(m.tracks) {
			file, err := m.tempFile()
			if err != nil {
				m.noteMissing(j, err)
				return
			}
			m.tracks = append(m.tracks, &track{file: file})
		}
		t := m.tracks[i]
		t.video, t.audio, t.height, t.listed = want.Video, want.Audio, want.Height, want.Segments
		for _, s := range want.Segments {
			content := m.kept.content(s)
			if content == nil || t.has(s) {
				continue
			}
			if err := t.add(s, bytes.NewReader(content)); err != nil {
				m.noteSegment(j, s, err)
				break
			}
		}
		if j.Fetch {
			m.fetch(ctx, j, t)
		}
	}
}

// noteMissing notes that there is no place for media. After a collection it notes nothing,
// because the next step tries again.
func (m *capturedMedia) noteMissing(j capture.Job, err error) {
	if j.Step == capture.Collect {
		return
	}
	m.defects.note("media: %v", err)
	m.defects.unclear = m.defects.unclear || m.video() == nil
}

// noteSegment notes that a segment cannot be had.
func (m *capturedMedia) noteSegment(j capture.Job, s watch.Segment, err error) {
	if errors.Is(err, ErrBudget) {
		m.noteMissing(j, ErrBudget)
		return
	}
	m.defects.note("segment %d: %v", s.Sequence, err)
}

// fetch gets the segments of a track that it does not have yet from the server.
func (m *capturedMedia) fetch(ctx context.Context, j capture.Job, t *track) {
	failures := 0 // in a row
	for _, s := range t.listed {
		err := t.fetch(ctx, m.segments, s)
		if err == nil {
			failures = 0
			continue
		}
		m.noteSegment(j, s, err)
		failures++
		if ctx.Err() != nil || failures == maxFailures || errors.Is(err, ErrBudget) {
			return
		}
	}
}

// video returns the track with the picture, or nil.
func (m *capturedMedia) video() *track {
	for _, t := range m.tracks {
		if t.video {
			return t
		}
	}
	return nil
}

// fetchAlone fetches one segment into a track of its own.
func (m *capturedMedia) fetchAlone(ctx context.Context, s watch.Segment) (*track, error) {
	file, err := m.tempFile()
	if err != nil {
		return nil, err
	}
	t := &track{file: file}
	if err := t.fetch(ctx, m.segments, s); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// close frees the disk.
func (m *capturedMedia) close() {
	for _, t := range m.tracks {
		t.close()
	}
	m.tracks = nil
}
