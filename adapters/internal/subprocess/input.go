package subprocess

import (
	"errors"
	"io"
)

// input feeds the tool's standard input, and keeps the error of reading.
type input struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = err
	}
	return n, err
}
