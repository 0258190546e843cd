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

// unresponsiveAddress returns an address that does not answer a SYN, like one whose node
// is gone. One waiting connection fills the backlog of its listener.
func unresponsiveAddress(t *testing.T) string {
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
	var listenErr error
	if err := raw.Control(func(fd uintptr) { listenErr = syscall.Listen(int(fd), 0) }); err != nil || listenErr != nil {
		t.Fatal(err, listenErr)
	}
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return listener.Addr().String()
}

func TestAnUnresponsiveAddressFailsAfterTheConnectTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := client(t, "http://"+unresponsiveAddress(t), gateway.Config{Timeout: time.Minute, ConnectTimeout: 20 * time.Millisecond}).Report(ctx, monitorID, report(0))
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" || !dial.Timeout() || ctx.Err() != nil {
		t.Errorf("error is %v", err)
	}
}
