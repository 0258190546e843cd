package media

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// response reads the body of an HTTP response within its limits. Errors of Read
// are *watch.Failure and are permanent.
type response struct {
	fetch    *fetch
	http     *http.Response
	host     string
	allowed  int64 // bytes that may still come
	required int64 // bytes that must still come; -1: until the body ends
	err      error
}

// accept decides by status and header whether the response can be used.
// byteRange is the requested one; a server may send the whole resource instead.
func (r *response) accept(byteRange *watch.ByteRange) error {
	switch {
	case r.http.StatusCode == http.StatusOK, r.http.StatusCode == http.StatusPartialContent && byteRange != nil:
	default:
		return statusFailure(r.host, r.http.StatusCode)
	}
	// net/http removes only the compression that it asked for.
	if coding := strings.Join(r.http.Header.Values("Content-Encoding"), ","); coding != "" && !strings.EqualFold(coding, "identity") {
		return watch.NewFailure(watch.FailureNetwork, "%s: sent a content-encoding that was not asked for", r.host)
	}
	if byteRange == nil {
		if r.http.ContentLength > r.allowed {
			return r.tooLarge()
		}
		return nil
	}
	if byteRange.Length > r.allowed {
		return r.tooLarge()
	}
	if r.http.StatusCode == http.StatusPartialContent {
		if !matchesRange(r.http.Header.Get("Content-Range"), *byteRange) {
			return watch.NewFailure(watch.FailureNetwork, "%s: answered 206 with another range than asked for", r.host)
		}
	} else if err := r.skip(byteRange.Offset); err != nil {
		return err
	}
	r.required = byteRange.Length
	return nil
}

// matchesRange reports whether a Content-Range header (RFC 7233, 4.2) begins
// where byteRange does and is not longer. Read notices a shorter one at its end.
func matchesRange(contentRange string, byteRange watch.ByteRange) bool {
	var first, last int64
	_, err := fmt.Sscanf(contentRange, "bytes %d-%d/", &first, &last)
	return err == nil && first == byteRange.Offset && last >= first && last < byteRange.Offset+byteRange.Length
}

// skip discards the first n bytes, which precede the requested byte range.
func (r *response) skip(n int64) error {
	if n > r.fetch.client.config.MaxSegment {
		return r.tooLarge()
	}
	allowed := r.allowed
	r.allowed, r.required = n, n
	_, err := io.Copy(io.Discard, r)
	r.allowed, r.err = allowed, nil
	return err
}

// Read implements io.Reader.
func (r *response) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	if r.required == 0 {
		r.err = io.EOF
		return 0, r.err
	}
	limit := r.allowed + 1 // one byte more than allowed shows that there is more
	if r.required > 0 {
		limit = r.required
	}
	n, err := r.fetch.read(r.http.Body, p[:min(int64(len(p)), limit)])
	if int64(n) > r.allowed {
		n, err = int(r.allowed), r.tooLarge()
	}
	r.allowed -= int64(n)
	if r.required > 0 {
		r.required -= int64(n)
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && r.required > 0:
		r.err = watch.NewFailure(watch.FailureTruncated, "%s: the byte range ended early", r.host)
	case errors.Is(err, io.EOF):
		r.err = io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF) && r.fetch.ctx.Err() == nil:
		r.err = watch.NewFailure(watch.FailureTruncated, "%s: the connection ended early", r.host)
	default:
		r.err = r.fetch.readFailure(r.http.Request.URL, err)
	}
	return n, r.err
}

// announced returns how many bytes are to come by the server's header; 0: unknown. Nothing must
// have been read.
func (r *response) announced() int64 {
	if r.required >= 0 {
		return r.required
	}
	return max(0, r.http.ContentLength)
}

// origin returns where the response came from. A cache says by Age how old its answer is.
func (r *response) origin() reference.Origin {
	from := reference.Origin{URL: r.http.Request.URL.String()}
	if date, err := http.ParseTime(r.http.Header.Get("Date")); err == nil {
		age, _ := strconv.ParseUint(r.http.Header.Get("Age"), 10, 31)
		from.Time = date.Add(time.Duration(age) * time.Second)
	}
	return from
}

func (r *response) tooLarge() error {
	return watch.NewFailure(watch.FailureTooLarge, "%s: sent more bytes than allowed", r.host)
}
