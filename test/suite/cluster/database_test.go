//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
)

// database is a PostgreSQL of this machine that pods reach: the one that a
// gateway without DB_DSN has, which listens at a socket only and wants no
// password, and a port that leads there, for those alone who are known.
type database struct {
	server  *embedded.Server
	port    net.Listener
	known   func(netip.Addr) bool
	serving sync.WaitGroup
}

var socketOf = regexp.MustCompile(`^host='([^']*)' port=(\S+) `)

func startDatabase(ctx context.Context, dir, host string, known func(netip.Addr) bool) (*database, error) {
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dir})
	if err != nil {
		return nil, err
	}
	d := &database{server: server, known: known}
	at := socketOf.FindStringSubmatch(server.DSN())
	if at == nil {
		return nil, fmt.Errorf("the database is at %q", server.DSN())
	}
	if d.port, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
		return nil, err
	}
	d.serving.Go(func() { d.serve(at[1] + "/.s.PGSQL." + at[2]) })
	return d, nil
}

func (d *database) serve(socket string) {
	for {
		from, err := d.port.Accept()
		if err != nil {
			return
		}
		if at := from.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap(); !d.known(at) {
			say("the database refuses %s, which is neither a pod nor a node (STREAM_MONITOR_POD_NETWORK)", at)
			_ = from.Close()
			continue
		}
		to, err := net.Dial("unix", socket)
		if err != nil {
			_ = from.Close()
			continue
		}
		join := func(a, b net.Conn) {
			_, _ = io.Copy(a, b)
			_, _ = a.Close(), b.Close()
		}
		d.serving.Go(func() { join(from, to) })
		d.serving.Go(func() { join(to, from) })
	}
}

// dsn is how pods connect.
func (d *database) dsn() string {
	host, port, _ := net.SplitHostPort(d.port.Addr().String())
	return fmt.Sprintf("postgres://stream_monitor@%s/postgres?sslmode=disable", net.JoinHostPort(host, port))
}

func (d *database) close() error {
	_ = d.port.Close()
	err := d.server.Stop(context.Background()) // which ends the connections
	d.serving.Wait()
	return err
}

func TestTheDatabaseIsNotForStrangers(t *testing.T) {
	dir := t.TempDir()
	for at := dir; at != os.TempDir(); at = filepath.Dir(at) { // it runs as another user than root
		must(t, os.Chmod(at, 0o755))
	}
	s := &site{pods: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	d, err := startDatabase(t.Context(), filepath.Join(dir, "data"), "127.0.0.1", s.knows)
	must(t, err)
	defer func() { must(t, d.close()) }()
	asked := func() string {
		c, err := net.Dial("tcp", d.port.Addr().String())
		must(t, err)
		defer c.Close()
		must(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		_, _ = c.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}) // may we speak TLS?
		answer, _ := io.ReadAll(io.LimitReader(c, 1))
		return string(answer)
	}
	if got := asked(); got != "" {
		t.Errorf("a stranger was answered %q", got)
	}
	s.pods = append(s.pods, netip.MustParsePrefix("127.0.0.0/8"))
	if got := asked(); got != "N" {
		t.Errorf("a pod was answered %q", got)
	}
}
