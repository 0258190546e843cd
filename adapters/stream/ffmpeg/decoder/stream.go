package decoder

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// leaveFor is how long the segments of a stream are left to the command after the second
// one within this time that was abandoned.
const leaveFor = 10 * time.Minute

// Stream decodes the segments of one stream in the processes of a Pool. It is safe for
// concurrent use.
type Stream struct {
	pool *Pool
	log  *slog.Logger

	mu        sync.Mutex
	abandoned time.Time // when a segment was, last; zero: none was
	leave     bool      // until leaveFor after that
}

// Stream returns a Stream, or nil for a nil Pool.
func (p *Pool) Stream(log *slog.Logger) *Stream {
	if p == nil {
		return nil
	}
	return &Stream{pool: p, log: log}
}

// errLeft means that recent segments of the stream were abandoned.
var errLeft = errors.New("the stream is left to the command ffmpeg")

// Decode lets a process decode a segment. It blocks until one is free and has answered,
// or ctx is done. After any error the command ffmpeg decides about the segment. Errors:
// ErrUnusual; the cause of ctx; the program does not work, the segment is too slow or ended
// a process, or the stream is left to the command.
func (s *Stream) Decode(ctx context.Context, j Job) (Result, error) {
	if s.isLeft() {
		return Result{}, errLeft
	}
	result, err := s.pool.decode(ctx, j)
	if errors.Is(err, errAbandoned) {
		s.note(err)
	}
	return result, err
}

func (s *Stream) isLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leave && time.Since(s.abandoned) < leaveFor
}

// note notes that a segment was abandoned.
func (s *Stream) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave = !s.abandoned.IsZero() && time.Since(s.abandoned) < leaveFor
	s.abandoned = time.Now()
	if s.leave {
		s.log.Info("segment-decoder could not decode two segments of the stream; ffmpeg analyses it for 10 minutes", "error", err.Error())
		return
	}
	s.log.Info("segment-decoder could not decode a segment; ffmpeg analyses it", "error", err.Error())
}
