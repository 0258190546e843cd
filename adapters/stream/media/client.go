package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
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
	if body, err = a.readAll(a); err != nil {
		return nil, "", err
	}
	return body, a.resp.Request.URL.String(), nil
}

// readAll reads r, which is made of the answer, to its end and closes the answer.
func (a *answer) readAll(r io.Reader) ([]byte, error) {
	defer func() { _ = a.resp.Body.Close() }()
	const announcedIsBelieved = 1 << 20 // bytes set aside before they have come
	var all bytes.Buffer
	if n := a.resp.ContentLength; n > 0 {
		// ReadFrom wants room for one more read to see the end.
		all.Grow(int(min(n, announcedIsBelieved)) + bytes.MinRead)
	}
	_, err := all.ReadFrom(r)
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
