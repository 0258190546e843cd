package subprocess

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
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

// files returns what confines a tool to its files, by Landlock. The domain is of this tool alone.
func (c *Confinement) files(means kernelMeans, path string, env []string) []step {
	if c == nil || means.landlock == 0 {
		return nil
	}
	ruleset, handled := c.ruleset(means.landlock)
	all := []step{{stepRuleset, "landlock", ruleset}}
	allowed := map[string]uint64{} // many files are named several times
	allow := func(rights uint64, files ...string) {
		for _, file := range files {
			file = filepath.Clean(file)
			if filepath.IsAbs(file) && file != "/" && allowed[file]&rights != rights {
				allowed[file] |= rights
				all = append(all, step{stepRule, "landlock: " + file, append(numbers(rights&handled, rights&handled&fileRights), file+"\x00"...)})
			}
		}
	}
	readable, executable := c.reachable(path, env)
	allow(readRights, readable...)
	allow(readRights|unix.LANDLOCK_ACCESS_FS_EXECUTE, executable...)
	allow(readRights|unix.LANDLOCK_ACCESS_FS_WRITE_FILE, devices...)
	if c.Network {
		if dir, err := scratch(); err == nil {
			allow(writeRights, dir)
		}
	}
	return append(all, step{kind: stepRestrict, name: "landlock"})
}

// ruleset returns a structure landlock_ruleset_attr with all that a version of Landlock can refuse, and
// the rights to files among it.
func (c *Confinement) ruleset(version int) (attributes []byte, files uint64) {
	files = allRights
	for since, right := range map[int]uint64{2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV} {
		if version >= since {
			files |= right
		}
	}
	attributes = numbers(files)
	if version >= 4 {
		network := uint64(unix.LANDLOCK_ACCESS_NET_BIND_TCP)
		if !c.Network {
			network |= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
		attributes = binary.NativeEndian.AppendUint64(attributes, network)
	}
	if version >= landlockScopes {
		attributes = binary.NativeEndian.AppendUint64(attributes, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL)
	}
	return attributes, files
}

// landlockScopes is the first version of Landlock with which a tool signals only what it has started
// (Linux 6.12).
const landlockScopes = 6
