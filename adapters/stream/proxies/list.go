package proxies

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
)

// Direct is the entry of a list, and the name, of the address of this machine.
const Direct = "direct"

// unchanged is the name of the only address without a list: HTTP_PROXY and HTTPS_PROXY decide.
const unchanged = "default"

// schemes are those that yt-dlp, streamlink and net/http support.
var schemes = []string{"http", "https", "socks5", "socks5h"}

// List is the proxies of EGRESS_PROXIES, at least one. It may be used concurrently.
type List struct{ proxies []proxy }

type proxy struct {
	name   string
	url    string // empty: none, requests leave directly
	choose func(*url.URL) (*url.URL, error)
}

// Parse reads a list of proxies, separated by commas. Of an empty list, requests leave as
// HTTP_PROXY and HTTPS_PROXY say. The error says what is accepted, and shows no entry: it may
// hold a password.
func Parse(text string) (*List, error) {
	l := &List{}
	if strings.TrimSpace(text) == "" {
		l.proxies = []proxy{{name: unchanged}}
		return l, nil
	}
	noProxy := httpproxy.FromEnvironment().NoProxy
	known := map[string]bool{}
	for i, entry := range strings.Split(text, ",") {
		entry = strings.TrimSpace(entry)
		if known[entry] {
			return nil, fmt.Errorf("entry %d is there twice", i+1)
		}
		known[entry] = true
		p := proxy{name: Direct}
		if entry != Direct {
			host, err := hostOf(entry)
			if err != nil {
				return nil, fmt.Errorf("entry %d is not accepted: %w", i+1, err)
			}
			p.url, p.name = entry, l.uniqueName(host)
		}
		p.choose = (&httpproxy.Config{HTTPProxy: p.url, HTTPSProxy: p.url, NoProxy: noProxy}).ProxyFunc()
		l.proxies = append(l.proxies, p)
	}
	return l, nil
}

// hostOf returns host and port of a proxy's URL.
func hostOf(entry string) (string, error) {
	u, err := url.Parse(entry)
	if err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return "", errors.New("accepted is http://[USER:PASSWORD@]HOST:PORT, the same with https, socks5 or socks5h, or the word direct")
	}
	return u.Host, nil
}

// uniqueName adds a number to a host that several entries have: they differ in user or scheme.
func (l *List) uniqueName(host string) string {
	name := host
	for n := 2; slices.Contains(l.Names(), name); n++ {
		name = fmt.Sprintf("%s#%d", host, n)
	}
	return name
}

// Names returns the names of the proxies, in their order.
func (l *List) Names() (names []string) {
	for _, p := range l.proxies {
		names = append(names, p.name)
	}
	return names
}

// of returns the proxy of a request. Without a name, or with that of a proxy that was removed
// from the list, it is the first: no request evades the proxies.
func (l *List) of(ctx context.Context) proxy {
	name := request.Egress(ctx)
	for _, p := range l.proxies {
		if p.name == name {
			return p
		}
	}
	return l.proxies[0]
}

// Proxy returns the proxy of an HTTP request, or nil for none. It is an http.Transport.Proxy.
func (l *List) Proxy(req *http.Request) (*url.URL, error) {
	p := l.of(req.Context())
	if p.name == unchanged {
		return http.ProxyFromEnvironment(req)
	}
	return p.choose(req.URL)
}

// variables are those by which the tools find their proxy.
var variables = []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}

// Environ returns the environment of a tool that asks through the address of ctx; nil: what
// every tool inherits of this process.
func (l *List) Environ(ctx context.Context) []string {
	p := l.of(ctx)
	if p.name == unchanged {
		return nil
	}
	env := slices.DeleteFunc(subprocess.Environment(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(variables, name) || strings.EqualFold(name, "ALL_PROXY")
	})
	if p.url != "" {
		for _, name := range variables {
			env = append(env, name+"="+p.url)
		}
	}
	return env
}
