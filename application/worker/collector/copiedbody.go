package collector

import (
	"bytes"
	"errors"
	"io"
)

// maxAnnounced limits the bytes that are allocated because a server announces them.
const maxAnnounced = 1 << 20

// AnnouncedSize returns how many bytes a body announces with a method Size, at most 1 MiB; 0:
// none. A buffer of this size need not grow while the body is read.
func AnnouncedSize(body io.Reader) int {
	sized, ok := body.(interface{ Size() int64 })
	if !ok {
		return 0
	}
	return int(min(max(sized.Size(), 0), maxAnnounced))
}

// CopyBody returns a body that reads like body. Once it was read to its end and closed, it
// passes its bytes to keep, unless there are more than limit.
func CopyBody(body io.ReadCloser, limit int, keep func(content []byte)) io.ReadCloser {
	return &copiedBody{ReadCloser: body, size: AnnouncedSize(body), limit: limit, keep: keep}
}

type copiedBody struct {
	io.ReadCloser
	size     int // bytes that the body announces
	limit    int // of content, in bytes
	keep     func(content []byte)
	content  bytes.Buffer
	tooLarge bool
	whole    bool // it was read to its end
}

// Size returns what the body announces.
func (b *copiedBody) Size() int64 { return int64(b.size) }

// Read implements io.Reader.
func (b *copiedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.copy(p[:n])
	b.whole = b.whole || errors.Is(err, io.EOF)
	return n, err
}

// copy keeps bytes that were read.
func (b *copiedBody) copy(read []byte) {
	if b.tooLarge = b.tooLarge || b.content.Len()+len(read) > b.limit; b.tooLarge {
		b.content = bytes.Buffer{}
		return
	}
	if b.content.Cap() == 0 {
		b.content.Grow(min(max(b.size, len(read)), b.limit))
	}
	b.content.Write(read)
}

// Close implements io.Closer.
func (b *copiedBody) Close() error {
	err := b.ReadCloser.Close()
	if err == nil && b.whole && !b.tooLarge {
		b.keep(b.content.Bytes())
	}
	return err
}
