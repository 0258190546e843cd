package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// register checks a callback URL as a registration does.
func register(ctx context.Context, g *webhook.Guard, rawURL string) error {
	u, err := monitor.ParseCallbackURL(rawURL)
	if err != nil {
		return err
	}
	return g.Check(ctx, u)
}

// Decision A2 holds for every spelling of a host, at registration and at the dial.
func TestEverySpellingOfAForbiddenHostIsRefused(t *testing.T) {
	dns := outboundtest.Zone().Resolver(t)
	trap := outboundtest.NewTrap(t)
	held := func(allowed ...netip.Prefix) (*webhook.Guard, *webhook.Sender) {
		g := webhook.NewGuard(allowed, dns)
		s := sender(t, g, webhook.Config{Timeout: shortTimeout})
		webhook.WrapControl(s, g, trap.Hold)
		return g, s
	}
	guard, strict := held()
	free, open := held(netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"))

	for _, c := range outboundtest.Cases() {
		url := c.URL("https", trap.Port)
		t.Run(c.Name, func(t *testing.T) {
			trap.Reset()
			err := register(t.Context(), guard, url)
			if accepted := !c.User && (c.Verdict == outboundtest.Outside || c.Verdict == outboundtest.Nowhere); accepted != (err == nil) {
				t.Errorf("registration: %v", err)
			}
			var e *monitor.Error
			if err != nil && (!errors.As(err, &e) || e.Code != monitor.InvalidURL) {
				t.Errorf("registration: %v, want INVALID_URL", err)
			}

			a := strict.Send(t.Context(), newDelivery(url))
			if a.Delivered() {
				t.Errorf("delivered: %+v", a)
			}
			if let := trap.Let(); c.Verdict == outboundtest.Outside {
				expectAllowed(t, trap, c)
			} else if len(let) > 0 || trap.Arrived() > 0 {
				t.Errorf("was let go to %v, and %d connections arrived", let, trap.Arrived())
			}
			if c.Verdict == outboundtest.Inside && c.Leads != "" && !strings.Contains(a.Error, "refused: the host leads to") {
				t.Errorf("error %q, want a refusal", a.Error)
			}
		})
		t.Run(c.Name+", in plain http", func(t *testing.T) {
			trap.Reset()
			url := c.URL("http", trap.Port)
			if err := register(t.Context(), guard, url); err == nil {
				t.Error("was registered")
			}
			if a := strict.Send(t.Context(), newDelivery(url)); a.Delivered() || len(trap.Let()) > 0 || trap.Arrived() > 0 {
				t.Errorf("answer %+v, let go to %v, and %d connections arrived", a, trap.Let(), trap.Arrived())
			}
		})
		// Without the guard each of them does arrive: it is the guard that refuses.
		if c.Verdict == outboundtest.Outside || c.Verdict == outboundtest.Inside {
			t.Run(c.Name+", where every network is allowed", func(t *testing.T) {
				trap.Reset()
				open.Close() // a connection kept is not dialled again
				url := c.URL("http", trap.Port)
				if err := register(t.Context(), free, url); (err == nil) != !c.User {
					t.Errorf("registration: %v", err)
				}
				a := open.Send(t.Context(), newDelivery(url))
				expectAllowed(t, trap, c)
				if c.Leads == "127.0.0.1" && !a.Delivered() {
					t.Errorf("answer %+v, want a delivery", a)
				}
			})
		}
	}
}

// expectAllowed fails the test unless the guard allowed the case's address.
func expectAllowed(t *testing.T, trap *outboundtest.Trap, c outboundtest.Case) {
	t.Helper()
	let := trap.Let()
	if c.Leads != "" && (len(let) != 1 || let[0] != netip.MustParseAddr(c.Leads)) {
		t.Errorf("was let go to %v, want %s", let, c.Leads)
	}
}

func TestANameThatChangesItsAddressIsCheckedAtTheDial(t *testing.T) {
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
			trap := outboundtest.NewTrap(t)
			dns := outboundtest.Names{"rebind.example": {"93.184.216.34", then}, "loop.example": {"127.0.0.1"}}
			g := webhook.NewGuard(nil, dns.Resolver(t))
			s := sender(t, g, webhook.Config{Timeout: 2 * time.Second})
			webhook.WrapControl(s, g, trap.Hold)
			url := "https://rebind.example:" + trap.Port + "/hook"
			if err := register(t.Context(), g, url); err != nil {
				t.Fatalf("registration: %v", err)
			}
			if a := s.Send(t.Context(), newDelivery(url)); !strings.Contains(a.Error, "refused: the host leads to") {
				t.Errorf("answer %+v, want a refusal", a)
			}
			if len(trap.Let()) > 0 || trap.Arrived() > 0 {
				t.Errorf("was let go to %v, and %d connections arrived", trap.Let(), trap.Arrived())
			}
		})
	}
	t.Run("only the public address of several is connected to", func(t *testing.T) {
		trap := outboundtest.NewTrap(t)
		dns := outboundtest.Names{"rebind.example": {"93.184.216.34", "127.0.0.1 93.184.216.34 ::1"}}
		g := webhook.NewGuard(nil, dns.Resolver(t))
		s := sender(t, g, webhook.Config{Timeout: 2 * time.Second})
		webhook.WrapControl(s, g, trap.Hold)
		url := "https://rebind.example:" + trap.Port + "/hook"
		if err := register(t.Context(), g, url); err != nil {
			t.Fatalf("registration: %v", err)
		}
		s.Send(t.Context(), newDelivery(url))
		if let := trap.Let(); len(let) != 1 || let[0] != netip.MustParseAddr("93.184.216.34") || trap.Arrived() > 0 {
			t.Errorf("was let go to %v, and %d connections arrived", let, trap.Arrived())
		}
	})
}

func TestARedirectIsNotFollowedAnywhere(t *testing.T) {
	trap := outboundtest.NewTrap(t)
	var location string
	receiver := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Location"] = []string{location}
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	g := webhook.NewGuard(networks(t, "127.0.0.0/8,::1"), outboundtest.Zone().Resolver(t))
	s := sender(t, g, webhook.Config{})
	for _, c := range outboundtest.Cases() {
		if strings.ContainsAny(c.Host, "\r\n\t") {
			continue // no header can carry it
		}
		for _, scheme := range []string{"http", "https"} {
			location = c.URL(scheme, trap.Port)
			if a := s.Send(t.Context(), newDelivery(receiver.URL)); a.Status != http.StatusTemporaryRedirect || !strings.Contains(a.Error, "redirects are not followed") {
				t.Errorf("to %q: answer %+v", location, a)
			}
		}
	}
	if n := trap.Arrived(); n > 0 {
		t.Errorf("%d connections arrived where redirects led", n)
	}
}
