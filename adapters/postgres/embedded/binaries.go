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

// installDirs are where packages install the binaries outside PATH.
var installDirs = []string{
	"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
	"/usr/pgsql-*/bin",                  // Red Hat, from postgresql.org
	"/usr/libexec/postgresql*",          // Alpine
	"/opt/homebrew/opt/postgresql*/bin", // macOS
}

// versionTimeout bounds `postgres --version`. On a busy machine, or with a slow disk, it takes seconds.
const versionTimeout = time.Minute

// binaries is one installation of PostgreSQL.
type binaries struct {
	dir   string // holds postgres and initdb
	major int
}

func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }
func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }

// findBinaries returns an installation of major version want; 0 means any: the one
// in PATH, else the newest. If none has that version, it returns the first one
// found, and the caller reports the difference. Errors: ErrNotInstalled.
func findBinaries(ctx context.Context, want int) (binaries, error) {
	var first binaries
	for _, dir := range candidateDirs() {
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

// candidateDirs lists the directories with both binaries, best first.
func candidateDirs() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// It is often a link into the directory with the other binaries.
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	for _, pattern := range installDirs {
		found, _ := filepath.Glob(pattern) // fails only on a bad pattern
		slices.SortFunc(found, func(a, b string) int { return versionInPath(b) - versionInPath(a) })
		dirs = append(dirs, found...)
	}
	var usable []string
	for _, dir := range dirs {
		b := binaries{dir: dir}
		if isExecutable(b.postgres()) && isExecutable(b.initdb()) && !slices.Contains(usable, dir) {
			usable = append(usable, dir)
		}
	}
	return usable
}

var (
	digitsPattern  = regexp.MustCompile(`[0-9]+`)
	versionPattern = regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`)
)

func versionInPath(path string) int {
	n, _ := strconv.Atoi(digitsPattern.FindString(path))
	return n
}

func isExecutable(path string) bool {
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
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s --version: printed %.80q", postgres, out)
	}
	return strconv.Atoi(string(m[1]))
}
