package subprocess

import (
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Confinement says what a tool may reach of this machine. On Linux, every tool runs without
// capabilities and can gain none (no_new_privs). A confined tool has a Landlock domain of
// its own: it reads the system's programs and libraries, its own files and Readable, and writes to a
// scratch directory. It signals only what it has started, and connects to no unix socket. A tool without the network
// starts no programs, unless it is a script. Missing names what the kernel does not grant.
type Confinement struct {
	Readable []string // further files and folders
	Network  bool     // it may connect to others; it writes to the scratch directory only if it may
}

// NewConfinement returns the confinement of a tool that may read further files; nil if the list
// is nil.
func NewConfinement(files []string, network bool) *Confinement {
	if files == nil {
		return nil
	}
	return &Confinement{Readable: files, Network: network}
}

// programFolders are the folders of the system whose files every tool may read and execute, unless it
// starts no programs.
var programFolders = strings.Fields("/usr /bin /sbin")

// system are the files that every tool may read.
var system = strings.Fields(`/lib /lib32 /lib64 /usr/lib /usr/lib32 /usr/lib64 /usr/local/lib /usr/share
	/proc /sys/devices/system /sys/fs/cgroup /sys/kernel/mm
	/dev/null /dev/zero /dev/full /dev/random /dev/urandom
	/etc/ssl /etc/pki /etc/ca-certificates /etc/ca-certificates.conf /etc/crypto-policies
	/etc/resolv.conf /etc/hosts /etc/host.conf /etc/nsswitch.conf /etc/gai.conf /etc/services /etc/protocols
	/etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/ld.so.preload /etc/alternatives /etc/fonts /etc/OpenCL
	/etc/localtime /etc/timezone /etc/passwd /etc/group /etc/mime.types /etc/os-release /etc/debian_version /etc/inputrc
	/etc/python3 /etc/python3.11 /etc/python3.12 /etc/python3.13 /etc/python3.14
	/nix/store /var/lib/ca-certificates /run/systemd/resolve /run/resolvconf`)

// devices are what every tool may write to.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full"}

// Variables that name files which a tool reads, some of them a list.
var fileVariables = []string{"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "DENO_CERT"}

// reachable returns what the tool at path may read, and what it may execute. Without the network it
// executes only itself and its loader, which would load other programs if they could be read.
// But a script starts programs.
func (c *Confinement) reachable(path string, env []string) (readable, executable []string) {
	readable = slices.Concat(system, c.Readable)
	if !c.Network {
		if loader, is := loaderOf(path); is {
			return append(readable, ownLibraries(path, env)...), []string{path, loader}
		}
	}
	// The tool comes first: a file that has a rule of its own may be replaced at any time.
	return nil, slices.Concat([]string{path}, programFolders, readable, ownFiles(path, env))
}

// IsScript reports whether the tool at path is no program. It may need any program, so the filter of
// system calls is that of tools with the network, but without sockets.
func IsScript(path string) bool {
	_, is := loaderOf(path)
	return !is
}

// loaderOf returns the loader of a program; it is empty if the program is linked statically. It
// returns false for a file that is no program, such as a script.
func loaderOf(path string) (loader string, is bool) {
	program, err := elf.Open(path)
	if err != nil {
		return "", false
	}
	defer func() { _ = program.Close() }()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			name, err := io.ReadAll(io.LimitReader(part.Open(), maxLoader))
			return strings.TrimRight(string(name), "\x00"), err == nil
		}
	}
	return "", true
}

// maxLoader limits the length of a loader's path, in bytes.
const maxLoader = 4096

// ownLibraries returns the folders of a program's libraries.
func ownLibraries(path string, env []string) (folders []string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path
	}
	for _, program := range []string{path, target} {
		prefix := filepath.Dir(filepath.Dir(program))
		folders = append(folders, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"))
	}
	for _, v := range env {
		if list, is := strings.CutPrefix(v, "LD_LIBRARY_PATH="); is {
			folders = append(folders, filepath.SplitList(list)...)
		}
	}
	return folders
}

