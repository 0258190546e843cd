package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// port is part of the socket's name; no TCP port is opened.
	port = "5432"

	// maxSocketPath is the longest path of a unix socket that all systems accept,
	// in bytes; Linux accepts 107 (unix(7)).
	maxSocketPath = 103
)

// socket says where the server listens.
type socket struct {
	dir       string // for clients
	serverDir string // for the server, relative to the cluster
	tempDir   string // removed when the server has ended; empty: none
}

// chooseSocket puts the socket into the cluster, where only its owner and root have
// access. If clients cannot use that path, it makes a temporary directory with the
// same access.
func chooseSocket(c cluster) (socket, error) {
	if fits(c.dir) {
		return socket{dir: c.dir, serverDir: "."}, nil // relative to the cluster
	}
	dir, err := os.MkdirTemp("", "stream-monitor-")
	if err == nil && !fits(dir) {
		_ = os.Remove(dir)
		dir, err = os.MkdirTemp("/tmp", "stream-monitor-")
	}
	if err != nil {
		return socket{}, fmt.Errorf("make a directory for the socket: %w", err)
	}
	s := socket{dir: dir, serverDir: `"` + dir + `"`, tempDir: dir}
	f, err := os.Open(dir)
	if err == nil {
		err = c.user.chown(f)
		_ = f.Close()
	}
	if err != nil {
		s.remove()
		return socket{}, fmt.Errorf("give %s to user %d: %w", dir, c.user.uid(), err)
	}
	return s, nil
}

// fits reports whether clients can use a socket in dir: its path must be short, and
// a comma would separate two hosts in the DSN.
func fits(dir string) bool {
	return len(filepath.Join(dir, ".s.PGSQL."+port)) <= maxSocketPath && !strings.Contains(dir, ",")
}

// remove removes the temporary directory, if there is one. A failure leaves an empty
// directory behind.
func (s socket) remove() {
	if s.tempDir != "" {
		_ = os.RemoveAll(s.tempDir)
	}
}
