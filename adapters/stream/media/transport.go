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

// transport sends each request, and each redirect of it, through the proxy or
// directly. These are two http.Transports because the check of addresses must
// not refuse the proxy's own. RoundTrip checks the host first: resolvers and
// proxies disagree about unusual spellings of IP addresses.
type transport struct {
	proxy   func(*http.Request) (*url.URL, error)
	control func(network, address string, c syscall.RawConn) error
	direct  *http.Transport
	proxied *http.Transport
	refusal error // of an address
}

var (
	errAddress = errors.New("its address is not allowed: media must be on the public internet")
	errScheme  = errors.New("its URL is neither http nor https")
	errHost    = errors.New("the host is neither an IP address nor a DNS name")
	errProxy   = errors.New("the proxy setting (HTTP_PROXY, HTTPS_PROXY, EGRESS_PROXIES) is not a valid URL")
)

// proxyStatus is the status with which a proxy refused CONNECT.
type proxyStatus int

func (s proxyStatus) Error() string { return fmt.Sprintf("the proxy answered %d", int(s)) }

func newTransport(c Config) *transport {
	t := &transport{proxy: c.Proxy, control: c.Control, direct: newHTTPTransport(c), proxied: newHTTPTransport(c), refusal: errAddress}
	if c.AllowedBy != "" {
		t.refusal = fmt.Errorf("%w, or in a network of %s", errAddress, c.AllowedBy)
	}
	dialer := net.Dialer{Timeout: c.Connect, Resolver: c.Resolver}
	dialer.Control = func(network, address string, conn syscall.RawConn) error {
		if err := c.Control(network, address, conn); err != nil {
			return t.refusal
		}
		return nil
	}
	t.direct.DialContext = dialer.DialContext
	t.proxied.DialContext = (&net.Dialer{Timeout: c.Connect}).DialContext
	t.proxied.Proxy = c.Proxy
	t.proxied.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return proxyStatus(resp.StatusCode)
		}
		return nil
	}
	if c.ICY {
		acceptICY(t.direct)
		acceptICY(t.proxied)
	}
	return t
}

func newHTTPTransport(c Config) *http.Transport {
	// HTTP/1.1 only: a host gets one request at a time, aborting one costs only its
	// connection, and the buffers of HTTP/2 would cost memory.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Protocols:              &protocols,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    c.Connect,
		ResponseHeaderTimeout:  c.Header,
		MaxResponseHeaderBytes: MaxHeader,
		MaxIdleConns:           c.IdleConns,
		MaxIdleConnsPerHost:    c.IdleConns,
		IdleConnTimeout:        90 * time.Second,
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, errScheme
	}
	host, err := outbound.ParseHost(req.URL.Hostname())
	if err != nil {
		return nil, errHost
	}
	proxy, err := t.proxy(req)
	if err != nil {
		return nil, errProxy
	}
	if proxy == nil {
		return t.direct.RoundTrip(req)
	}
	// Only the proxy knows the address of a name; an IP address is the same for both.
	if host.IsInternal() || slices.ContainsFunc(host.KnownAddrs, t.refuses) {
		return nil, t.refusal
	}
	return t.proxied.RoundTrip(req)
}

// asksItself reports whether the server of a URL is asked itself, and not through a proxy.
func (t *transport) asksItself(u *url.URL) bool {
	proxy, err := t.proxy(&http.Request{URL: u})
	return err == nil && proxy == nil
}

// refuses reports whether a direct connection to address would be refused. The
// port does not matter.
func (t *transport) refuses(address netip.Addr) bool {
	address = address.Unmap()
	network := "tcp4"
	if address.Is6() {
		network = "tcp6"
	}
	return t.control(network, netip.AddrPortFrom(address, 443).String(), nil) != nil
}

func (t *transport) closeIdle() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
