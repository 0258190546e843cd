package webhook_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// Decision A2. Package outbound tests what is decided of each address.
func TestARegistrationIsRefusedForAForbiddenAddress(t *testing.T) {
	names := outboundtest.DNSRecords{
		"public.example": {"93.184.216.34"},
		"inside.example": {"10.1.2.3"},
		"mixed.example":  {"93.184.216.34 192.168.7.7"},
	}
	for _, c := range []struct {
		name, url, allowed string
		refusal            string // part of the message; empty: accepted
	}{
		{"a public name by https is accepted", "https://public.example/hook", "", ""},
		{"a name that does not exist now is accepted", "https://later.example/", "", ""},

		{"plain http is refused", "http://public.example/hook", "", "plain http"},
		{"plain http to a name that does not exist is refused", "http://later.example/hook", "", "plain http"},
		{"plain http outside the allowed networks is refused", "http://public.example/hook", "10.0.0.0/8", "plain http"},
		{"plain http into an allowed network is accepted", "http://inside.example/hook", "10.0.0.0/8", ""},
		{"https into an allowed network is accepted", "https://inside.example/hook", "10.0.0.0/8", ""},

		{"a name with one private address is refused", "https://mixed.example/", "", "a private address"},
		{"localhost is refused", "https://localhost/", "", "a loopback address"},
		{"a loopback address is refused", "https://127.0.0.1/", "", `the host "127.0.0.1" leads to a loopback address`},
		{"a translated address in an allowed network is accepted", "http://[64:ff9b::10.1.2.3]/", "10.0.0.0/8", ""},
		{"localhost is accepted where one of its addresses is allowed", "http://localhost:8080/", "127.0.0.0/8", ""},
		{"localhost is accepted where the other of its addresses is allowed", "http://localhost:8080/", "::1", ""},
		{"localhost is refused where neither is allowed", "https://localhost/", "10.0.0.0/8", "a loopback address"},
		{"a number in place of a host is refused", "https://2130706433/", "", "write an IPv4 address as four decimal numbers"},
		{"a number in place of a host is refused wherever it leads", "https://127.1/", "127.0.0.0/8", "write an IPv4 address as four decimal numbers"},
		{"an invalid host name is refused", "https://*.example/", "", "neither an address nor a name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := webhook.NewGuard(networks(t, c.allowed), names.Resolver(t))
			err := g.Check(t.Context(), monitor.CallbackURL(c.url))
			if c.refusal == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			var e *monitor.Error
			if !errors.As(err, &e) || e.Code != monitor.InvalidURL {
				t.Fatalf("got %v, want INVALID_URL", err)
			}
			expect.Text(t, "the message", e.Message, c.refusal, "accepted is an https URL")
		})
	}

	t.Run("the error does not contain an internal address", func(t *testing.T) {
		err := webhook.NewGuard(nil, names.Resolver(t)).Check(t.Context(), "https://inside.example/")
		if err == nil || strings.Contains(err.Error(), "10.1.2.3") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a lookup that is not answered ends after 2 s", func(t *testing.T) {
		began := time.Now()
		g := webhook.NewGuard(nil, outboundtest.DNSRecords{"slow.example": {outboundtest.NoResponse}}.Resolver(t))
		must.Do(t, g.Check(t.Context(), "https://slow.example/"))
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestPlainHTTPIsRefusedAtTheDial(t *testing.T) {
	names := outboundtest.DNSRecords{"public.example": {"93.184.216.34"}}
	g := webhook.NewGuard(networks(t, "10.0.0.0/8"), names.Resolver(t))
	a := send(t.Context(), sender(t, g, webhook.Config{}), "http://public.example/hook")
	if !strings.Contains(a.Error, "refused: plain http to the host is not accepted") || strings.Contains(a.Error, "93.184.216.34") {
		t.Errorf("answer %+v, want a refusal that does not show the address", a)
	}
}

func TestParseNetworksAcceptsCIDRsAndAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		" ":                             nil,
		"10.1.2.3/8, fd00::1/8":         {"10.0.0.0/8", "fd00::/8"},
		"10.1.2.3,fd00::1,fe80::1%eth0": {"10.1.2.3/32", "fd00::1/128", "fe80::1/128"},
	} {
		var got []string
		for _, n := range networks(t, text) {
			got = append(got, n.String())
		}
		expect.Equal(t, text, got, want)
	}
	networks(t, "10.0.0.0/8"+strings.Repeat(",10.0.0.0/8", 255))
	for text, says := range map[string]string{
		"10.0.0.0/33":  `"10.0.0.0/33" is not a network; accepted are CIDRs`,
		"localhost":    "accepted are CIDRs and addresses",
		"10.0.0.0/8,,": `"" is not a network`,
		strings.Repeat("10.0.0.0/8,", 256) + "10.0.0.0/8": "accepted are at most 256",

		// These match no address, because IPv4 addresses are compared in their IPv4
		// form.
		"::ffff:10.0.0.0/104":    `"::ffff:10.0.0.0/104" is an IPv4 network in the form of an IPv6 one; write 10.0.0.0/8`,
		"::ffff:10.1.2.3":        "write 10.1.2.3/32",
		"fd00::/8,::ffff:0:0/96": "write 0.0.0.0/0",
		"::ffff:10.0.0.0/90":     "accepted are CIDRs",
	} {
		expect.Failed(webhook.ParseNetworks(text))(t, says)
	}
}

