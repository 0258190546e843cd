package ffmpeg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// input passes the bytes of a segment to ffmpeg's stdin and counts them. One
// goroutine reads; the fields may be used by others after subprocess.Run and
// release have returned.
type input struct {
	body      io.Reader
	buffer    *bufio.Reader
	remaining int64  // bytes until MaxInput
	onExceed  func() // called when there are more
	err       error  // of reading body
	reading   atomic.Bool
	stalled   bool // a Read was in progress when the analysis was ended
}

func newInput(body io.Reader, limit int64, onExceed func()) *input {
	return &input{body: body, buffer: bufio.NewReaderSize(body, bufferSize), remaining: limit, onExceed: onExceed}
}

// closeWith closes the body, if it implements io.Closer, when ctx is done: that
// ends a Read in progress. release undoes this, or waits until it is done.
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

// bufferSize is how many of the first bytes can be peeked at.
const bufferSize = 32 << 10

// peek blocks until the first n bytes are there and returns them without consuming
// them. It returns fewer if there are fewer, or if n exceeds bufferSize.
func (in *input) peek(n int) []byte {
	in.reading.Store(true)
	defer in.reading.Store(false)
	head, err := in.buffer.Peek(min(n, bufferSize))
	in.keepError(err)
	return head
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	in.reading.Store(true)
	defer in.reading.Store(false)
	n, err := in.buffer.Read(p)
	if in.remaining -= int64(n); in.remaining < 0 {
		in.onExceed()
		return 0, errTooLarge
	}
	in.keepError(err)
	return n, err
}

func (in *input) keepError(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = fmt.Errorf("read it: %w", err)
	}
}
