package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// defaultUsers are who the server becomes when started as root and nothing
// else is said, in this order.
var defaultUsers = []string{"postgres", "nobody"}

// identity is who the server runs as. The zero value is this process's own
// user.
type identity struct {
	other *syscall.Credential // nil: this process's own
}

// dropped tells whether that is another user than this process's.
func (id identity) dropped() bool { return id.other != nil }

func (id identity) uid() int {
	if id.dropped() {
		return int(id.other.Uid)
	}
	return os.Geteuid()
}

// identify decides who runs the server on the cluster at dir, or on a new one
// when dir is empty: this process's own user, unless that is root.
func identify(dir, name string) (identity, error) {
	owner, err := ownerOf(dir)
	if err != nil {
		return identity{}, err
	}
	if self := os.Geteuid(); self != 0 {
		if owner != nil && int(owner.Uid) != self {
			return identity{}, fmt.Errorf("%s belongs to user %d, and this process runs as user %d: run it as that user, or choose another DATA_DIR", dir, owner.Uid, self)
		}
		return identity{}, nil
	}
	if owner != nil {
		if owner.Uid == 0 {
			return identity{}, fmt.Errorf("%s belongs to root, and PostgreSQL does not run as root: give the directory, with all that is in it, to another user, or choose another DATA_DIR", dir)
		}
		return identity{owner}, nil
	}
	names := defaultUsers
	if name != "" {
		names = []string{name}
	}
	for _, n := range names {
		u, err := user.Lookup(n)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(errU, errG); err != nil {
			return identity{}, fmt.Errorf("user %s: %w", n, err)
		}
		if uid == 0 {
			return identity{}, fmt.Errorf("user %s is root: PostgreSQL does not run as root", n)
		}
		return identity{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return identity{}, fmt.Errorf("PostgreSQL does not run as root, and none of the users %v exists: create one, run this as an ordinary user, or set DB_DSN", names)
}

// attributes make a child process run as id, in a process group of its own so
// that a Ctrl-C meant for the gateway does not reach it first.
func (id identity) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: id.other}
}

// own gives a file that this process has made to id.
func (id identity) own(f *os.File) error {
	if !id.dropped() {
		return nil
	}
	return f.Chown(int(id.other.Uid), int(id.other.Gid))
}

// ownerOf is who a directory belongs to; nil when dir is empty.
func ownerOf(dir string) (*syscall.Credential, error) {
	if dir == "" {
		return nil, nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, fmt.Errorf("%s: this system does not tell whom it belongs to", dir)
	}
	return &syscall.Credential{Uid: st.Uid, Gid: st.Gid}, nil
}
