package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// port only names the socket: nothing listens on it.
	port = "5432"

	// maxSocketPath is the longest path of a unix socket, in bytes, that Linux
	// takes (unix(7): 108 with the final zero); elsewhere it is 103.
	maxSocketPath = 103
)

// socket is where the server listens.
type socket struct {
	dir     string // for clients
	forPG   string // for the server, which has its own way to its directory
	scratch string // to be removed afterwards; empty: none
}

// place puts the socket into the cluster, where only its owner and root can
// reach it, or, when clients could not use that path, into a short directory of
// the same kind.
func place(c cluster) (socket, error) {
	if usable(c.dir) {
		return socket{dir: c.dir, forPG: "."}, nil // relative to the cluster
	}
	dir, err := os.MkdirTemp("", "stream-monitor-")
	if err == nil && !usable(dir) {
		_ = os.Remove(dir)
		dir, err = os.MkdirTemp("/tmp", "stream-monitor-")
	}
	if err != nil {
		return socket{}, fmt.Errorf("make a directory for the socket: %w", err)
	}
	s := socket{dir: dir, forPG: `"` + dir + `"`, scratch: dir}
	f, err := os.Open(dir)
	if err == nil {
		err = c.who.own(f)
		_ = f.Close()
	}
	if err != nil {
		s.remove()
		return socket{}, fmt.Errorf("give %s to user %d: %w", dir, c.who.uid(), err)
	}
	return s, nil
}

// usable tells whether clients can reach a socket in dir: a comma would
// separate two hosts.
func usable(dir string) bool {
	return len(filepath.Join(dir, ".s.PGSQL."+port)) <= maxSocketPath && !strings.Contains(dir, ",")
}

// remove takes away what place made. A directory that is not there is no
// error, and one that stays behind is empty and harmless.
func (s socket) remove() {
	if s.scratch != "" {
		_ = os.RemoveAll(s.scratch)
	}
}
