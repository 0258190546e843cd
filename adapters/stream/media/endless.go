package media

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// burst is how many bytes an endless response may have at once. Servers begin with some seconds of the past, and catch up after a
// pause.
const burst = 2 << 20

// pace limits bytes to a rate, beyond a burst.
type pace struct {
	rate  int64   // bytes a second
	spent float64 // of the burst
	until time.Time
}

// allows takes in that n bytes have come by now, and reports whether so many may come.
func (p *pace) allows(n int, now time.Time) bool {
	p.spent = max(0, p.spent-now.Sub(p.until).Seconds()*float64(p.rate)) + float64(n)
	p.until = now
	return p.spent <= burst
}

// Open requests an endless response, such as that of an audio stream, without titles between its media (Icy-MetaData).
// It blocks until the header is read, within the limits of Get, and returns the response whatever its status is. Its
// body is read within Config.Stall, MinRate and MaxRate, until ctx is done; the caller closes it. Errors, also those
// of reading but io.EOF, are *watch.Failure: network, or too_large for a server that sends too fast.
func (c *Client) Open(ctx context.Context, url string) (*http.Response, error) {
	f := c.newFetch(ctx)
	resp, err := f.send(http.MethodGet, url, http.Header{"Icy-MetaData": {"0"}})
	if err != nil {
		f.cancelAll()
		return nil, err
	}
	f.remaining = math.MaxInt64
	answer := *resp
	answer.Body = &endlessBody{
		response: response{fetch: f, http: resp, host: resp.Request.URL.Host, allowed: math.MaxInt64 - 1, required: -1},
		pace:     pace{rate: c.config.MaxRate, until: time.Now()},
	}
	return &answer, nil
}

// endlessBody is the body of an endless response.
type endlessBody struct {
	response response
	pace     pace
}

// Read implements io.Reader.
func (b *endlessBody) Read(p []byte) (int, error) {
	n, err := b.response.Read(p)
	if !b.pace.allows(n, time.Now()) {
		return 0, watch.NewFailure(watch.FailureTooLarge, "%s: sends more than %d bytes a second, which is no stream at its own pace", b.response.host, b.pace.rate)
	}
	return n, err
}

// Close ends the request.
func (b *endlessBody) Close() error {
	defer b.response.fetch.cancelAll()
	if err := b.response.http.Body.Close(); err != nil {
		return fmt.Errorf("close an endless response: %w", err)
	}
	return nil
}

// acceptICY lets connections accept the status line of SHOUTcast.
func acceptICY(t *http.Transport) {
	dial := t.DialContext
	t.DisableKeepAlives, t.DisableCompression = true, true
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &icyConn{Conn: conn}, nil
	}
}

// icyConn is a connection whose response may begin with "ICY 200 OK", which net/http refuses. It then reads
// "HTTP/1.0 200 OK". It is for one response.
type icyConn struct {
	net.Conn

	begun bool
	head  []byte // read, and to be passed on
}

const icyStatus = "ICY "

// Read implements net.Conn.
func (c *icyConn) Read(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		c.head = make([]byte, len(icyStatus))
		n, err := io.ReadFull(c.Conn, c.head)
		if c.head = c.head[:n]; n == 0 {
			return 0, err
		}
		if string(c.head) == icyStatus {
			c.head = []byte("HTTP/1.0 ")
		}
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
