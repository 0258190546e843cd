package media

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
)

// routes sends each request, and each redirect of it, through the proxy or
// directly. They are two transports because the dial guard must not judge the
// address of the proxy. Both look at the host first: what a number in place of a
// host means is not left to the name service or the proxy.
type routes struct {
	proxy   func(*http.Request) (*url.URL, error)
	control func(network, address string, c syscall.RawConn) error
	direct  *http.Transport
	proxied *http.Transport
}

var (
	errRefused = errors.New("the address is not allowed")
	errScheme  = errors.New("neither http nor https")
	errHost    = errors.New("the host is neither an address nor a name")
)

// proxyRefusal is the status a proxy answered CONNECT with.
type proxyRefusal int

func (p proxyRefusal) Error() string { return fmt.Sprintf("the proxy answered %d", int(p)) }

func newRoutes(c Config) *routes {
	r := &routes{proxy: c.Proxy, control: c.Control, direct: newTransport(c), proxied: newTransport(c)}
	guarded := net.Dialer{Timeout: c.Connect, Resolver: c.Resolver}
	guarded.Control = func(network, address string, conn syscall.RawConn) error {
		if err := c.Control(network, address, conn); err != nil {
			return errRefused
		}
		return nil
	}
	r.direct.DialContext = guarded.DialContext
	r.proxied.DialContext = (&net.Dialer{Timeout: c.Connect}).DialContext
	r.proxied.Proxy = c.Proxy
	r.proxied.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return proxyRefusal(resp.StatusCode)
		}
		return nil
	}
	return r
}

func newTransport(c Config) *http.Transport {
	// HTTP/1.1 only: one request at a time goes to a host, an abandoned one
	// costs its connection, and the buffers of HTTP/2 would cost memory.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Protocols:              &protocols,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    c.Connect,
		ResponseHeaderTimeout:  c.Header,
		MaxResponseHeaderBytes: MaxHeader,
		MaxIdleConns:           c.IdleConns,
		MaxIdleConnsPerHost:    min(2, c.IdleConns),
		IdleConnTimeout:        90 * time.Second,
	}
}

// RoundTrip implements http.RoundTripper.
func (r *routes) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, errScheme
	}
	host, err := outbound.ParseHost(req.URL.Hostname())
	if err != nil {
		return nil, errHost
	}
	proxy, err := r.proxy(req)
	if err != nil {
		return nil, errors.New("the proxy setting cannot be used")
	}
	if proxy == nil {
		return r.direct.RoundTrip(req)
	}
	// What a name means to the proxy only the proxy knows; an address means the
	// same to both.
	if slices.ContainsFunc(host.Known, r.refuses) {
		return nil, errRefused
	}
	return r.proxied.RoundTrip(req)
}

// refuses tells whether a direct connection to a would be refused. The port is
// any.
func (r *routes) refuses(a netip.Addr) bool {
	a = a.Unmap()
	network := "tcp4"
	if a.Is6() {
		network = "tcp6"
	}
	return r.control(network, netip.AddrPortFrom(a, 443).String(), nil) != nil
}

func (r *routes) closeIdle() {
	r.direct.CloseIdleConnections()
	r.proxied.CloseIdleConnections()
}
