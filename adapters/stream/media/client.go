package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
)

// Limits that cannot be configured.
const (
	MaxRedirects = 5        // redirects of one request
	MaxHeader    = 64 << 10 // bytes of a response header
	MaxInit      = 1 << 20  // bytes of an init section as transferred; real ones have about a thousand
	MaxKey       = 16       // bytes of an AES-128 key, and the minimum as well (RFC 8216, 4.3.2.4)
)

// Config sets the limits of a Client. A field that is zero or negative has its
// default.
type Config struct {
	MaxSegment int64 // bytes of one segment as transferred, without its init section; default 64 MiB

	Connect time.Duration // limit of a TCP connection, and again of a TLS handshake; default 5 s
	Header  time.Duration // limit until the response header is read, for each redirect again; default 10 s
	Stall   time.Duration // limit of one read of a body, and the time over which MinRate is measured; default 5 s
	Total   time.Duration // limit of all waiting for servers in one call; default 20 s
	MinRate int64         // lowest accepted rate in bytes per second; default 1 KiB, a tenth of YouTube's smallest rendition

	MaxRate int64 // highest accepted rate of an endless response in bytes per second, beyond 2 MiB at once; default 256 KiB

	// ICY is for audio servers: the status line "ICY 200 OK" is accepted, and no connection is used twice.
	ICY bool

	// IdleConns is the number of idle connections that are kept for the next request, of
	// any host; default 4. A stream has two hosts, for playlists and for segments. A client
	// that many streams share needs as many as it has requests at once.
	IdleConns int

	// Control checks the address of every direct connection after DNS, as
	// net.Dialer.Control does; an error refuses the connection. Proxies' own
	// addresses are not checked. Before a request goes to a proxy, Control checks an
	// IP address in its URL with a nil connection. Default: public addresses only,
	// because a playlist may point anywhere, and AllowedNetworks.
	Control func(network, address string, c syscall.RawConn) error

	// AllowedNetworks may be connected to although they are not public. AllowedBy names their setting, for the text of
	// refusals; "": there is none.
	AllowedNetworks []netip.Prefix
	AllowedBy       string

	// Resolver resolves the hosts of direct connections. Default: the system's.
	Resolver *net.Resolver

	// Proxy returns the proxy for a request, or nil for a direct connection. The
	// request's context names the address through which it leaves (request.Egress).
	// Default: http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
}

func (c Config) withDefaults() Config {
	setDefault(&c.MaxSegment, 64<<20)
	setDefault(&c.Connect, 5*time.Second)
	setDefault(&c.Header, 10*time.Second)
	setDefault(&c.Stall, 5*time.Second)
	setDefault(&c.Total, 20*time.Second)
	setDefault(&c.MinRate, 1<<10)
	setDefault(&c.MaxRate, 256<<10)
	setDefault(&c.IdleConns, 4)
	if c.Control == nil {
		c.Control = outbound.New(c.AllowedNetworks).Control
	}
	if c.Proxy == nil {
		c.Proxy = http.ProxyFromEnvironment
	}
	return c
}

func setDefault[T ~int | ~int64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Client fetches media. It implements worker.SegmentFetcher and is safe for
// concurrent use.
type Client struct {
	config    Config
	http      *http.Client
	transport *transport
	answering mirrorNumbers
}

// New returns a Client with the limits of config.
func New(config Config) *Client {
	config = config.withDefaults()
	t := newTransport(config)
	return &Client{
		config:    config,
		transport: t,
		http:      &http.Client{Transport: t, CheckRedirect: checkRedirect},
	}
}

// Close closes idle connections. The Client can still be used.
func (c *Client) Close() { c.transport.closeIdle() }

// Get fetches a small resource, such as a playlist, into memory. limit is its
// size in bytes after any content-encoding.
// Get blocks for at most Config.Total. Its error is a *watch.Failure of kind
// expired, network, too_large or truncated.
func (c *Client) Get(ctx context.Context, url string, limit int64) (body []byte, from reference.Origin, err error) {
	f := c.newFetch(ctx)
	defer f.cancelAll()
	r, err := f.request(http.MethodGet, url, nil, limit)
	if err != nil {
		return nil, from, err
	}
	if body, err = r.readAll(r); err != nil {
		return nil, from, err
	}
	return body, r.origin(), nil
}

// Head asks for the header of a resource, and returns what it says of its origin. It blocks and
// fails like Get.
func (c *Client) Head(ctx context.Context, url string) (from reference.Origin, err error) {
	f := c.newFetch(ctx)
	defer f.cancelAll()
	r, err := f.request(http.MethodHead, url, nil, math.MaxInt64)
	if err != nil {
		return from, err
	}
	_ = r.http.Body.Close()
	return r.origin(), nil
}

// readAll reads from, which may decrypt the response, to its end. It closes the
// response.
func (r *response) readAll(from io.Reader) ([]byte, error) {
	defer func() { _ = r.http.Body.Close() }()
	const maxPreallocated = 1 << 20 // a Content-Length is believed up to here
	var content bytes.Buffer
	if n := r.http.ContentLength; n > 0 {
		// ReadFrom needs room for one more read to see the end.
		content.Grow(int(min(n, maxPreallocated)) + bytes.MinRead)
	}
	_, err := content.ReadFrom(from)
	return content.Bytes(), err
}

var errRedirects = errors.New("more redirects than allowed")

// checkRedirect limits redirects and removes the Referer: it is a signed URL. Of the header that
// goes with the media, it decides again which fields the new URL gets: net/http copies them all.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return errRedirects
	}
	req.Header.Del("Referer")
	var before []*url.URL
	for _, r := range via {
		before = append(before, r.URL)
	}
	header := request.Header(req.Context())
	for _, name := range header.Names() {
		req.Header.Del(name)
	}
	for name, value := range header.For(req.URL, before...) {
		req.Header.Set(name, value)
	}
	return nil
}
