package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Reasons for which a fetch gives up a server.
var (
	errStalled = errors.New("nothing came for too long")
	errSlow    = errors.New("it came too slowly")
	errTotal   = errors.New("it took too long in all")
)

// fetch is one call of a Client: up to four requests, one after the other (a
// segment, its init section, and the key of each). They share one time budget,
// and only waiting for servers uses it up. Not safe for concurrent use.
type fetch struct {
	client    *Client
	ctx       context.Context // of the requests; its cause is the reason for giving up
	cancel    context.CancelCauseFunc
	remaining time.Duration     // of Config.Total
	keys      map[string][]byte // by URI; only those of this call

	// The rate is measured over each Config.Stall of waiting.
	rateWait  time.Duration
	rateBytes int64
}

func (c *Client) newFetch(ctx context.Context) *fetch {
	f := &fetch{client: c, remaining: c.config.Total, keys: map[string][]byte{}}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f
}

// cancelAll aborts requests that are in progress.
func (f *fetch) cancelAll() { f.cancel(context.Canceled) }

// await runs wait, which blocks on a server, for at most limit and at most the
// remaining budget. After that it cancels the fetch with the cause late. It
// returns how long wait took.
func (f *fetch) await(limit time.Duration, late error, wait func()) time.Duration {
	if f.remaining <= limit {
		limit, late = f.remaining, errTotal
	}
	began := time.Now()
	timer := time.AfterFunc(limit, func() { f.cancel(late) })
	wait()
	timer.Stop()
	took := time.Since(began)
	f.remaining -= took
	return took
}

// request asks for a resource, or for one byte range of it. It blocks until the
// response header is read and accepted. limit is in bytes of the body.
func (f *fetch) request(method, rawURL string, byteRange *watch.ByteRange, limit int64) (*response, error) {
	header := http.Header{}
	if byteRange != nil {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", byteRange.Offset, byteRange.Offset+byteRange.Length-1))
	}
	resp, err := f.send(method, rawURL, header)
	if err != nil {
		return nil, err
	}
	r := &response{fetch: f, http: resp, host: resp.Request.URL.Host, allowed: limit, required: -1}
	if err := r.accept(byteRange); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return r, nil
}

// send sends a request with further fields in its header. It blocks until the response header is read.
func (f *fetch) send(method, rawURL string, header http.Header) (*http.Response, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, watch.NewFailure(watch.FailureNetwork, "a media URL that cannot be parsed")
	}
	req := (&http.Request{Method: method, URL: u, Header: header}).WithContext(f.ctx)
	req.Header.Set("User-Agent", "stream-monitor")
	for name, value := range request.Header(f.ctx).For(u) {
		req.Header.Set(name, value)
	}
	var resp *http.Response
	f.await(f.remaining, errTotal, func() { resp, err = f.client.http.Do(req) })
	if err != nil {
		return nil, f.requestFailure(requestedURL(u, err), err)
	}
	return resp, nil
}

// requestedURL returns the URL of the request that failed: after a redirect it
// is not the first one.
func requestedURL(first *url.URL, err error) *url.URL {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if u, parseErr := url.Parse(failed.URL); parseErr == nil && u.Host != "" {
			return u
		}
	}
	return first
}

// read reads from r within the limits of Stall, MinRate and Total.
func (f *fetch) read(r io.Reader, p []byte) (n int, err error) {
	f.rateWait += f.await(f.client.config.Stall, errStalled, func() { n, err = r.Read(p) })
	f.rateBytes += int64(n)
	if f.rateWait >= f.client.config.Stall {
		if float64(f.rateBytes) < f.rateWait.Seconds()*float64(f.client.config.MinRate) {
			f.cancel(errSlow)
		}
		f.rateWait, f.rateBytes = 0, 0
	}
	return n, err
}
