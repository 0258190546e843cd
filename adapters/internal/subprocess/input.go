package subprocess

import (
	"errors"
	"io"
)

// input feeds the tool's standard input. It reads nothing before open, and
// keeps the error of reading.
type input struct {
	r       io.Reader
	opened  chan struct{}
	allowed bool // set before released is closed
	err     error
}

func newInput(r io.Reader) *input { return &input{r: r, opened: make(chan struct{})} }

// open lets the tool read its input, or shows it an empty one.
func (in *input) open(allowed bool) {
	in.allowed = allowed
	close(in.opened)
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	<-in.opened
	if !in.allowed {
		return 0, io.EOF
	}
	n, err := in.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = err
	}
	return n, err
}
