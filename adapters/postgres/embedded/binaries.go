package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// ErrNotInstalled says that no PostgreSQL server was found on the machine.
var ErrNotInstalled = errors.New("no PostgreSQL server is installed: " +
	"looked for postgres and initdb in PATH and in /usr/lib/postgresql/*/bin; " +
	"install one (Debian, Ubuntu: apt-get install postgresql) or set DB_DSN to a server that runs")

// Where packages put the binaries when not in PATH.
var installations = []string{
	"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
	"/usr/pgsql-*/bin",                  // Red Hat, from postgresql.org
	"/usr/libexec/postgresql*",          // Alpine
	"/opt/homebrew/opt/postgresql*/bin", // macOS
}

// versionTimeout bounds `postgres --version`.
const versionTimeout = 5 * time.Second

// binaries is one installation of the server.
type binaries struct {
	dir   string // holds postgres and initdb
	major int
}

func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }
func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }

// choose picks the installation for a cluster of version want; want 0 is a new
// cluster, which takes what is in PATH, else the newest. When none is of
// version want, the first one found is returned: the caller tells.
func choose(ctx context.Context, want int) (binaries, error) {
	var first binaries
	for _, dir := range directories() {
		major, err := version(ctx, filepath.Join(dir, "postgres"))
		if err != nil {
			continue
		}
		b := binaries{dir, major}
		if want == 0 || major == want {
			return b, nil
		}
		if first.dir == "" {
			first = b
		}
	}
	if err := ctx.Err(); err != nil {
		return binaries{}, err
	}
	if first.dir == "" {
		return binaries{}, ErrNotInstalled
	}
	return first, nil
}

// directories lists where both binaries are, best first.
func directories() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// Often a link into the installation, where the rest is.
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	for _, pattern := range installations {
		found, _ := filepath.Glob(pattern) // fails on a bad pattern only
		slices.SortFunc(found, func(a, b string) int { return numberIn(b) - numberIn(a) })
		dirs = append(dirs, found...)
	}
	var usable []string
	for _, dir := range dirs {
		b := binaries{dir: dir}
		if executable(b.postgres()) && executable(b.initdb()) && !slices.Contains(usable, dir) {
			usable = append(usable, dir)
		}
	}
	return usable
}

var (
	digits      = regexp.MustCompile(`[0-9]+`)
	versionLine = regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`)
)

func numberIn(path string) int {
	n, _ := strconv.Atoi(digits.FindString(path))
	return n
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func version(ctx context.Context, postgres string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("%s --version: %w", postgres, err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s --version: printed %.80q", postgres, out)
	}
	return strconv.Atoi(string(m[1]))
}
