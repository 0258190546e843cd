package decoder

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// FakeProcess stands in for a process.
type FakeProcess struct {
	Exchange func(context.Context, Job) (Result, error)
	Worn     bool
	CPUTime  func() time.Duration
	End      func()
}

func (f FakeProcess) exchange(ctx context.Context, j Job) (Result, error) { return f.Exchange(ctx, j) }
func (f FakeProcess) isWorn() bool                                        { return f.Worn }
func (f FakeProcess) cpuTime() time.Duration                              { return f.CPUTime() }
func (f FakeProcess) end()                                                { f.End() }

// NewWithFakes returns a Pool that starts FakeProcesses.
func NewWithFakes(c Config, log *slog.Logger, start func(context.Context) (FakeProcess, error)) *Pool {
	return newPool(c.withDefaults(), log, func(ctx context.Context) (runner, error) { return start(ctx) })
}

// ReadAnswer reads an answer of segment-decoder. The error says whether it can be trusted.
func ReadAnswer(r io.Reader) (Result, error) {
	result, _, err := readAnswer(r)
	return result, err
}

// PictureSize is the size of a picture in an answer, in bytes.
const PictureSize = pictureSize

// ErrProtocol is the error of an answer that cannot be trusted.
var ErrProtocol = errProtocol
