// Package pgpair runs two PostgreSQL servers, one a standby of the other, behind an address
// that leads to either of them, as the address of a cluster does.
//
//	client ──▶ Addr ──┬──▶ servers[0]  primary
//	                  └──▶ servers[1]  standby, until Switch
package pgpair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/tcpproxy"
)

// Pair is a primary and its standby. It runs until Close.
type Pair struct {
	dir        string
	credential *syscall.Credential // of the servers; nil: this process's user
	ports      [2]string
	proxy      *tcpproxy.Proxy
	poolers    []*exec.Cmd

	route  atomic.Int64 // index of the server that the next connection reaches, or inTurn
	served atomic.Int64 // connections so far
}

// inTurn leads connections to both servers in turn.
const inTurn = -1

// Start makes a primary in dir and a standby that has all that it has.
func Start(ctx context.Context, dir string) (p *Pair, err error) {
	p = &Pair{dir: dir}
	if err := p.chooseUser(); err != nil {
		return nil, err
	}
	for i := range p.ports {
		if p.ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.proxy = tcpproxy.Start(listener, p.connect)
	err = p.run(ctx, "initdb", "-D", p.data(0), "-U", "postgres", "--auth=trust", "--no-sync")
	if err == nil {
		err = p.start(ctx, 0)
	}
	if err == nil {
		err = p.copy(ctx, 0, 1)
	}
	if err == nil {
		err = p.start(ctx, 1)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// DSN is the DSN of the address that Switch and Settle move.
func (p *Pair) DSN() string {
	return dsnOf(strconv.Itoa(p.proxy.Addr().Port))
}

// ServerDSN is the DSN of one server, 0 or 1.
func (p *Pair) ServerDSN(i int) string { return dsnOf(p.ports[i]) }

func dsnOf(port string) string {
	return "host=127.0.0.1 port=" + port + " user=postgres dbname=postgres sslmode=disable"
}

// Switch moves the service in good order: the primary stops when its standby has all that
// it has, the standby is promoted, and the old primary comes back as its standby. From its
// end on, connections reach both in turn until Settle.
func (p *Pair) Switch(ctx context.Context) error {
	if err := p.ctl(ctx, 0, "stop", "-m", "fast"); err != nil {
		return err
	}
	p.route.Store(inTurn)
	if err := p.ctl(ctx, 1, "promote"); err != nil {
		return err
	}
	if err := p.follow(0, 1); err != nil {
		return err
	}
	return p.start(ctx, 0)
}

// Settle leads all further connections to the new primary.
func (p *Pair) Settle() { p.route.Store(1) }

// Close stops both servers.
func (p *Pair) Close() {
	ctx := context.Background()
	for _, pooler := range p.poolers {
		_ = pooler.Process.Kill() // it may have ended
		_ = pooler.Wait()
	}
	for i := range p.ports {
		_ = p.ctl(ctx, i, "stop", "-m", "immediate") // it may not run
	}
	p.proxy.Close()
}

func (p *Pair) data(i int) string { return filepath.Join(p.dir, "server"+strconv.Itoa(i)) }

// copy makes a standby of a server from its files.
func (p *Pair) copy(ctx context.Context, from, to int) error {
	err := p.run(ctx, "pg_basebackup", "-D", p.data(to), "-d", p.ServerDSN(from), "--checkpoint=fast", "--no-sync")
	if err != nil {
		return err
	}
	return p.follow(to, from)
}

// follow makes a stopped server a standby of another one at its next start.
func (p *Pair) follow(i, primary int) error {
	name := filepath.Join(p.data(i), "standby.signal")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	conf, err := os.OpenFile(filepath.Join(p.data(i), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conf, "primary_conninfo = '%s'\nrecovery_target_timeline = 'latest'\n", p.ServerDSN(primary))
	err = errors.Join(err, conf.Close())
	if p.credential != nil {
		err = errors.Join(err, os.Chown(name, int(p.credential.Uid), int(p.credential.Gid)))
	}
	return err
}

func (p *Pair) start(ctx context.Context, i int) error {
	options := fmt.Sprintf("-p %s -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c shared_buffers=16MB -c jit=off", p.ports[i])
	return p.ctl(ctx, i, "start", "-l", filepath.Join(p.dir, "log"+strconv.Itoa(i)), "-o", options)
}

func (p *Pair) ctl(ctx context.Context, i int, action string, args ...string) error {
	return p.run(ctx, "pg_ctl", append([]string{action, "-w", "-D", p.data(i)}, args...)...)
}

// run runs a program of PostgreSQL as the user of the servers.
func (p *Pair) run(ctx context.Context, program string, args ...string) error {
	path, err := find(program, "/usr/lib/postgresql/*/bin/"+program)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, nil, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential, Setpgid: true}
	if program == "pg_ctl" {
		cmd.Stderr = nil // the server keeps it open
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out.Bytes())
	}
	return nil
}

// find returns the path of a program in PATH, or where Debian puts it outside of PATH.
func find(program, outside string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	found, _ := filepath.Glob(outside)
	if len(found) == 0 {
		return "", fmt.Errorf(`%s is not installed ("make tools" installs it): %w`, program, err)
	}
	return found[len(found)-1], nil
}

// chooseUser takes the user postgres if this process is root, which no server runs as.
func (p *Pair) chooseUser() error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, errU := strconv.ParseUint(u.Uid, 10, 32)
	gid, errG := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(errU, errG); err != nil {
		return err
	}
	p.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(p.dir, int(uid), int(gid))
}

// connect connects a client with the server that it is led to.
func (p *Pair) connect(net.Conn) (net.Conn, error) {
	to := p.route.Load()
	if to == inTurn {
		to = p.served.Add(1) % 2
	}
	return net.Dial("tcp", net.JoinHostPort("127.0.0.1", p.ports[to]))
}

// freePort returns a port for a server that is started later, or again.
func freePort() (string, error) {
	address, err := loopback.FreeAddress()
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(address)
	return port, err
}

// Pool starts a PgBouncer in a pool_mode, with the settings that Debian gives it, before the
// primary, and returns its DSN. It runs until Close.
func (p *Pair) Pool(ctx context.Context, mode string) (dsn string, err error) {
	path, err := find("pgbouncer", "/usr/sbin/pgbouncer")
	if err != nil {
		return "", err
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	file := filepath.Join(p.dir, mode+".ini")
	settings := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%s user=postgres\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%s\nunix_socket_dir=\nauth_type=any\npool_mode=%s\n",
		p.ports[0], port, mode)
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command(path, "--quiet", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	p.poolers = append(p.poolers, cmd)
	return dsnOf(port), nil
}
