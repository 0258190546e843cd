package decoder

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// commandOnlyTime is how long the segments of a stream are left to the command after the
// second one within this time that was abandoned.
const commandOnlyTime = 10 * time.Minute

// Stream decodes the segments of one stream in the processes of a Pool. It is safe for
// concurrent use.
type Stream struct {
	pool *Pool
	log  *slog.Logger

	mu          sync.Mutex
	abandonedAt time.Time // when a segment was abandoned last; zero: none was
	commandOnly bool      // until commandOnlyTime after that
}

// Stream returns a Stream, or nil for a nil Pool.
func (p *Pool) Stream(log *slog.Logger) *Stream {
	if p == nil {
		return nil
	}
	return &Stream{pool: p, log: log}
}

// errCommandOnly means that recent segments of the stream were abandoned.
var errCommandOnly = errors.New("the stream is left to the command ffmpeg")

// Decode lets a process decode a segment. It blocks until one is free and has answered,
// or ctx is done. After any error the command ffmpeg decides about the segment. Errors:
// ErrUnusual; the cause of ctx; the program does not work, the segment is too slow or ended
// a process, or the stream is left to the command.
func (s *Stream) Decode(ctx context.Context, j Job) (Result, error) {
	if s.isCommandOnly() {
		return Result{}, errCommandOnly
	}
	result, err := s.pool.decode(ctx, j)
	if errors.Is(err, errAbandoned) {
		s.recordAbandoned(err)
	}
	return result, err
}

func (s *Stream) isCommandOnly() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commandOnly && time.Since(s.abandonedAt) < commandOnlyTime
}

// recordAbandoned records that a segment was abandoned.
func (s *Stream) recordAbandoned(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commandOnly = !s.abandonedAt.IsZero() && time.Since(s.abandonedAt) < commandOnlyTime
	s.abandonedAt = time.Now()
	if s.commandOnly {
		s.log.Info("segment-decoder could not decode two segments of the stream; ffmpeg analyses it for 10 minutes, without the optional detectors", "error", err.Error())
		return
	}
	s.log.Info("segment-decoder could not decode a segment; ffmpeg analyses it", "error", err.Error())
}
