package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// recorder writes what a watcher sees, a line of JSON each, so that it can be
// replayed. Recording must not disturb watching: a failed write is logged, and
// there are no more.
type recorder struct {
	w   io.Writer
	log *slog.Logger
	err error
}

// open writes the first line.
func (r *recorder) writeHeader(o watch.RecordingHeader) error {
	r.writeLine(o)
	if r.err != nil {
		return fmt.Errorf("write the recording: %w", r.err)
	}
	return nil
}

// record writes a later line.
func (r *recorder) record(m watch.RecordedStep) {
	if r.err != nil {
		return
	}
	if r.writeLine(m); r.err != nil {
		r.log.Error("The recording ends here: it cannot be written", "error", r.err)
	}
}

func (r *recorder) writeLine(v any) {
	if r.w == nil {
		return
	}
	b, err := json.Marshal(v)
	if err == nil {
		_, err = r.w.Write(append(b, '\n'))
	}
	r.err = err
}

// maxRecordedLine bounds a line of a recording: a playlist's window is the
// longest thing in it.
const maxRecordedLine = 16 << 20

// ErrDiverged says that a watcher no longer does what was recorded.
var ErrDiverged = errors.New("the watcher no longer does what was recorded")

// Replay does a recording again, from its first line, and hands every moment to
// see, with the effects of now. It returns ErrDiverged, wrapped with the line,
// at the first moment whose effects differ from the recorded ones.
func Replay(recording io.Reader, see func(watch.RecordedStep)) error {
	lines := bufio.NewScanner(recording)
	lines.Buffer(make([]byte, 0, 1<<20), maxRecordedLine)
	if !lines.Scan() {
		return errors.Join(errors.New("the recording is empty"), lines.Err())
	}
	var opening watch.RecordingHeader
	if err := json.Unmarshal(lines.Bytes(), &opening); err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	watcher, err := opening.Watcher()
	if err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	for n := 2; lines.Scan(); n++ {
		var then watch.RecordedStep
		if err := json.Unmarshal(lines.Bytes(), &then); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		now := watch.RecordedStep{At: then.At, Observation: then.Observation, Effects: watcher.Step(then.At, then.Observation)}
		see(now)
		if err := sameStep(then, now); err != nil {
			return fmt.Errorf("line %d, at %s: %w", n, then.At.Format("15:04:05.000"), err)
		}
	}
	return lines.Err()
}

// same compares two moments as they are written.
func sameStep(then, now watch.RecordedStep) error {
	a, err := json.Marshal(then)
	if err != nil {
		return err
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if string(a) != string(b) {
		return fmt.Errorf("%w:\nrecorded %s\nnow      %s", ErrDiverged, a, b)
	}
	return nil
}
