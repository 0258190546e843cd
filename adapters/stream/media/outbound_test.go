package media_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// guardedClient returns a client with the default Control. The loopback server keeps its
// connections on this machine. public are the URLs of fakes of public servers.
func guardedClient(t *testing.T, loopback *outboundtest.LoopbackServer, dns outboundtest.DNSRecords, public ...string) *media.Client {
	t.Helper()
	strict := loopback.GuardDials(outbound.New(nil).Control)
	return newClient(t, func(c *media.Config) {
		c.Resolver = dns.Resolver(t)
		c.Control = func(network, address string, conn syscall.RawConn) error {
			for _, base := range public {
				if address == strings.TrimPrefix(base, "http://") {
					return nil
				}
			}
			return strict(network, address, conn)
		}
	})
}

// segments are the ways in which a client comes to request the target for a segment. public is the
// URL of a fake of a public server.
var segments = map[string]func(public, target string) watch.Segment{
	"a segment": func(_, target string) watch.Segment { return watch.Segment{URI: target} },
	"an init section": func(public, target string) watch.Segment {
		return watch.Segment{URI: public, Init: &watch.Init{URI: target}}
	},
	"a key": func(public, target string) watch.Segment { return watch.Segment{URI: public, Key: keyAt(target)} },
	"the key of an init section": func(public, target string) watch.Segment {
		return watch.Segment{URI: public, Init: &watch.Init{URI: public, Key: keyAt(target)}}
	},
	"the target of a key's redirect": func(public, target string) watch.Segment {
		return watch.Segment{URI: public, Key: keyAt(redirect(public, target))}
	},
	"the target of a segment's redirect": func(public, target string) watch.Segment {
		return watch.Segment{URI: redirect(public, target)}
	},
}

func keyAt(uri string) *watch.Key { return &watch.Key{URI: uri, IV: make([]byte, 16)} }

func redirect(public, target string) string { return public + "/?to=" + url.QueryEscape(target) }

func TestNoSpellingOfAHostReachesAnInternalAddress(t *testing.T) {
	loopback := outboundtest.NewLoopbackServer(t)
	public := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header()["Location"] = []string{to}
			w.WriteHeader(http.StatusFound)
		}
	})
	strict := guardedClient(t, loopback, outboundtest.Zone(), public)
	dns := outboundtest.Zone().Resolver(t)
	open := newClient(t, func(c *media.Config) { c.Control, c.Resolver = loopback.GuardDials(allowAll), dns })
	requests := map[string]func(target string) error{
		"a manifest": func(target string) error { _, _, err := strict.Get(withTimeout(t), target, 100); return err },
		"the target of a manifest's redirect": func(target string) error {
			_, _, err := strict.Get(withTimeout(t), redirect(public, target), 100)
			return err
		},
	}
	for way, of := range segments {
		requests[way] = func(target string) error { _, err := fetch(t, strict, of(public, target)); return err }
	}
	for way, request := range requests {
		for _, c := range outboundtest.Cases() {
			t.Run(way+": "+c.Name, func(t *testing.T) {
				loopback.Reset()
				err := request(c.URL("http", loopback.Port))
				if _, failed := errors.AsType[*watch.Failure](err); !failed {
					t.Errorf("got %v, want a failure, because no server has this address", err)
				}
				allowed := loopback.AllowedAddrs()
				if c.Verdict == outboundtest.Allowed {
					if len(allowed) != 1 || allowed[0] != netip.MustParseAddr(c.Address) {
						t.Errorf("connected to %v, want %s: %v", allowed, c.Address, err)
					}
				} else if len(allowed) > 0 || loopback.Connections() > 0 {
					t.Errorf("connected to %v, and %d connections arrived", allowed, loopback.Connections())
				}
			})
		}
	}
	// Without Control each connection arrives: nothing else refuses it.
	for _, c := range outboundtest.Cases() {
		if c.Verdict != outboundtest.Refused || c.Address == "" {
			continue
		}
		t.Run("without the control: "+c.Name, func(t *testing.T) {
			loopback.Reset()
			open.Close() // a connection kept is not dialled again
			_, _, err := open.Get(withTimeout(t), c.URL("http", loopback.Port), 100)
			if allowed := loopback.AllowedAddrs(); len(allowed) != 1 || allowed[0] != netip.MustParseAddr(c.Address) {
				t.Errorf("connected to %v, want %s", allowed, c.Address)
			}
			if c.Address == "127.0.0.1" && (err != nil || loopback.Connections() != 1) {
				t.Errorf("got %v, and %d connections arrived", err, loopback.Connections())
			}
		})
	}
}

// The proxy resolves names itself, so it gets every name, but no internal address.
func TestAProxyIsAskedForNamesAndPublicAddressesOnly(t *testing.T) {
	requests := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
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

func TestANameIsCheckedAtEveryDial(t *testing.T) {
	for name, then := range map[string]string{
		"to loopback":               "127.0.0.1",
		"to IPv6 loopback":          "::1",
		"to loopback in disguise":   "::ffff:127.0.0.1",
		"to loopback by NAT64":      "64:ff9b::7f00:1",
		"to the unspecified":        "0.0.0.0",
		"to metadata":               "169.254.169.254",
		"to another name":           "=loop.example",
		"to several inside at once": "127.0.0.1 10.0.0.1 ::1",
	} {
		t.Run(name, func(t *testing.T) {
			loopback := outboundtest.NewLoopbackServer(t)
			c := guardedClient(t, loopback, outboundtest.DNSRecords{"rebind.example": {"93.184.216.34", then}, "loop.example": {"127.0.0.1"}})
			target := "http://rebind.example:" + loopback.Port
			if _, _, err := c.Get(withTimeout(t), target, 100); err == nil || len(loopback.AllowedAddrs()) != 1 || loopback.AllowedAddrs()[0] != netip.MustParseAddr("93.184.216.34") {
				t.Fatalf("the first request connected to %v: %v", loopback.AllowedAddrs(), err)
			}
			loopback.Reset()
			_, _, err := c.Get(withTimeout(t), target+secret, 100)
			wantFailure(t, err, watch.FailureNetwork, "not allowed")
			wantFetchFailure(t, c, watch.Segment{URI: target + secret}, watch.FailureNetwork, "not allowed")
			if len(loopback.AllowedAddrs()) > 0 || loopback.Connections() > 0 {
				t.Errorf("connected to %v, and %d connections arrived", loopback.AllowedAddrs(), loopback.Connections())
			}
		})
	}
	t.Run("to a mixture goes to what is publicServer only", func(t *testing.T) {
		loopback := outboundtest.NewLoopbackServer(t)
		c := guardedClient(t, loopback, outboundtest.DNSRecords{"mixed.example": {"127.0.0.1 93.184.216.34 ::1"}})
		_, _, _ = c.Get(withTimeout(t), "http://mixed.example:"+loopback.Port, 100)
		if allowed := loopback.AllowedAddrs(); len(allowed) != 1 || allowed[0] != netip.MustParseAddr("93.184.216.34") || loopback.Connections() > 0 {
			t.Errorf("connected to %v, and %d connections arrived", allowed, loopback.Connections())
		}
	})
}
