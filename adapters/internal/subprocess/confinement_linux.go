package subprocess

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// isOwn reports whether a file belongs to this user.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}

// Rights by the version of Landlock.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	allRights   = 1<<13 - 1 // of version 1
	writeRights = allRights | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER
)

// preparation is what confines a tool.
type preparation struct {
	rules  *os.File // of Landlock, see newRuleset; nil: the kernel has none
	filter []step
	seen   []seenFile
}

// current reports whether all that has a rule, or would have one if it were there, is what it was. Package managers replace files by others.
func (p preparation) current() bool {
	return !slices.ContainsFunc(p.seen, func(f seenFile) bool { return look(f.path) != f })
}

// seenFile is what a preparation was made from: a file, a folder, or a name without either. Another file that takes the
// name differs, and so does a script whose first line was written anew.
type seenFile struct {
	path          string
	device, inode uint64
	size          int64 // of a regular file, in bytes
	written       unix.Timespec
}

// look returns what has a name now.
func look(path string) seenFile {
	var is unix.Stat_t
	f := seenFile{path: path}
	if unix.Stat(path, &is) == nil {
		f.device, f.inode = is.Dev, is.Ino
	}
	if is.Mode&unix.S_IFMT == unix.S_IFREG {
		f.size, f.written = is.Size, is.Mtim
	}
	return f
}

// maxPreparations limits how many preparations are kept. There is one for each tool and environment.
const maxPreparations = 100

var preparations = struct {
	sync.Mutex
	last map[string]preparation
}{last: map[string]preparation{}}

// prepare returns what confines a tool. It takes 0.5 ms, so later launches of the same tool use it again.
// Error: the kernel refuses a rule.
func (c *Confinement) prepare(means kernelMeans, path string, env []string) (preparation, error) {
	if c == nil {
		return preparation{}, nil
	}
	writable := ""
	if c.Network {
		writable, _ = scratch()
	}
	key := fmt.Sprint(means, c.Network, len(c.Readable)) + strings.Join(slices.Concat([]string{path, writable}, c.Readable, env), "\x00")
	preparations.Lock()
	defer preparations.Unlock()
	if p, is := preparations.last[key]; is && p.current() {
		return p, nil
	}
	handled, rules := c.rules(means, path, env, writable)
	p := preparation{filter: c.filter(means, path)}
	for _, rule := range rules {
		p.seen = append(p.seen, look(rule.file))
	}
	var err error
	if means.landlock > 0 {
		p.rules, err = newRuleset(handled, rules)
	}
	if err == nil {
		if len(preparations.last) >= maxPreparations {
			clear(preparations.last)
		}
		preparations.last[key] = p
	}
	return p, err
}

// rights returns what a version of Landlock can refuse.
func (c *Confinement) rights(version int) (all unix.LandlockRulesetAttr) {
	all.Handled_access_fs = allRights
	for since, right := range map[int]uint64{2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV} {
		if version >= since {
			all.Handled_access_fs |= right
		}
	}
	if version >= 4 {
		all.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP
		if !c.Network {
			all.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if version >= landlockScopes {
		all.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return all
}

// landlockScopes is the first version of Landlock with which a tool signals only what it has started
// (Linux 6.12).
const landlockScopes = 6

// rules returns the rules of Landlock for a tool, which may write to a folder unless it is empty.
func (c *Confinement) rules(means kernelMeans, path string, env []string, writable string) (unix.LandlockRulesetAttr, []rule) {
	var all []rule
	allowed := allowedFiles{}
	allow := func(rights uint64, files ...string) {
		for _, file := range files {
			file = filepath.Clean(file)
			if filepath.IsAbs(file) && file != "/" && !allowed.cover(file, rights) {
				allowed[file] |= rights
				all = append(all, rule{file, rights})
			}
		}
	}
	readable, executable := c.reachable(path, env)
	allow(readRights|unix.LANDLOCK_ACCESS_FS_EXECUTE, executable...)
	allow(readRights|unix.LANDLOCK_ACCESS_FS_WRITE_FILE, devices...)
	allow(readRights, readable...)
	allow(writeRights, writable)
	return c.rights(means.landlock), all
}

// allowedFiles are the rights on files, and on what is beneath folders.
type allowedFiles map[string]uint64

// cover reports whether the rights on a file follow from those on it, or on a folder above it that no link leads out of.
func (a allowedFiles) cover(file string, rights uint64) bool {
	folder := file
	for a[folder]&rights != rights {
		if folder = filepath.Dir(folder); folder == "/" {
			return false
		}
	}
	for ; file != folder; file = filepath.Dir(file) {
		if info, err := os.Lstat(file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return false
		}
	}
	return true
}
