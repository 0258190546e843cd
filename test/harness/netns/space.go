//go:build linux

package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Config is what a program finds on its network.
type Config struct {
	Addresses []netip.Addr      // IPv4 addresses of the loopback interface, beside 127.0.0.1
	TCP       []netip.AddrPort  // listened on
	UDP       []netip.AddrPort  // likewise
	Files     map[string]string // contents that existing files have there, by path
}

// Space is a network with its program, which has been started.
type Space struct {
	Listeners []net.Listener   // of Config.TCP, in its order; the caller's to close
	Packets   []net.PacketConn // of Config.UDP, likewise
}

// variable carries an order to the test binary that runs again.
const variable = "STREAM_MONITOR_NETSPACE"

// order is what is to be done within the namespaces.
type order struct {
	Config
	Path string   // of the program
	Args []string // with its name
}

var errNoProgram = errors.New("the program could not be started")

// inherited is the descriptor of the socket to the test process there.
const inherited = 3

// Start starts cmd on a network of its own, as exec.Cmd.Start does otherwise,
// and blocks until the program runs. cmd must have neither ExtraFiles nor
// SysProcAttr. Error: also what went wrong within.
func Start(cmd *exec.Cmd, c Config) (*Space, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	task, err := json.Marshal(order{c, cmd.Path, cmd.Args})
	if err != nil {
		return nil, fmt.Errorf("netspace: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("netspace: socket pair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "netspace"), os.NewFile(uintptr(pair[1]), "netspace")
	defer ours.Close()
	defer theirs.Close()

	cmd.Path = "/proc/self/exe"
	cmd.Env = append(cmd.Environ(), variable+"="+string(task))
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("netspace: %w; this machine forbids user namespaces: "+
			"user.max_user_namespaces must not be 0, kernel.unprivileged_userns_clone must be 1 where there is one, "+
			"kernel.apparmor_restrict_unprivileged_userns 0, and a container's seccomp profile must allow clone and mount", err)
	}
	_ = theirs.Close() // so that its end is noticed
	s, err := receive(pair[0], c)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return s, nil
}

// receive takes the sockets over, or hears what went wrong.
func receive(fd int, c Config) (*Space, error) {
	text, rights := make([]byte, 4<<10), make([]byte, unix.CmsgSpace(4*(len(c.TCP)+len(c.UDP))))
	n, m, _, _, err := unix.Recvmsg(fd, text, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("netspace: receive the sockets: %w", err)
	}
	if string(text[:n]) != ready {
		return nil, fmt.Errorf("netspace: within the namespaces: %s", text[:n])
	}
	sockets, err := passed(rights[:m])
	if err != nil {
		return nil, fmt.Errorf("netspace: receive the sockets: %w", err)
	}
	defer func() {
		for _, f := range sockets {
			_ = f.Close() // what was made of it is a copy
		}
	}()
	// The other end is closed when the program is there.
	if n, _, err = unix.Recvfrom(fd, text, 0); err != nil || n > 0 {
		return nil, fmt.Errorf("netspace: within the namespaces: %s: %w", text[:n], errors.Join(err, errNoProgram))
	}
	return open(sockets, len(c.TCP))
}

// open makes a Space of sockets, of which the first streams are those of TCP.
func open(sockets []*os.File, streams int) (*Space, error) {
	s := &Space{}
	for i, f := range sockets {
		if i < streams {
			l, err := net.FileListener(f)
			if err != nil {
				return nil, fmt.Errorf("netspace: socket: %w", err)
			}
			s.Listeners = append(s.Listeners, l)
			continue
		}
		p, err := net.FilePacketConn(f)
		if err != nil {
			return nil, fmt.Errorf("netspace: socket: %w", err)
		}
		s.Packets = append(s.Packets, p)
	}
	return s, nil
}

// passed is the files in a message's control data.
func passed(control []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "socket"))
		}
	}
	return files, nil
}
