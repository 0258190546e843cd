//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"sync"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
)

// database is a PostgreSQL server on this machine that pods reach. The private
// server of a gateway without DB_DSN listens on a socket only, without a password. A
// TCP port forwards to the socket, for known addresses only.
type database struct {
	server  *embedded.Server
	port    net.Listener
	isKnown func(netip.Addr) bool
	serving sync.WaitGroup
}

var socketDSN = regexp.MustCompile(`^host='([^']*)' port=(\S+) `)

func startDatabase(ctx context.Context, dir, host string, isKnown func(netip.Addr) bool) (*database, error) {
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dir})
	if err != nil {
		return nil, err
	}
	d := &database{server: server, isKnown: isKnown}
	socket := socketDSN.FindStringSubmatch(server.DSN())
	if socket == nil {
		return nil, fmt.Errorf("the database does not listen on a socket: %q", server.DSN())
	}
	if d.port, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
		return nil, err
	}
	d.serving.Go(func() { d.serve(socket[1] + "/.s.PGSQL." + socket[2]) })
	return d, nil
}

func (d *database) serve(socket string) {
	for {
		from, err := d.port.Accept()
		if err != nil {
			return
		}
		if address := from.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap(); !d.isKnown(address) {
			logProgress("the database refuses %s, which is neither a pod nor a node (STREAM_MONITOR_POD_NETWORK)", address)
			_ = from.Close()
			continue
		}
		to, err := net.Dial("unix", socket)
		if err != nil {
			_ = from.Close()
			continue
		}
		forward := func(a, b net.Conn) {
			_, _ = io.Copy(a, b)
			_, _ = a.Close(), b.Close()
		}
		d.serving.Go(func() { forward(from, to) })
		d.serving.Go(func() { forward(to, from) })
	}
}

// dsn is the DB_DSN of pods.
func (d *database) dsn() string {
	host, port, _ := net.SplitHostPort(d.port.Addr().String())
	return fmt.Sprintf("postgres://stream_monitor@%s/postgres?sslmode=disable", net.JoinHostPort(host, port))
}

func (d *database) close() error {
	_ = d.port.Close()
	err := d.server.Stop(context.Background()) // closes the connections
	d.serving.Wait()
	return err
}
