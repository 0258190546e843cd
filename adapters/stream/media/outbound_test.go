package media_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// guardedClient returns a client with the default Control, which guard wraps. public is the URL of a fake of
// a public server.
func guardedClient(t *testing.T, resolver *net.Resolver, guard func(outboundtest.Control) outboundtest.Control, public string) *media.Client {
	t.Helper()
	strict := guard(outbound.New(nil).Control)
	return newClient(t, func(c *media.Config) {
		c.Resolver = resolver
		c.Control = func(network, address string, conn syscall.RawConn) error {
			if "http://"+address == public {
				return nil
			}
			return strict(network, address, conn)
		}
	})
}

func keyAt(uri string) *watch.Key { return &watch.Key{URI: uri, IV: make([]byte, 16)} }

func TestNoWayLeadsToAnInternalAddress(t *testing.T) {
	public := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header()["Location"] = []string{to}
			w.WriteHeader(http.StatusFound)
		}
	})
	redirect := func(target string) string { return public + "/?to=" + url.QueryEscape(target) }
	// Each way is a segment that requests the target, or none for a manifest there.
	for way, segmentOf := range map[string]func(target string) watch.Segment{
		"a manifest":           nil,
		"a segment":            func(target string) watch.Segment { return watch.Segment{URI: target} },
		"a segment's redirect": func(target string) watch.Segment { return watch.Segment{URI: redirect(target)} },
		"an init section": func(target string) watch.Segment {
			return watch.Segment{URI: public, Init: &watch.Init{URI: target}}
		},
		"a key":            func(target string) watch.Segment { return watch.Segment{URI: public, Key: keyAt(target)} },
		"a key's redirect": func(target string) watch.Segment { return watch.Segment{URI: public, Key: keyAt(redirect(target))} },
		"an init section's key": func(target string) watch.Segment {
			return watch.Segment{URI: public, Init: &watch.Init{URI: public, Key: keyAt(target)}}
		},
	} {
		open := func(t *testing.T, resolver *net.Resolver, guard func(outboundtest.Control) outboundtest.Control) outboundtest.Request {
			c := guardedClient(t, resolver, guard, public)
			return func(t *testing.T, target string) (err error) {
				if segmentOf == nil {
					_, _, err = c.Get(withTimeout(t), target, 100)
				} else {
					_, err = fetch(t, c, segmentOf(target))
				}
				if _, failed := errors.AsType[*watch.Failure](err); !failed {
					t.Errorf("got %v, want a failure", err)
				}
				return err
			}
		}
		t.Run(way, func(t *testing.T) {
			outboundtest.Run(t, outboundtest.Client{Scheme: "http", Open: open, Refusal: "not allowed"})
		})
	}
}

// The proxy resolves names itself, so it gets every name, but no internal address.
func TestAProxyIsAskedForNamesAndPublicAddressesOnly(t *testing.T) {
	requests := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer proxy.Close()
	at := must.Get(url.Parse(proxy.URL))(t)
	c := newClient(t, func(c *media.Config) { c.Control, c.Proxy = nil, http.ProxyURL(at) })
	for _, k := range outboundtest.Cases() {
		t.Run(k.Name, func(t *testing.T) {
			requests = 0
			want := 0
			if u, err := url.Parse(k.URL("http", "80")); err == nil && (k.Verdict == outboundtest.Allowed || k.NeedsLookup) {
				if host, _ := outbound.ParseHost(u.Hostname()); !host.IsInternal() {
					want = 1
				}
			}
			_, _, err := c.Get(withTimeout(t), k.URL("http", "80"), 100)
			if requests != want || (err == nil) != (want == 1) {
				t.Errorf("the proxy got %d requests, want %d: %v", requests, want, err)
			}
		})
	}
	// Only the proxy looks up names, so those that no public host has are refused before.
	for _, host := range []string{"db", "DB.", "metadata.google.internal", "printer.local", "api.default.svc.cluster.local", "nas.lan", "x.home.arpa", "wiki.corp", "x.intranet", "ｄｂ"} {
		requests = 0
		if _, _, err := c.Get(withTimeout(t), "http://"+host+"/", 100); err == nil || requests > 0 {
			t.Errorf("%s: the proxy was asked, error %v", host, err)
		}
	}
	if _, _, err := c.Get(withTimeout(t), "http://media.example.com/", 100); err != nil || requests != 1 {
		t.Errorf("%d requests, %v", requests, err)
	}
}
