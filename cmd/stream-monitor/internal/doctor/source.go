package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// sourceCheck checks each way to a source.
type sourceCheck struct {
	settings   config.Doctor
	source     monitor.Source
	lookupHost func(ctx context.Context, host string) (addresses []string, err error)
	prober     worker.Prober // nil: the source has none
}

func (s sourceCheck) run(ctx context.Context) (found []finding) {
	if s.settings.Offline {
		return []finding{{subject: s.source.Title, verdict: fine, found: "not asked (--offline)"}}
	}
	if s.settings.Watching.EgressProxies == "" {
		return s.way(ctx, s.source.Title, "HTTPS_PROXY", s.proxy)
	}
	list, _, _ := s.settings.Watching.Egress()
	for _, name := range list.Names() {
		ctx := request.WithEgress(ctx, name)
		found = append(found, s.way(ctx, s.source.Title+", "+name, "EGRESS_PROXIES", func() (*url.URL, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, string(s.source.Example), nil)
			if err != nil {
				return nil, err
			}
			return list.Proxy(req)
		})...)
	}
	return found
}

// way checks one way: the name, the connection through its proxy, and one question about
// the example, of which only the answer matters. setting is the variable that names the proxy.
func (s sourceCheck) way(ctx context.Context, subject, setting string, proxyOf func() (*url.URL, error)) []finding {
	sourceHost := s.source.Hosts[0]
	unreachable := func(found, advice string) []finding {
		return []finding{{subject, fail, s.source.Title + " cannot be reached from here: " + found, "an answer of " + sourceHost, advice + "; or leave this check out with --offline"}}
	}
	proxy, err := proxyOf()
	if err != nil {
		return unreachable(fmt.Sprintf("the proxy cannot be used: %v", err), "correct "+setting)
	}
	host, port, way, advice := sourceHost, "443", "directly", "check the firewall, or set "+setting
	if proxy != nil {
		host, port, way, advice = proxy.Hostname(), proxyPort(proxy), "through the proxy "+proxy.Host, "check "+setting+", and that the proxy runs and accepts connections from this machine"
	}
	addresses, err := s.resolve(ctx, host)
	if err != nil {
		return unreachable(fmt.Sprintf("DNS does not resolve %s (%v)", host, err), "check the name server (/etc/resolv.conf), or set "+setting)
	}
	if err := connect(ctx, addresses, host, port, proxy == nil); err != nil {
		return unreachable(fmt.Sprintf("no connection to %s (%v)", net.JoinHostPort(host, port), err), advice)
	}
	if s.prober == nil {
		return []finding{{subject: subject, verdict: fine, found: sourceHost + " can be reached, " + way}}
	}
	if p := s.prober.Probe(ctx, s.source.Example); !p.Known {
		return unreachable(fmt.Sprintf("%s did not answer a question about a stream, sent %s (%s)", s.source.Title, way, p.Detail), advice)
	}
	return []finding{{subject: subject, verdict: fine, found: sourceHost + " answers, " + way}}
}

// proxy returns the proxy for the source, or nil.
func (s sourceCheck) proxy() (*url.URL, error) {
	settings := httpproxy.FromEnvironment() // NO_PROXY
	settings.HTTPProxy, settings.HTTPSProxy = s.settings.Watching.HTTPProxy, s.settings.Watching.HTTPSProxy
	target, err := url.Parse(string(s.source.Example))
	if err != nil {
		return nil, err
	}
	return settings.ProxyFunc()(target)
}

func proxyPort(proxy *url.URL) string {
	if port := proxy.Port(); port != "" {
		return port
	}
	if port, ok := map[string]string{"http": "80", "https": "443"}[proxy.Scheme]; ok {
		return port
	}
	return "1080" // SOCKS (RFC 1928)
}

func (s sourceCheck) resolve(ctx context.Context, host string) ([]string, error) {
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{host}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	addresses, err := s.lookupHost(ctx, host)
	if err == nil && len(addresses) == 0 {
		err = errors.New("no address")
	}
	return addresses, err
}

// connect opens a connection to the first address that accepts one, and closes it.
// A secure connection includes the TLS handshake.
func connect(ctx context.Context, addresses []string, host, port string, secure bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	for _, address := range addresses {
		var conn net.Conn
		address = net.JoinHostPort(address, port)
		if secure {
			conn, err = (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}}).DialContext(ctx, "tcp", address)
		} else {
			conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
		}
		if err == nil {
			return conn.Close()
		}
	}
	return err
}
