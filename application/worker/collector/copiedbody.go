package collector

import (
	"bytes"
	"errors"
	"io"
)

// CopyBody returns a body that reads like body. Once it was read to its end and closed, it
// passes its bytes to keep, unless there are more than limit.
func CopyBody(body io.ReadCloser, limit int, keep func(content []byte)) io.ReadCloser {
	return &copiedBody{ReadCloser: body, limit: limit, keep: keep}
}

type copiedBody struct {
	io.ReadCloser
	limit    int // bytes
	keep     func(content []byte)
	content  bytes.Buffer
	tooLarge bool
	whole    bool // it was read to its end
}

// Read implements io.Reader.
func (b *copiedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.tooLarge = b.tooLarge || b.content.Len()+n > b.limit; b.tooLarge {
		b.content = bytes.Buffer{}
	} else {
		b.content.Write(p[:n])
	}
	b.whole = b.whole || errors.Is(err, io.EOF)
	return n, err
}

// Close implements io.Closer.
func (b *copiedBody) Close() error {
	err := b.ReadCloser.Close()
	if err == nil && b.whole && !b.tooLarge {
		b.keep(b.content.Bytes())
	}
	return err
}
