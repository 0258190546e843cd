//go:build linux

package netns_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/harness/netns"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "dial" { // this process is the program
		os.Exit(dial(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// dial prints what a server sends.
func dial(address string) int {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
		return 1
	}
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}

var public = netip.MustParseAddr("142.250.1.1")

func TestAProgramHasItsOwnNetwork(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "dial", "142.250.1.1:443")
	cmd.Stdout = &out
	s, err := netns.Start(cmd, netns.Config{
		Addresses: []netip.Addr{public},
		TCP:       []netip.AddrPort{netip.AddrPortFrom(public, 443)},
		UDP:       []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53")},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Listeners[0].(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
	conn, err := s.Listeners[0].Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "served from the test's own process")
	_ = conn.Close()
	if err := cmd.Wait(); err != nil || out.String() != "served from the test's own process" {
		t.Errorf("the program ended with %v and printed %q", err, &out)
	}
	if got := s.Packets[0].LocalAddr().String(); got != "127.0.0.1:53" {
		t.Errorf("the second socket is at %s", got)
	}
	_, _ = s.Listeners[0].Close(), s.Packets[0].Close()
}

func TestOtherAddressesAreUnreachable(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "dial", "192.0.2.1:443")
	cmd.Stdout = &out
	if _, err := netns.Start(cmd, netns.Config{}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "unreachable") {
		t.Errorf("the program ended with %v and printed %q", err, &out)
	}
}

func TestFilesAreReplacedInsideTheNamespaceOnly(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // other processes have files in the common one
	before, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "cat", "/etc/resolv.conf")
	cmd.Stdout = &out
	if _, err := netns.Start(cmd, netns.Config{Files: map[string]string{"/etc/resolv.conf": "nameserver 127.0.0.1\n"}}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || out.String() != "nameserver 127.0.0.1\n" {
		t.Errorf("the program ended with %v and printed %q", err, &out)
	}
	if after, _ := os.ReadFile("/etc/resolv.conf"); !bytes.Equal(before, after) {
		t.Error("the file of the machine has changed")
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

func TestAnErrorInsideTheNamespacesIsReturned(t *testing.T) {
	for _, c := range []struct {
		program string
		config  netns.Config
		detail  string
	}{
		{"true", netns.Config{TCP: []netip.AddrPort{netip.AddrPortFrom(public, 443)}}, "142.250.1.1:443"},
		{"true", netns.Config{Files: map[string]string{"/etc/nonexistent": ""}}, "put a file over /etc/nonexistent"},
		{"/nowhere/program", netns.Config{}, "run /nowhere/program"},
	} {
		_, err := netns.Start(exec.CommandContext(t.Context(), c.program), c.config)
		if err == nil || !strings.Contains(err.Error(), c.detail) {
			t.Errorf("%q is not in the error: %v", c.detail, err)
		}
	}
	if _, err := netns.Start(exec.CommandContext(t.Context(), "no-such-program"), netns.Config{}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that cannot be found: %v", err)
	}
}
