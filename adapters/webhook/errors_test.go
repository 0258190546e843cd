package webhook_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
)

func TestErrorsDoNotNameTheNameServer(t *testing.T) {
	for want, resolver := range map[string]*net.Resolver{
		`the host "far.example" has no address`: outboundtest.DNSRecords{}.Resolver(t),
		`the host "far.example" could not be looked up`: {PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("dial udp 10.9.8.7:53: unreachable")
		}},
	} {
		a := send(t.Context(), sender(t, webhook.NewGuard(nil, resolver), webhook.Config{}), "https://far.example/hook?token=geheim")
		if a.Error != want {
			t.Errorf("error %q, want %q", a.Error, want)
		}
	}
}
