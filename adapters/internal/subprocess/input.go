package subprocess

import (
	"errors"
	"io"
)

// input is what the tool's standard input is fed from. Nothing is read, and so
// nothing handed over, before release. It remembers what reading ended with.
type input struct {
	r        io.Reader
	released chan struct{}
	allowed  bool // set before released is closed
	err      error
}

func newInput(r io.Reader) *input { return &input{r: r, released: make(chan struct{})} }

// release lets the tool have its input, or lets it end at once.
func (in *input) release(allowed bool) {
	in.allowed = allowed
	close(in.released)
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	<-in.released
	if !in.allowed {
		return 0, io.EOF
	}
	n, err := in.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = err
	}
	return n, err
}
