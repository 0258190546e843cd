package gateway_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
)

// dead is an address that answers nobody, like one whose node is gone: the only
// connection that waits there to be accepted leaves no room for another.
func dead(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var shrunk error
	if err := raw.Control(func(fd uintptr) { shrunk = syscall.Listen(int(fd), 0) }); err != nil || shrunk != nil {
		t.Fatal(err, shrunk)
	}
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return listener.Addr().String()
}

func TestADeadAddressDoesNotCostAWholeTry(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := client(t, "http://"+dead(t), gateway.Config{Timeout: time.Minute, ConnectTimeout: 20 * time.Millisecond}).Report(ctx, anID, report(0))
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" || !dial.Timeout() || ctx.Err() != nil {
		t.Errorf("error is %v", err)
	}
}
