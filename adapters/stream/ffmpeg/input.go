package ffmpeg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// input is a segment's bytes on their way to ffmpeg, counted. Its fields are
// for the one who reads; afterwards (child.Run has returned, and release) for
// anybody.
type input struct {
	body    io.Reader
	buffer  *bufio.Reader
	left    int64  // bytes until it is too much
	exceed  func() // called when it is
	err     error  // what reading it failed with
	reading atomic.Bool
	stalled bool // a Read was in progress when the time was up
}

func newInput(body io.Reader, limit int64, exceed func()) *input {
	return &input{body: body, buffer: bufio.NewReaderSize(body, bufferSize), left: limit, exceed: exceed}
}

// closeWith closes the body, if it can be closed, when ctx is done: that ends a
// Read in progress. release undoes it, and waits for it if it has begun.
func (in *input) closeWith(ctx context.Context) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		in.stalled = in.reading.Load()
		if c, ok := in.body.(io.Closer); ok {
			_ = c.Close()
		}
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// bufferSize is how many of the first bytes can be looked at, in bytes.
const bufferSize = 32 << 10

// head blocks for the first n bytes, of which there may be fewer, and leaves
// them to be read.
func (in *input) head(n int) []byte {
	in.reading.Store(true)
	defer in.reading.Store(false)
	head, err := in.buffer.Peek(min(n, bufferSize))
	in.note(err)
	return head
}

// Read is for ffmpeg's stdin.
func (in *input) Read(p []byte) (int, error) {
	in.reading.Store(true)
	defer in.reading.Store(false)
	n, err := in.buffer.Read(p)
	if in.left -= int64(n); in.left < 0 {
		in.exceed()
		return 0, errTooLarge
	}
	in.note(err)
	return n, err
}

func (in *input) note(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = fmt.Errorf("read it: %w", err)
	}
}
