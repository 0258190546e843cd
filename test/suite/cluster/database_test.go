//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/tcpproxy"
)

// database is a PostgreSQL server on this machine that pods reach. The private
// server of a gateway without DB_DSN listens on a socket only, without a password. A
// TCP port forwards to the socket, for known addresses only.
type database struct {
	server *embedded.Server
	port   *tcpproxy.Proxy
}

var socketDSN = regexp.MustCompile(`^host='([^']*)' port=(\S+) `)

func startDatabase(ctx context.Context, dir, host string, isKnown func(netip.Addr) bool) (*database, error) {
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dir})
	if err != nil {
		return nil, err
	}
	d := &database{server: server}
	socket := socketDSN.FindStringSubmatch(server.DSN())
	if socket == nil {
		return nil, fmt.Errorf("the database does not listen on a socket: %q", server.DSN())
	}
	port, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	d.port = tcpproxy.Start(port, func(from net.Conn) (net.Conn, error) {
		if address := from.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap(); !isKnown(address) {
			logProgress("the database refuses %s, which is neither a pod nor a node (STREAM_MONITOR_POD_NETWORK)", address)
			return nil, net.ErrClosed
		}
		return net.Dial("unix", socket[1]+"/.s.PGSQL."+socket[2])
	})
	return d, nil
}

// dsn is the DB_DSN of pods.
func (d *database) dsn() string {
	host, port, _ := net.SplitHostPort(d.port.Addr().String())
	return fmt.Sprintf("postgres://stream_monitor@%s/postgres?sslmode=disable", net.JoinHostPort(host, port))
}

func (d *database) close() error {
	d.port.Close()
	return d.server.Stop(context.Background())
}
