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
	t.Run("a name that does not exist", func(t *testing.T) {
		g := webhook.NewGuard(nil, outboundtest.DNSRecords{}.Resolver(t))
		a := send(t.Context(), sender(t, g, webhook.Config{}), "https://gone.example/hook?token=geheim")
		if a.Error != `the host "gone.example" has no address` {
			t.Errorf("answer %+v", a)
		}
	})

	t.Run("a name server that fails", func(t *testing.T) {
		broken := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("dial udp 10.9.8.7:53: unreachable")
		}}
		a := send(t.Context(), sender(t, webhook.NewGuard(nil, broken), webhook.Config{}), "https://far.example/hook")
		if a.Error != `the host "far.example" could not be looked up` {
			t.Errorf("answer %+v", a)
		}
	})
}
