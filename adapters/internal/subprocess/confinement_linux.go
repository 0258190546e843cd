package subprocess

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

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

// preparation is what confines a tool, but for the scratch directory.
type preparation struct {
	files  []step // the rules of Landlock
	filter []step
	at     time.Time
}

// preparationAge limits how long a preparation is used. It takes 0.3 ms; links and first lines of scripts change.
const preparationAge = time.Minute

var preparations = struct {
	sync.Mutex
	last map[string]preparation
}{last: map[string]preparation{}}

// prepare returns what confines a tool, which later launches of the same tool use again.
func (c *Confinement) prepare(means kernelMeans, path string, env []string) preparation {
	if c == nil {
		return preparation{}
	}
	key := fmt.Sprint(means, c.Network, len(c.Readable)) + strings.Join(slices.Concat([]string{path}, c.Readable, env), "\x00")
	preparations.Lock()
	defer preparations.Unlock()
	maps.DeleteFunc(preparations.last, func(_ string, p preparation) bool { return time.Since(p.at) >= preparationAge })
	p, is := preparations.last[key]
	if !is {
		p = preparation{c.rules(means, path, env), c.filter(means, path), time.Now()}
		preparations.last[key] = p
	}
	return p
}

// files returns what confines a tool to its files, by Landlock. The domain is of this tool alone.
func (c *Confinement) files(means kernelMeans, rules []step) (all []step) {
	if c == nil || means.landlock == 0 {
		return nil
	}
	ruleset, handled := c.ruleset(means.landlock)
	all = append([]step{{stepRuleset, "landlock", ruleset}}, rules...)
	if c.Network {
		if dir, err := scratch(); err == nil {
			all = append(all, rule(dir, writeRights&handled))
		}
	}
	return append(all, step{kind: stepRestrict, name: "landlock"})
}

// rule returns a step that allows the rights on a file, and on what is beneath it.
func rule(file string, rights uint64) step {
	return step{stepRule, "landlock: " + file, append(numbers(rights, rights&fileRights), file+"\x00"...)}
}

// rules returns those for all files but the scratch directory.
func (c *Confinement) rules(means kernelMeans, path string, env []string) (all []step) {
	_, handled := c.ruleset(means.landlock)
	allowed := allowedFiles{}
	allow := func(rights uint64, files ...string) {
		for _, file := range files {
			file = filepath.Clean(file)
			if filepath.IsAbs(file) && file != "/" && !allowed.cover(file, rights) {
				allowed[file] |= rights
				all = append(all, rule(file, rights&handled))
			}
		}
	}
	readable, executable := c.reachable(path, env)
	allow(readRights|unix.LANDLOCK_ACCESS_FS_EXECUTE, executable...)
	allow(readRights, readable...)
	allow(readRights|unix.LANDLOCK_ACCESS_FS_WRITE_FILE, devices...)
	return all
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
