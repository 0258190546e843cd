package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Client fetches media. It implements worker.SegmentFetcher and may be used
// concurrently.
type Client struct {
	config Config
	http   *http.Client
	routes *routes
}

// New makes a Client.
func New(config Config) *Client {
	config = config.withDefaults()
	r := newRoutes(config)
	return &Client{
		config: config,
		routes: r,
		http:   &http.Client{Transport: r, CheckRedirect: checkRedirect},
	}
}

// Close ends the connections that are kept for later. The Client stays usable.
func (c *Client) Close() { c.routes.closeIdle() }

// Get fetches something small, such as a playlist, whole. limit is in bytes,
// after any content-encoding. finalURL is where it came from after redirects.
// Errors: *watch.Failure of kind expired, network, too_large or truncated.
func (c *Client) Get(ctx context.Context, url string, limit int64) (body []byte, finalURL string, err error) {
	f := c.newFetch(ctx)
	defer f.end()
	a, err := f.open(url, nil, limit)
	if err != nil {
		return nil, "", err
	}
	if body, err = a.readAll(); err != nil {
		return nil, "", err
	}
	return body, a.resp.Request.URL.String(), nil
}

// FetchSegment opens the bytes of s, its initialisation section first. The
// section is read whole before the segment is asked for; the limit of time is
// for both together. Errors as those of Get, from the body's Read too. Close
// the body.
func (c *Client) FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error) {
	f := c.newFetch(ctx)
	b := &segment{fetch: f}
	if s.Init != nil {
		a, err := f.open(s.Init.URI, s.Init.Range, MaxInit)
		if err == nil {
			b.init, err = a.readAll()
		}
		if err != nil {
			f.end()
			return nil, err
		}
	}
	var err error
	if b.media, err = f.open(s.URI, s.Range, c.config.MaxSegment); err != nil {
		f.end()
		return nil, err
	}
	return b, nil
}

// segment is an initialisation section and the answer that follows it.
type segment struct {
	fetch *fetch
	init  []byte
	media *answer
}

func (s *segment) Read(p []byte) (int, error) {
	if len(s.init) > 0 {
		n := copy(p, s.init)
		s.init = s.init[n:]
		return n, nil
	}
	return s.media.Read(p)
}

// Close gives up what has not been read.
func (s *segment) Close() error {
	err := s.media.resp.Body.Close()
	s.fetch.end()
	return err
}

// readAll reads the answer to its end and closes it.
func (a *answer) readAll() ([]byte, error) {
	defer func() { _ = a.resp.Body.Close() }()
	const announcedIsBelieved = 1 << 20 // bytes set aside before they have come
	var all bytes.Buffer
	if n := a.resp.ContentLength; n > 0 {
		// ReadFrom wants room for one more read to see the end.
		all.Grow(int(min(n, announcedIsBelieved)) + bytes.MinRead)
	}
	_, err := all.ReadFrom(a)
	return all.Bytes(), err
}

var errRedirects = errors.New("more redirects than allowed")

// checkRedirect bounds redirects and keeps the URL that redirected, which is
// signed, from the next host.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return errRedirects
	}
	req.Header.Del("Referer")
	return nil
}
