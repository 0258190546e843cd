package media

import (
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
)

// Limits that have no reason to be set.
const (
	MaxRedirects = 5        // hops of one request
	MaxHeader    = 64 << 10 // bytes of an answer's header
	MaxInit      = 1 << 20  // bytes of an initialisation section, encrypted if it is; they have about a thousand
	MaxKey       = 16       // bytes of a key, and the least as well (RFC 8216, 4.3.2.4)
)

// Config sets the limits of a Client. Zero, or less, means the default.
type Config struct {
	MaxSegment int64 // bytes of one segment, without its initialisation section, encrypted if it is; default 64 MiB

	Connect time.Duration // for a TCP connection, and again for a TLS handshake; default 5 s
	Header  time.Duration // until the answer's header is read, per hop; default 10 s
	Stall   time.Duration // for the next byte of a body, and the time over which MinRate is measured; default 5 s
	Total   time.Duration // waiting for servers, in one call; default 20 s
	MinRate int64         // bytes per second; default 1 KiB, a tenth of the smallest rendition of YouTube

	// IdleConns is how many connections are kept for the next request; default
	// 4. A stream has two hosts: one for playlists, one for segments.
	IdleConns int

	// Control judges the address of every direct connection after DNS, as
	// net.Dialer.Control does; an error refuses it. It is not asked about a
	// proxy's address, nor about what a proxy looks up: that is the proxy's to
	// judge. It is asked, without a connection, about an address in a URL that
	// goes through a proxy. Default: the public internet is allowed and nothing
	// else, since a playlist may point anywhere.
	Control func(network, address string, c syscall.RawConn) error

	// Resolver looks up the names that do not go through a proxy. Default: the
	// system's.
	Resolver *net.Resolver

	// Proxy chooses the proxy of a request; nil URL: none. Default
	// http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
}

func (c Config) withDefaults() Config {
	orDefault(&c.MaxSegment, 64<<20)
	orDefault(&c.Connect, 5*time.Second)
	orDefault(&c.Header, 10*time.Second)
	orDefault(&c.Stall, 5*time.Second)
	orDefault(&c.Total, 20*time.Second)
	orDefault(&c.MinRate, 1<<10)
	orDefault(&c.IdleConns, 4)
	if c.Control == nil {
		c.Control = outbound.New(nil).Control
	}
	if c.Proxy == nil {
		c.Proxy = http.ProxyFromEnvironment
	}
	return c
}

func orDefault[T ~int | ~int64](value *T, fallback T) {
	if *value <= 0 {
		*value = fallback
	}
}
