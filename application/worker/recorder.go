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

// recorder writes each step of a watcher as a line of JSON for Replay. After a failed write
// it logs the error and writes no more; monitoring continues.
type recorder struct {
	w   io.Writer
	log *slog.Logger
	err error
}

// writeHeader writes the first line: the state before the first step.
func (r *recorder) writeHeader(h watch.RecordingHeader) error {
	r.writeLine(h)
	if r.err != nil {
		return fmt.Errorf("write the recording: %w", r.err)
	}
	return nil
}

// record writes a step as the next line.
func (r *recorder) record(s watch.RecordedStep) {
	if r.err != nil {
		return
	}
	if r.writeLine(s); r.err != nil {
		r.log.Error("The recording cannot be written; it ends here", "error", r.err)
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

// maxRecordedLine limits a line of a recording, in bytes. The longest lines are playlists.
const maxRecordedLine = 16 << 20

// ErrDiverged reports that a watcher's effects differ from the recorded ones.
var ErrDiverged = errors.New("the effects differ from the recording")

// Replay passes the recorded observations to a new watcher, and each step with its new
// effects to observe. At the first effects that differ from the recorded ones, it returns
// ErrDiverged with the number of the line.
func Replay(recording io.Reader, observe func(watch.RecordedStep)) error {
	lines := bufio.NewScanner(recording)
	lines.Buffer(make([]byte, 0, 1<<20), maxRecordedLine)
	if !lines.Scan() {
		return errors.Join(errors.New("the recording is empty"), lines.Err())
	}
	var header watch.RecordingHeader
	if err := json.Unmarshal(lines.Bytes(), &header); err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	watcher, err := header.Watcher()
	if err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	for n := 2; lines.Scan(); n++ {
		var recorded watch.RecordedStep
		if err := json.Unmarshal(lines.Bytes(), &recorded); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		replayed := watch.RecordedStep{At: recorded.At, Observation: recorded.Observation, Effects: watcher.Step(recorded.At, recorded.Observation)}
		observe(replayed)
		if err := sameStep(recorded, replayed); err != nil {
			return fmt.Errorf("line %d, at %s: %w", n, recorded.At.Format("15:04:05.000"), err)
		}
	}
	return lines.Err()
}

// sameStep compares the JSON of two steps.
func sameStep(recorded, replayed watch.RecordedStep) error {
	a, err := json.Marshal(recorded)
	if err != nil {
		return err
	}
	b, err := json.Marshal(replayed)
	if err != nil {
		return err
	}
	if string(a) != string(b) {
		return fmt.Errorf("%w:\nrecorded %s\nnow      %s", ErrDiverged, a, b)
	}
	return nil
}