// ownFiles returns the files of a program and of what it may start. Each program has those of
// its installation. A link or a first line names further programs.
func ownFiles(path string, env []string) (files []string) {
	values := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	for _, dir := range filepath.SplitList(values["PATH"]) {
		files = append(files, installation(dir, false)...)
	}
	programs := []string{path}
	for n := 0; n < len(programs) && n < maxPrograms; n++ {
		program := programs[n]
		files = append(files, program)
		files = append(files, installation(filepath.Dir(program), program == path)...)
		if target, err := os.Readlink(program); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(program), target)
			}
			programs = append(programs, target)
		} else if interpreter := firstLine(program); interpreter != "" {
			programs = append(programs, interpreter)
		}
	}
	for _, name := range fileVariables {
		files = append(files, filepath.SplitList(values[name])...)
	}
	if home := values["HOME"]; home != "" {
		files = append(files, filepath.Join(home, ".local", "lib")) // pip install --user
	}
	return files
}

// maxPrograms limits how many programs ownFiles follows.
const maxPrograms = 100

// installation returns what belongs to the programs of a directory. The directory itself is
// left out if only one file of it is meant and it is no place for programs.
func installation(dir string, one bool) []string {
	prefix := filepath.Dir(dir)
	switch filepath.Base(dir) {
	case "bin", "sbin":
		files := []string{dir}
		for _, name := range []string{"lib", "lib64", "libexec", "pyvenv.cfg"} {
			files = append(files, filepath.Join(prefix, name))
		}
		return files
	case "shims": // of pyenv, which are scripts that read all of it
		return []string{prefix}
	}
	if one {
		return nil
	}
	return []string{dir}
}

// firstLine returns the program that a script names in its first line, or nothing.
func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	command, is := strings.CutPrefix(line, "#!")
	if words := strings.Fields(command); is && len(words) > 0 {
		return words[0]
	}
	return ""
}

// lastScratch is the directory that scratch returned last; empty: none.
var lastScratch struct {
	sync.Mutex
	dir     string
	trimmed time.Time
}

// scratch returns the directory that confined tools of this user share for temporary files and
// caches. It makes another one when somebody has removed it, and trims it from time to time.
// Error: it can be made nowhere.
func scratch() (string, error) {
	lastScratch.Lock()
	defer lastScratch.Unlock()
	if info, err := os.Lstat(lastScratch.dir); err != nil || !info.IsDir() {
		if lastScratch.dir, err = makeScratch(); err != nil {
			return "", err
		}
	} else if time.Since(lastScratch.trimmed) < trimInterval {
		return lastScratch.dir, nil
	}
	lastScratch.trimmed = time.Now()
	trimScratch(lastScratch.dir, MaxScratch)
	return lastScratch.dir, nil
}

// makeScratch makes the directory in TMPDIR, or in the user's caches if that cannot be written, as
// in a pod with a read-only root. Error: neither can.
func makeScratch() (string, error) {
	dir, err := scratchIn(os.TempDir())
	if err == nil {
		return dir, nil
	}
	caches, cachesErr := os.UserCacheDir()
	if cachesErr == nil {
		cachesErr = os.MkdirAll(caches, 0o700)
	}
	if cachesErr != nil {
		return "", errors.Join(err, cachesErr)
	}
	return scratchIn(caches)
}

// scratchIn makes the directory in a parent, or another one if somebody else has taken its name.
func scratchIn(parent string) (string, error) {
	dir := filepath.Join(parent, "stream-monitor-tools-"+strconv.Itoa(os.Getuid()))
	err := os.Mkdir(dir, 0o700)
	if info, statErr := os.Lstat(dir); statErr == nil && info.IsDir() && info.Mode().Perm() == 0o700 && isOwn(info) {
		return dir, nil
	}
	if errors.Is(err, fs.ErrExist) {
		return os.MkdirTemp(parent, "stream-monitor-tools-")
	}
	return "", err
}

// Environ returns env, in which a confined tool finds its scratch directory.
func (c *Confinement) Environ(env []string) []string {
	if c == nil || !c.Network {
		return env
	}
	dir, err := scratch()
	if err != nil {
		return env
	}
	return append(slices.Clip(env), "TMPDIR="+dir, "XDG_CACHE_HOME="+dir, "DENO_DIR="+filepath.Join(dir, "deno"))
}
