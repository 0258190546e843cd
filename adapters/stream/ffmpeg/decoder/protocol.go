package decoder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The protocol is described in program/segment-decoder.c. All numbers are little-endian.
const (
	requestMagic = 0x32514453 // "SDQ2"
	answerMagic  = 0x32414453 // "SDA2"

	requestSize    = 64
	answerHeadSize = 16
	resultHeadSize = 16
	recordSize     = 20

	maxRecords = 100_000 // of each track
	maxAnswer  = resultHeadSize + 2*maxRecords*recordSize
)

// The outcomes of an answer.
const (
	outcomeDecoded = iota
	outcomeUnusual
)

// errProtocol means that the process is not to be trusted any longer.
var errProtocol = errors.New("not an answer of segment-decoder")

// writeRequest writes a job.
func writeRequest(w io.Writer, j Job) error {
	le := binary.LittleEndian
	b := make([]byte, 0, requestSize)
	b = le.AppendUint32(b, requestMagic)
	b = le.AppendUint32(b, uint32(j.Container))
	b = le.AppendUint32(b, uint32(j.Video))
	b = le.AppendUint32(b, uint32(j.Audio))
	for _, v := range []float64{j.BlackPixel, j.BlackPart, j.Silent, j.SilenceAfter.Seconds()} {
		b = le.AppendUint64(b, math.Float64bits(v))
	}
	b = le.AppendUint64(b, uint64(min(max(j.MaxPixels, 0), math.MaxInt32)))
	b = le.AppendUint64(b, uint64(len(j.Media)))
	if _, err := w.Write(b); err != nil {
		return err
	}
	_, err := w.Write(j.Media)
	return err
}

// readAnswer reads the answer to a job and the memory that the process has, in bytes.
// Errors: ErrUnusual; any other means that the process cannot be used again.
func readAnswer(r io.Reader) (Result, int64, error) {
	le := binary.LittleEndian
	var head [answerHeadSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Result{}, 0, err
	}
	magic, outcome, resident, size := le.Uint32(head[:]), le.Uint32(head[4:]), le.Uint32(head[8:]), le.Uint32(head[12:])
	if magic != answerMagic || outcome > outcomeUnusual || size > maxAnswer {
		return Result{}, 0, errProtocol
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return Result{}, 0, err
	}
	memory := int64(resident) << 10
	if outcome == outcomeUnusual {
		return Result{}, memory, fmt.Errorf("%w: %s", ErrUnusual, readable(body))
	}
	result, err := parseResult(body)
	return result, memory, err
}

func parseResult(b []byte) (Result, error) {
	le := binary.LittleEndian
	if len(b) < resultHeadSize {
		return Result{}, errProtocol
	}
	announced, damaged, video, audio := le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])
	b = b[resultHeadSize:]
	if video > maxRecords || audio > maxRecords || len(b) != int(video+audio)*recordSize {
		return Result{}, errProtocol
	}
	r := Result{VideoAnnounced: announced&1 != 0, AudioAnnounced: announced&2 != 0, AudioScreened: announced&4 != 0, Damaged: damaged != 0}
	var err error
	if r.Video, err = parseRecords(b[:video*recordSize]); err != nil {
		return Result{}, err
	}
	r.Audio, err = parseRecords(b[video*recordSize:])
	return r, err
}

// maxTime bounds the times of a segment. Those of a real one are seconds.
const maxTime = 24 * time.Hour

func parseRecords(b []byte) ([]Record, error) {
	le := binary.LittleEndian
	all := make([]Record, 0, len(b)/recordSize)
	for ; len(b) > 0; b = b[recordSize:] {
		at, kind, value := int64(le.Uint64(b)), Kind(le.Uint32(b[8:])), math.Float64frombits(le.Uint64(b[12:])) //nolint:gosec // a signed number was written
		if at > maxTime.Microseconds() || at < -maxTime.Microseconds() || kind > Measurement || math.IsNaN(value) {
			return nil, errProtocol
		}
		all = append(all, Record{At: time.Duration(at) * time.Microsecond, Kind: kind, Value: value})
	}
	return all, nil
}

// readable returns a text of the program, which may quote the segment.
func readable(b []byte) string {
	return monitor.CleanLine(string(b[:min(len(b), 200)]))
}
