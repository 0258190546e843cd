package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// defaultUsers are tried in this order when the gateway is root.
var defaultUsers = []string{"postgres", "nobody"}

// serverUser is the user that the server runs as. The zero value is this process's
// user.
type serverUser struct {
	credential *syscall.Credential // nil: this process's user
}

// isOther reports whether it is another user than this process's.
func (u serverUser) isOther() bool { return u.credential != nil }

func (u serverUser) uid() int {
	if u.isOther() {
		return int(u.credential.Uid)
	}
	return os.Geteuid()
}

// chooseUser returns the user for the cluster at dir, or for a new cluster if dir is
// empty. It is this process's user; if that is root, the cluster's owner,
// or one of defaultUsers.
func chooseUser(dir string) (serverUser, error) {
	owner, err := ownerOf(dir)
	if err != nil {
		return serverUser{}, err
	}
	if self := os.Geteuid(); self != 0 {
		if owner != nil && int(owner.Uid) != self {
			return serverUser{}, fmt.Errorf("%s belongs to user %d, and this process runs as user %d: run it as that user, or choose another DATA_DIR", dir, owner.Uid, self)
		}
		return serverUser{}, nil
	}
	if owner != nil {
		if owner.Uid == 0 {
			return serverUser{}, fmt.Errorf("%s belongs to root, and PostgreSQL does not run as root: give the directory, with all that is in it, to another user, or choose another DATA_DIR", dir)
		}
		return serverUser{owner}, nil
	}
	for _, n := range defaultUsers {
		u, err := user.Lookup(n)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(errU, errG); err != nil {
			return serverUser{}, fmt.Errorf("user %s: %w", n, err)
		}
		if uid == 0 {
			return serverUser{}, fmt.Errorf("user %s is root: PostgreSQL does not run as root", n)
		}
		return serverUser{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return serverUser{}, fmt.Errorf("PostgreSQL does not run as root, and none of the users %v exists: create one, run this as an ordinary user, or set DB_DSN", defaultUsers)
}

// attributes returns the attributes of a child process that runs as u. It gets a
// process group of its own, so that a Ctrl-C in the gateway's terminal does not
// reach it.
func (u serverUser) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: u.credential}
}

// chown gives a file that this process has created to u.
func (u serverUser) chown(f *os.File) error {
	if !u.isOther() {
		return nil
	}
	return f.Chown(int(u.credential.Uid), int(u.credential.Gid))
}

// ownerOf returns the owner of a directory; nil if dir is empty.
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
