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

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const (
	youtubeHost = "www.youtube.com"
	youtubeURL  = "https://" + youtubeHost + "/"

	// knownVideo has been public since 2005. doctor only checks that YouTube answers. It
	// does not matter whether the video still exists.
	knownVideo = monitor.StreamURL(youtubeURL + "watch?v=jNQXAC9IVRw")
)

// youtubeCheck checks each way to YouTube.
type youtubeCheck struct {
	settings   config.Doctor
	lookupHost func(ctx context.Context, host string) (addresses []string, err error)
	probeVideo func(ctx context.Context, stream monitor.StreamURL) watch.ProbeResult
}

func (y youtubeCheck) run(ctx context.Context) (found []finding) {
	if y.settings.Offline {
		return []finding{{subject: "YouTube", verdict: fine, found: "not asked (--offline)"}}
	}
	if y.settings.Watching.EgressProxies == "" {
		return y.way(ctx, "YouTube", "HTTPS_PROXY", y.proxy)
	}
	list, _, _ := y.settings.Watching.Egress()
	for _, name := range list.Names() {
		ctx := request.WithEgress(ctx, name)
		found = append(found, y.way(ctx, "YouTube, "+name, "EGRESS_PROXIES", func() (*url.URL, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, youtubeURL, nil)
			if err != nil {
				return nil, err
			}
			return list.Proxy(req)
		})...)
	}
	return found
}

// way checks one way: the name, the connection through its proxy, and one question to
// the oEmbed service. setting is the variable that names the proxy.
func (y youtubeCheck) way(ctx context.Context, subject, setting string, proxyOf func() (*url.URL, error)) []finding {
	unreachable := func(found, advice string) []finding {
		return []finding{{subject, fail, "YouTube cannot be reached from here: " + found, "an answer of " + youtubeHost, advice + "; or leave this check out with --offline"}}
	}
	proxy, err := proxyOf()
	if err != nil {
		return unreachable(fmt.Sprintf("the proxy cannot be used: %v", err), "correct "+setting)
	}
	host, port, way, advice := youtubeHost, "443", "directly", "check the firewall, or set "+setting
	if proxy != nil {
		host, port, way, advice = proxy.Hostname(), proxyPort(proxy), "through the proxy "+proxy.Host, "check "+setting+", and that the proxy runs and accepts connections from this machine"
	}
	addresses, err := y.resolve(ctx, host)
	if err != nil {
		return unreachable(fmt.Sprintf("DNS does not resolve %s (%v)", host, err), "check the name server (/etc/resolv.conf), or set "+setting)
	}
	if err := connect(ctx, addresses, host, port, proxy == nil); err != nil {
		return unreachable(fmt.Sprintf("no connection to %s (%v)", net.JoinHostPort(host, port), err), advice)
	}
	if p := y.probeVideo(ctx, knownVideo); !p.Known {
		return unreachable(fmt.Sprintf("YouTube did not answer a question about a video, sent %s (%s)", way, p.Detail), advice)
	}
	return []finding{{subject: subject, verdict: fine, found: youtubeHost + " answers, " + way}}
}

// proxy returns the proxy for YouTube, or nil.
func (y youtubeCheck) proxy() (*url.URL, error) {
	settings := httpproxy.FromEnvironment() // NO_PROXY
	settings.HTTPProxy, settings.HTTPSProxy = y.settings.Watching.HTTPProxy, y.settings.Watching.HTTPSProxy
	target, err := url.Parse(youtubeURL)
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

func (y youtubeCheck) resolve(ctx context.Context, host string) ([]string, error) {
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{host}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	addresses, err := y.lookupHost(ctx, host)
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
