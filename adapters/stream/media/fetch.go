package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Why a fetch gave up a server.
var (
	errStalled = errors.New("nothing came for too long")
	errSlow    = errors.New("it came too slowly")
	errTotal   = errors.New("it took too long in all")
)

// fetch is one call of a Client: up to four requests (a segment, what goes before
// it, and the key of each), one after the other, and a clock for all of them
// that runs while a server is waited for. Not for concurrent use.
type fetch struct {
	client *Client
	ctx    context.Context // of the requests; its cause is why the fetch gave up
	cancel context.CancelCauseFunc
	left   time.Duration     // of Config.Total
	keys   map[string][]byte // by URI; those of this call

	// The rate is measured over stretches of Config.Stall, of time waited.
	waited time.Duration
	got    int64
}

func (c *Client) newFetch(ctx context.Context) *fetch {
	f := &fetch{client: c, left: c.config.Total, keys: map[string][]byte{}}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f
}

// end gives up what is still under way.
func (f *fetch) end() { f.cancel(context.Canceled) }

// await does work, which waits for a server, for at most limit, and at most for
// what is left in all. It returns how long it took.
func (f *fetch) await(limit time.Duration, late error, work func()) time.Duration {
	if f.left <= limit {
		limit, late = f.left, errTotal
	}
	began := time.Now()
	timer := time.AfterFunc(limit, func() { f.cancel(late) })
	work()
	timer.Stop()
	took := time.Since(began)
	f.left -= took
	return took
}

// open asks for a resource, or the part of it, and blocks until the answer's
// header is read and it is clear that the answer is of use.
func (f *fetch) open(rawURL string, part *watch.ByteRange, limit int64) (*answer, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, watch.NewFailure(watch.FailureNetwork, "a media URL that cannot be parsed")
	}
	req := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}).WithContext(f.ctx)
	req.Header.Set("User-Agent", "stream-monitor")
	if part != nil {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", part.Offset, part.Offset+part.Length-1))
	}
	var resp *http.Response
	f.await(f.left, errTotal, func() { resp, err = f.client.http.Do(req) })
	if err != nil {
		return nil, f.failure(u.Host, err)
	}
	a := &answer{fetch: f, resp: resp, host: resp.Request.URL.Host, room: limit, want: -1}
	if err := a.accept(part); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return a, nil
}

// read reads from r under the limits of stall, rate and total.
func (f *fetch) read(r io.Reader, p []byte) (n int, err error) {
	f.waited += f.await(f.client.config.Stall, errStalled, func() { n, err = r.Read(p) })
	f.got += int64(n)
	if f.waited >= f.client.config.Stall {
		if float64(f.got) < f.waited.Seconds()*float64(f.client.config.MinRate) {
			f.cancel(errSlow)
		}
		f.waited, f.got = 0, 0
	}
	return n, err
}
