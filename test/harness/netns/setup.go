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

// ready is the message that carries the sockets. Any other message is an error.
const ready = "ready"

// The test binary that Start runs again must not run its tests.
func init() { //nolint:gochecknoinits // must run before TestMain
	encoded, again := os.LookupEnv(variable)
	if !again {
		return
	}
	_ = os.Unsetenv(variable)
	err := setUp(encoded)
	_ = unix.Sendmsg(inherited, []byte(err.Error()), nil, nil, 0)
	os.Exit(1)
}

// setUp sets up the namespaces and becomes the program. It returns only an error.
func setUp(encoded string) error {
	unix.CloseOnExec(inherited)
	var s spec
	if err := json.Unmarshal([]byte(encoded), &s); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if err := configureLoopback(s.Addresses); err != nil {
		return err
	}
	if err := replaceFiles(s.Files); err != nil {
		return err
	}
	sockets, err := listen(s.Config)
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
	return fmt.Errorf("run %s: %w", s.Path, syscall.Exec(s.Path, s.Args, os.Environ()))
}

// configureLoopback brings the loopback interface up and adds the addresses, each
// under an alias of the interface (netdevice(7)).
func configureLoopback(addresses []netip.Addr) error {
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

// replaceFiles mounts other contents over existing files, in this mount namespace.
func replaceFiles(files map[string]string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if len(files) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "netns-")
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the mounts keep the files
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

// listen opens the sockets, first those of TCP.
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