func TestErrorsDoNotNameTheNameServer(t *testing.T) {
	for want, resolver := range map[string]*net.Resolver{
		`the host "far.example" has no address`: outboundtest.DNSRecords{}.Resolver(t),
		`the host "far.example" could not be looked up`: {PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("dial udp 10.9.8.7:53: unreachable")
		}},
	} {
		a := send(t.Context(), sender(t, webhook.NewGuard(nil, resolver), webhook.Config{}), "https://far.example/hook?token=geheim")
		expect.Equal(t, "error", a.Error, want)
	}
}

// Decision A2 holds for every spelling of a host, at registration and at the dial.
func TestEverySpellingOfAForbiddenHostIsRefused(t *testing.T) {
	guard := webhook.NewGuard(nil, outboundtest.Zone().Resolver(t))
	for _, c := range outboundtest.Cases() {
		for _, scheme := range []string{"https", "http"} {
			url := c.URL(scheme, "443")
			u, err := monitor.ParseCallbackURL(url)
			if err == nil {
				err = guard.Check(t.Context(), u)
			}
			accepted := scheme == "https" && !c.HasUserInfo && (c.Verdict == outboundtest.Allowed || c.Verdict == outboundtest.Unresolvable)
			var e *monitor.Error
			if accepted != (err == nil) || err != nil && (!errors.As(err, &e) || e.Code != monitor.InvalidURL) {
				t.Errorf("registration of %s: %v", url, err)
			}
		}
	}
	outboundtest.Run(t, outboundtest.Client{
		Scheme: "https", Refusal: "refused: the host leads to",
		Open: func(t *testing.T, resolver *net.Resolver, guard func(outboundtest.Control) outboundtest.Control) outboundtest.Request {
			g := webhook.NewGuard(nil, resolver)
			s := sender(t, g, webhook.Config{})
			webhook.WrapControl(s, g, guard)
			return func(t *testing.T, url string) error {
				a := send(t.Context(), s, url)
				if a.Accepted() {
					return nil
				}
				refused := strings.Contains(a.Error, "refused: the host leads to")
				if refused && (!strings.Contains(a.Error, "CALLBACK_ALLOWED_NETWORKS") || strings.Contains(a.Error, "127.0.0.1")) {
					t.Errorf("the error %q shows an address, or not what to set", a.Error)
				}
				return errors.New(a.Error)
			}
		},
	})
}

// deadProxy is the proxy in the environment, where nothing listens. net/http reads
// the environment once, so TestMain sets it.
const deadProxy = "http://127.0.0.1:1"

func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		_ = os.Setenv(name, deadProxy)
	}
	goleak.VerifyTestMain(m)
}

const (
	oldKey  = "an-old-key"
	newKey  = "a-new-key"
	eventID = "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d"
	body    = `{"event_type":"alert.blackout","note":"ブラックアウト"}`
)

// shortTimeout bounds an attempt in tests whose receiver does not answer.
const shortTimeout = 300 * time.Millisecond

func keys(t *testing.T, s string) webhook.Keys {
	t.Helper()
	return must.Get(webhook.ParseKeys(s))(t)
}

func networks(t *testing.T, s string) []netip.Prefix {
	t.Helper()
	return must.Get(webhook.ParseNetworks(s))(t)
}

// local allows webhooks to the test's own receivers.
func local(t *testing.T) *webhook.Guard {
	return webhook.NewGuard(networks(t, "127.0.0.0/8"), nil)
}

func sender(t *testing.T, g *webhook.Guard, cfg webhook.Config) *webhook.Sender {
	t.Helper()
	s := webhook.NewSender(keys(t, oldKey), g, cfg)
	t.Cleanup(s.Close)
	return s
}

// send sends an event to a callback.
func send(ctx context.Context, s *webhook.Sender, url string) event.Attempt {
	return s.Send(ctx, monitor.CallbackURL(url), anEvent(), nil)
}

func anEvent() delivery.Event {
	return delivery.Event{EventID: eventID, EventType: "alert.blackout", MonitorID: "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d", Body: []byte(body)}
}

// serve runs a receiver until the test ends.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}
