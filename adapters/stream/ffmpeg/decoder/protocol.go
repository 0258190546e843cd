package decoder

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The protocol is described in program/segment-decoder.c. All numbers are little-endian.
const (
	requestMagic = 0x33514453 // "SDQ3"
	answerMagic  = 0x33414453 // "SDA3"

	requestSize    = 72
	answerHeadSize = 16
	resultHeadSize = 92
	recordSize     = 20
	lumaSize       = detector.DigestWidth * detector.DigestHeight
	chromaSize     = detector.ChromaWidth * detector.ChromaHeight
	pictureSize    = 20 + lumaSize + 2*chromaSize
	changeSize     = 32

	maxRecords  = 100_000 // of each track, and of the changes
	maxPictures = 256
	maxAnswer   = resultHeadSize + maxRecords*(2*recordSize+changeSize) + maxPictures*pictureSize
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
	b = le.AppendUint64(b, uint64(j.Measure))
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
	if err != nil {
		return Result{}, 0, err
	}
	return result, memory, nil
}

// resultHead is the beginning of the answer for a segment that was decoded.
type resultHead struct {
	Announced, Damaged, Video, Audio, Pictures, Changes, Captions uint32
	Channels, ToneBlocks                                          uint32

	Loudness, LoudSeconds, FullScale, Left, Right, Correlation, ToneShare float64
}

func parseResult(b []byte) (Result, error) {
	var h resultHead
	if _, err := binary.Decode(b, binary.LittleEndian, &h); err != nil {
		return Result{}, errProtocol
	}
	b = b[resultHeadSize:]
	if h.Video > maxRecords || h.Audio > maxRecords || h.Pictures > maxPictures || h.Changes > maxRecords ||
		len(b) != int(h.Video+h.Audio)*recordSize+int(h.Pictures)*pictureSize+int(h.Changes)*changeSize {
		return Result{}, errProtocol
	}
	r := Result{VideoAnnounced: h.Announced&1 != 0, AudioAnnounced: h.Announced&2 != 0, AudioScreened: h.Announced&4 != 0, Damaged: h.Damaged != 0}
	p := answerParser{rest: b}
	r.Video = list(&p, h.Video, recordSize, (*answerParser).record)
	r.Audio = list(&p, h.Audio, recordSize, (*answerParser).record)
	r.Pictures = list(&p, h.Pictures, pictureSize, (*answerParser).picture)
	r.Movement = list(&p, h.Changes, changeSize, (*answerParser).change)
	r.Sound, r.Tone, r.Captions = p.sound(h), p.tone(h), p.captions(h)
	if p.wrong {
		return Result{}, errProtocol
	}
	// Some decoders return key frames in the reverse of their order.
	slices.SortStableFunc(r.Pictures, func(a, b detector.Picture) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(r.Movement, func(a, b detector.FrameChange) int { return cmp.Compare(a.At, b.At) })
	return r, nil
}

// answerParser reads the lists of an answer, and remembers whether anything was out of its range.
type answerParser struct {
	rest  []byte
	wrong bool
}

// list reads count items of a size.
func list[T any](p *answerParser, count uint32, size int, item func(*answerParser, []byte) T) []T {
	if count == 0 {
		return nil
	}
	all := make([]T, 0, count)
	for range count {
		all = append(all, item(p, p.rest[:size]))
		p.rest = p.rest[size:]
	}
	return all
}

// require records that the answer is wrong unless ok.
func (p *answerParser) require(ok bool) { p.wrong = p.wrong || !ok }

// maxTime bounds the times of a segment. Those of a real one are seconds.
const maxTime = 24 * time.Hour

// maxSide bounds the sides of a picture, in pixels. No codec has longer ones.
const maxSide = 1 << 16

// at reads a time.
func (p *answerParser) at(b []byte) time.Duration {
	us := int64(binary.LittleEndian.Uint64(b)) //nolint:gosec // a signed number was written
	p.require(us <= maxTime.Microseconds() && us >= -maxTime.Microseconds())
	return time.Duration(us) * time.Microsecond
}

// number returns v, which must not be beyond its limits. NaN is.
func (p *answerParser) number(v, least, most float64) float64 {
	p.require(v >= least && v <= most)
	return v
}

func (p *answerParser) record(b []byte) Record {
	r := Record{At: p.at(b), Kind: Kind(binary.LittleEndian.Uint32(b[8:])), Value: math.Float64frombits(binary.LittleEndian.Uint64(b[12:]))}
	p.require(r.Kind <= DamagedPacket && !math.IsNaN(r.Value))
	return r
}

func (p *answerParser) picture(b []byte) detector.Picture {
	le := binary.LittleEndian
	width, height, bars := le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:])
	p.require(width > 0 && width <= maxSide && height > 0 && height <= maxSide && bars <= detector.BarStrips)
	cells := slices.Clone(b[20:])
	return detector.Picture{
		At: p.at(b), Width: int(width), Height: int(height), Bars: int(bars),
		Luma: cells[:lumaSize:lumaSize], U: cells[lumaSize : lumaSize+chromaSize : lumaSize+chromaSize], V: cells[lumaSize+chromaSize:],
	}
}

func (p *answerParser) change(b []byte) detector.FrameChange {
	level := func(at int) float64 {
		return p.number(math.Float64frombits(binary.LittleEndian.Uint64(b[at:])), 0, 255)
	}
	return detector.FrameChange{At: p.at(b), Mean: level(8), Block: level(16), Ratio: level(24)}
}

// The limits of measured sound. A sample of a decoder that does not cut is seldom beyond 4.
const (
	maxChannels = 8
	maxLevel    = 300 // LUFS and dBFS
)

func (p *answerParser) sound(h resultHead) *detector.SoundMeasure {
	p.require(h.Channels <= maxChannels)
	if h.Channels == 0 {
		return nil
	}
	level := func(v float64) float64 { return p.number(v, detector.MinLoudness, maxLevel) }
	p.require(h.FullScale == -1 || h.FullScale >= 0)
	return &detector.SoundMeasure{
		Channels: int(h.Channels), Loudness: level(h.Loudness), Loud: seconds(p.number(h.LoudSeconds, 0, maxTime.Seconds())),
		FullScale: p.number(h.FullScale, -1, 1), Left: level(h.Left), Right: level(h.Right), Correlation: p.number(h.Correlation, -1, 1),
	}
}

func (p *answerParser) tone(h resultHead) *detector.ToneMeasure {
	if h.ToneBlocks == 0 {
		return nil
	}
	p.require(h.ToneBlocks <= math.MaxInt32)
	return &detector.ToneMeasure{Share: p.number(h.ToneShare, 0, 1), Blocks: int(h.ToneBlocks)}
}

func (p *answerParser) captions(h resultHead) detector.CaptionState {
	states := []detector.CaptionState{detector.NoCaptions, detector.EmptyCaptions, detector.CaptionText}
	if int64(h.Captions) >= int64(len(states)) {
		p.wrong = true
		return ""
	}
	return states[h.Captions]
}

// seconds returns a time of at most maxTime.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// readable returns a text of the program, which may quote the segment.
func readable(b []byte) string {
	return monitor.CleanLine(string(b[:min(len(b), 200)]))
}
