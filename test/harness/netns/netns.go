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

// Config describes the namespace of a program.
type Config struct {
	Addresses []netip.Addr      // IPv4 addresses of the loopback interface, in addition to 127.0.0.1
	TCP       []netip.AddrPort  // addresses to listen on
	UDP       []netip.AddrPort  // addresses to listen on
	Files     map[string]string // replaced contents of existing files, by path
}

// Namespace is a network namespace with a running program.
type Namespace struct {
	Listeners []net.Listener   // of Config.TCP, in its order; the caller closes them
	Packets   []net.PacketConn // of Config.UDP, in its order; the caller closes them
}

// variable carries the spec to the test binary that runs again.
const variable = "STREAM_MONITOR_NETNS"

// spec describes the namespaces and the program.
type spec struct {
	Config
	Path string   // of the program
	Args []string // with its name
}

var errNoProgram = errors.New("the program could not be started")

// inherited is the descriptor of the socket to the test process.
const inherited = 3

// Start starts cmd in a network namespace of its own and blocks until the program
// runs. cmd must have neither ExtraFiles nor SysProcAttr. The error also covers the
// setup inside the namespaces.
func Start(cmd *exec.Cmd, c Config) (*Namespace, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	encoded, err := json.Marshal(spec{c, cmd.Path, cmd.Args})
	if err != nil {
		return nil, fmt.Errorf("netns: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("netns: socket pair: %w", err)
	}
	parentSocket, childSocket := os.NewFile(uintptr(pair[0]), "netns"), os.NewFile(uintptr(pair[1]), "netns")
	defer parentSocket.Close()
	defer childSocket.Close()

	cmd.Path = "/proc/self/exe"
	cmd.Env = append(cmd.Environ(), variable+"="+string(encoded))
	cmd.ExtraFiles = []*os.File{childSocket}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("netns: %w; this machine forbids user namespaces: "+
			"user.max_user_namespaces must not be 0, kernel.unprivileged_userns_clone must be 1 where there is one, "+
			"kernel.apparmor_restrict_unprivileged_userns 0, and a container's seccomp profile must allow clone and mount", err)
	}
	_ = childSocket.Close() // or the end of the subprocess would go unnoticed
	s, err := receive(pair[0], c)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return s, nil
}

// receive receives the sockets, or the error of the setup.
func receive(fd int, c Config) (*Namespace, error) {
	text, rights := make([]byte, 4<<10), make([]byte, unix.CmsgSpace(4*(len(c.TCP)+len(c.UDP))))
	n, m, _, _, err := unix.Recvmsg(fd, text, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("netns: receive the sockets: %w", err)
	}
	if string(text[:n]) != ready {
		return nil, fmt.Errorf("netns: inside the namespaces: %s", text[:n])
	}
	sockets, err := passedFiles(rights[:m])
	if err != nil {
		return nil, fmt.Errorf("netns: receive the sockets: %w", err)
	}
	defer func() {
		for _, f := range sockets {
			_ = f.Close() // the listener has a copy
		}
	}()
	// The subprocess closes its end when it becomes the program.
	if n, _, err = unix.Recvfrom(fd, text, 0); err != nil || n > 0 {
		return nil, fmt.Errorf("netns: inside the namespaces: %s: %w", text[:n], errors.Join(err, errNoProgram))
	}
	return open(sockets, len(c.TCP))
}

// open makes a Namespace of its sockets. The first tcp sockets are listeners.
func open(sockets []*os.File, tcp int) (*Namespace, error) {
	s := &Namespace{}
	for i, f := range sockets {
		if i < tcp {
			l, err := net.FileListener(f)
			if err != nil {
				return nil, fmt.Errorf("netns: socket: %w", err)
			}
			s.Listeners = append(s.Listeners, l)
			continue
		}
		p, err := net.FilePacketConn(f)
		if err != nil {
			return nil, fmt.Errorf("netns: socket: %w", err)
		}
		s.Packets = append(s.Packets, p)
	}
	return s, nil
}

// passedFiles returns the files in the control data of a message.
func passedFiles(control []byte) (files []*os.File, err error) {
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
