package media

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// answer is the body of a response, within its limits. Errors of Read are
// *watch.Failure and stay.
type answer struct {
	fetch *fetch
	resp  *http.Response
	host  string
	room  int64 // bytes that may still come
	want  int64 // bytes that must still come; -1: as many as there are
	err   error
}

// accept decides by status and header whether the answer is of use. part is
// what was asked for; a server that sends the whole instead is put up with.
func (a *answer) accept(part *watch.ByteRange) error {
	switch {
	case a.resp.StatusCode == http.StatusOK, a.resp.StatusCode == http.StatusPartialContent && part != nil:
	default:
		return statusFailure(a.host, a.resp.StatusCode)
	}
	// Compression that was not asked for is not taken off by net/http.
	if coding := strings.Join(a.resp.Header.Values("Content-Encoding"), ","); coding != "" && !strings.EqualFold(coding, "identity") {
		return watch.NewFailure(watch.FailureNetwork, "%s: a content-encoding that was not asked for", a.host)
	}
	if part == nil {
		if a.resp.ContentLength > a.room {
			return a.tooLarge()
		}
		return nil
	}
	if part.Length > a.room {
		return a.tooLarge()
	}
	if a.resp.StatusCode == http.StatusPartialContent {
		if !begins(a.resp.Header.Get("Content-Range"), *part) {
			return watch.NewFailure(watch.FailureNetwork, "%s: answered 206 with another range than asked for", a.host)
		}
	} else if err := a.skip(part.Offset); err != nil {
		return err
	}
	a.want = part.Length
	return nil
}

// begins tells whether a Content-Range (RFC 7233, 4.2) is of part: it begins
// where part does and is not longer. A shorter one is noticed at its end.
func begins(contentRange string, part watch.ByteRange) bool {
	var first, last int64
	_, err := fmt.Sscanf(contentRange, "bytes %d-%d/", &first, &last)
	return err == nil && first == part.Offset && last >= first && last < part.Offset+part.Length
}

// skip reads past what comes before the part that was asked for.
func (a *answer) skip(n int64) error {
	if n > a.fetch.client.config.MaxSegment {
		return a.tooLarge()
	}
	room := a.room
	a.room, a.want = n, n
	_, err := io.Copy(io.Discard, a)
	a.room, a.err = room, nil
	return err
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	if a.err != nil || len(p) == 0 {
		return 0, a.err
	}
	if a.want == 0 {
		a.err = io.EOF
		return 0, a.err
	}
	// One byte more than there is room for shows that there is more.
	most := a.room + 1
	if a.want > 0 {
		most = a.want
	}
	n, err := a.fetch.read(a.resp.Body, p[:min(int64(len(p)), most)])
	if int64(n) > a.room {
		n, err = int(a.room), a.tooLarge()
	}
	a.room -= int64(n)
	if a.want > 0 {
		a.want -= int64(n)
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && a.want > 0:
		a.err = watch.NewFailure(watch.FailureTruncated, "%s: the part ended early", a.host)
	case errors.Is(err, io.EOF):
		a.err = io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF) && a.fetch.ctx.Err() == nil:
		a.err = watch.NewFailure(watch.FailureTruncated, "%s: the connection ended early", a.host)
	default:
		a.err = a.fetch.failure(a.host, err)
	}
	return n, a.err
}

func (a *answer) tooLarge() error {
	return watch.NewFailure(watch.FailureTooLarge, "%s: more bytes than allowed", a.host)
}
