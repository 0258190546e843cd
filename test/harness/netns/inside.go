//go:build linux

package netns

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ready comes with the sockets; anything else is what went wrong.
const ready = "ready"

// A test binary that is run again by Start must not begin with its tests.
func init() { //nolint:gochecknoinits // before any test's own main, which need not know
	task, again := os.LookupEnv(variable)
	if !again {
		return
	}
	_ = os.Unsetenv(variable)
	err := obey(task)
	_ = unix.Sendmsg(inherited, []byte(err.Error()), nil, nil, 0)
	os.Exit(1)
}

// obey does what is ordered and becomes the program. It returns only an error.
func obey(task string) error {
	unix.CloseOnExec(inherited)
	var o order
	if err := json.Unmarshal([]byte(task), &o); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	if err := network(o.Addresses); err != nil {
		return err
	}
	if err := cover(o.Files); err != nil {
		return err
	}
	sockets, err := listen(o.Config)
	if err != nil {
		return err
	}
	var fds []int
	for _, f := range sockets {
		fds = append(fds, int(f.Fd()))
	}
	if err := unix.Sendmsg(inherited, []byte(ready), unix.UnixRights(fds...), nil, 0); err != nil {
		return fmt.Errorf("pass the sockets on: %w", err)
	}
	return fmt.Errorf("run %s: %w", o.Path, syscall.Exec(o.Path, o.Args, os.Environ()))
}

// network brings the loopback interface up and gives it addresses, each under
// an alias of the interface (netdevice(7)).
func network(addresses []netip.Addr) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer func() { _ = unix.Close(s) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("interface: %w", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	for i, a := range addresses {
		alias, err := unix.NewIfreq(fmt.Sprintf("lo:%d", i))
		if err == nil {
			four := a.As4()
			err = alias.SetInet4Addr(four[:])
		}
		if err == nil {
			err = unix.IoctlIfreq(s, unix.SIOCSIFADDR, alias)
		}
		if err != nil {
			return fmt.Errorf("address %s: %w", a, err)
		}
	}
	return nil
}

// cover mounts contents over files. The files that hold them stay behind in a
// directory that only these mounts have.
func cover(files map[string]string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if len(files) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "netspace-")
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a mount keeps what it shows
	for path, content := range files {
		source, err := os.CreateTemp(dir, "")
		if err != nil {
			return fmt.Errorf("files: %w", err)
		}
		_, err = source.WriteString(content)
		if err == nil {
			err = source.Chmod(0o644)
		}
		_ = source.Close()
		if err == nil {
			err = unix.Mount(source.Name(), path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("put a file over %s: %w", path, err)
		}
	}
	return nil
}

// listen makes the sockets, those of TCP first.
func listen(c Config) (sockets []*os.File, err error) {
	for _, a := range c.TCP {
		l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(a))
		if err != nil {
			return nil, err
		}
		f, err := l.File()
		if err != nil {
			return nil, err
		}
		sockets = append(sockets, f)
	}
	for _, a := range c.UDP {
		p, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(a))
		if err != nil {
			return nil, err
		}
		f, err := p.File()
		if err != nil {
			return nil, err
		}
		sockets = append(sockets, f)
	}
	return sockets, nil
}
