package dns_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/dns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server and returns a resolver of the Go library that uses it.
func start(t *testing.T) (*dns.Server, *net.Resolver) {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := dns.Serve(socket, map[string]netip.Addr{"example.com": netip.MustParseAddr("192.0.2.7")})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

func TestAHostOfAKnownDomainHasItsAddress(t *testing.T) {
	s, r := start(t)
	for _, host := range []string{"example.com.", "www.example.com.", "A.B.Example.COM."} {
		got, err := r.LookupHost(t.Context(), host)
		if err != nil || len(got) != 1 || got[0] != "192.0.2.7" {
			t.Errorf("%s resolves to %v, %v", host, got, err)
		}
	}
	for _, host := range []string{"example.org.", "com.", "badexample.com."} {
		got, err := r.LookupHost(t.Context(), host)
		if failed := dnsError(err); failed == nil || !failed.IsNotFound {
			t.Errorf("%s resolves to %v, %v; want NXDOMAIN", host, got, err)
		}
	}
	if q := s.Queries(); len(q) < 6 || q[0].Host != "example.com" || q[0].Mode != dns.Answering || q[0].At.IsZero() {
		t.Errorf("queries %v", q)
	}
}

func TestAModeDecidesTheAnswer(t *testing.T) {
	s, r := start(t)
	for mode, c := range map[dns.Mode]struct {
		limit time.Duration // of the answer
		want  func(*net.DNSError) bool
	}{
		dns.Silent:  {200 * time.Millisecond, func(e *net.DNSError) bool { return e.IsTimeout }},
		dns.Failing: {time.Minute, func(e *net.DNSError) bool { return e.IsTemporary && !e.IsTimeout && !e.IsNotFound }},
		dns.Denying: {time.Minute, func(e *net.DNSError) bool { return e.IsNotFound }},
	} {
		s.Set(mode)
		ctx, cancel := context.WithTimeout(t.Context(), c.limit)
		got, err := r.LookupHost(ctx, "example.com.")
		cancel()
		if failed := dnsError(err); failed == nil || !c.want(failed) {
			t.Errorf("mode %d: %v, %v", mode, got, err)
		}
		s.Set(dns.Answering)
		if _, err := r.LookupHost(t.Context(), "example.com."); err != nil {
			t.Errorf("after mode %d: %v", mode, err)
		}
	}
}

func TestAMalformedMessageIsIgnored(t *testing.T) {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := dns.Serve(socket, nil)
	defer s.Close()
	conn, err := net.Dial("udp", socket.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	question := []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01x\x00\x00\x01\x00\x01") // for an address of "x"
	for n := range question {
		if _, err := conn.Write(question[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write(question); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	reply := make([]byte, 512)
	n, err := conn.Read(reply)
	if err != nil || n < 12 || reply[0] != 0x12 || reply[3]&0xf != 3 {
		t.Errorf("the first answer is % x, %v; want NXDOMAIN", reply[:n], err)
	}
}

func dnsError(err error) *net.DNSError {
	var failed *net.DNSError
	errors.As(err, &failed)
	return failed
}
