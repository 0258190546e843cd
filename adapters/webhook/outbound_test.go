package webhook_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/event"
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
	loopback := outboundtest.NewLoopbackServer(t)
	held := func(allowed ...netip.Prefix) (*webhook.Guard, *webhook.Sender) {
		g := webhook.NewGuard(allowed, dns)
		s := sender(t, g, webhook.Config{})
		webhook.WrapControl(s, g, loopback.GuardDials)
		return g, s
	}
	guard, strict := held()
	free, open := held(netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"))

	for _, c := range outboundtest.Cases() {
		url := c.URL("https", loopback.Port)
		t.Run(c.Name, func(t *testing.T) {
			loopback.Reset()
			err := register(t.Context(), guard, url)
			if accepted := !c.HasUserInfo && (c.Verdict == outboundtest.Allowed || c.Verdict == outboundtest.Unresolvable); accepted != (err == nil) {
				t.Errorf("registration: %v", err)
			}
			var e *monitor.Error
			if err != nil && (!errors.As(err, &e) || e.Code != monitor.InvalidURL) {
				t.Errorf("registration: %v, want INVALID_URL", err)
			}

			a := send(t.Context(), strict, url)
			if a.Accepted() {
				t.Errorf("delivered: %+v", a)
			}
			if allowed := loopback.AllowedAddrs(); c.Verdict == outboundtest.Allowed {
				expectAllowed(t, loopback, c)
			} else if len(allowed) > 0 || loopback.Connections() > 0 {
				t.Errorf("dialed %v, and %d connections arrived", allowed, loopback.Connections())
			}
			if c.Verdict == outboundtest.Refused && c.Address != "" && !strings.Contains(a.Error, "refused: the host leads to") {
				t.Errorf("error %q, want a refusal", a.Error)
			}
		})
		t.Run(c.Name+", in plain http", func(t *testing.T) {
			loopback.Reset()
			url := c.URL("http", loopback.Port)
			if err := register(t.Context(), guard, url); err == nil {
				t.Error("was registered")
			}
			if a := send(t.Context(), strict, url); a.Accepted() || len(loopback.AllowedAddrs()) > 0 || loopback.Connections() > 0 {
				t.Errorf("answer %+v, dialed %v, and %d connections arrived", a, loopback.AllowedAddrs(), loopback.Connections())
			}
		})
		// Without the guard each of them does arrive: it is the guard that refuses.
		if c.Verdict == outboundtest.Allowed || c.Verdict == outboundtest.Refused {
			t.Run(c.Name+", where every network is allowed", func(t *testing.T) {
				loopback.Reset()
				open.Close() // a connection kept is not dialled again
				url := c.URL("http", loopback.Port)
				if err := register(t.Context(), free, url); (err == nil) != !c.HasUserInfo {
					t.Errorf("registration: %v", err)
				}
				a := send(t.Context(), open, url)
				expectAllowed(t, loopback, c)
				if c.Address == "127.0.0.1" && !a.Accepted() {
					t.Errorf("answer %+v, want a delivery", a)
				}
			})
		}
	}
}

// expectAllowed fails the test unless the guard allowed the case's address.
func expectAllowed(t *testing.T, loopback *outboundtest.LoopbackServer, c outboundtest.Case) {
	t.Helper()
	allowed := loopback.AllowedAddrs()
	if c.Address != "" && (len(allowed) != 1 || allowed[0] != netip.MustParseAddr(c.Address)) {
		t.Errorf("dialed %v, want %s", allowed, c.Address)
	}
}

func TestANameThatChangesItsAddressIsCheckedAtTheDial(t *testing.T) {
	rebind := func(t *testing.T, then string) (loopback *outboundtest.LoopbackServer, a event.Attempt) {
		t.Helper()
		loopback = outboundtest.NewLoopbackServer(t)
		dns := outboundtest.DNSRecords{"rebind.example": {"93.184.216.34", then}, "loop.example": {"127.0.0.1"}}
		g := webhook.NewGuard(nil, dns.Resolver(t))
		s := sender(t, g, webhook.Config{})
		webhook.WrapControl(s, g, loopback.GuardDials)
		url := "https://rebind.example:" + loopback.Port + "/hook"
		if err := register(t.Context(), g, url); err != nil {
			t.Fatalf("registration: %v", err)
		}
		return loopback, send(t.Context(), s, url)
	}
	for name, then := range map[string]string{
		"to loopback":               "127.0.0.1",
		"to another name":           "=loop.example",
		"to several inside at once": "127.0.0.1 10.0.0.1 ::1",
	} {
		t.Run(name, func(t *testing.T) {
			loopback, a := rebind(t, then)
			if !strings.Contains(a.Error, "refused: the host leads to") || !strings.Contains(a.Error, "CALLBACK_ALLOWED_NETWORKS") || strings.Contains(a.Error, "127.0.0.1") {
				t.Errorf("answer %+v, want a refusal that shows no address", a)
			}
			if len(loopback.AllowedAddrs()) > 0 || loopback.Connections() > 0 {
				t.Errorf("dialed %v, and %d connections arrived", loopback.AllowedAddrs(), loopback.Connections())
			}
		})
	}
	t.Run("only the public address of several is connected to", func(t *testing.T) {
		loopback, _ := rebind(t, "127.0.0.1 93.184.216.34 ::1")
		if allowed := loopback.AllowedAddrs(); len(allowed) != 1 || allowed[0] != netip.MustParseAddr("93.184.216.34") || loopback.Connections() > 0 {
			t.Errorf("dialed %v, and %d connections arrived", allowed, loopback.Connections())
		}
	})
}
