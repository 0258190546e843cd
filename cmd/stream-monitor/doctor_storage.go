package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// database looks at the database of DB_DSN or, without one, at the binaries
// for a private one (decision P3).
func (d doctor) database(ctx context.Context) []finding {
	const subject = "PostgreSQL"
	if !d.cfg.Database.Production() {
		return []finding{d.privateDatabase(ctx)}
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if err := d.pingDB(ctx, d.cfg.Database.DBDSN); err != nil {
		return []finding{{subject, fail, fmt.Sprintf("%s does not answer: %v", shownDSN(d.cfg.Database.DBDSN), err),
			fmt.Sprintf("an answer within %v", pingTime), "check DB_DSN, and that the server lets this machine in"}}
	}
	return []finding{{subject: subject, verdict: fine, found: shownDSN(d.cfg.Database.DBDSN) + " answers (found by DB_DSN)"}}
}

// cluster looks at the cluster, if workers are to run in one.
func (d doctor) cluster(ctx context.Context) []finding {
	const subject = "Kubernetes"
	if d.cfg.WorkerRuntime != runtimeKubernetes {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	namespace, err := d.askCluster(ctx, d.cfg.Cluster)
	if err != nil {
		return []finding{{subject, fail, strings.ReplaceAll(err.Error(), "\n", "; "),
			"a cluster that lets this gateway run pods (section 14.3)", "install the Helm chart, or check KUBECONFIG and WORKER_NAMESPACE"}}
	}
	return []finding{{subject: subject, verdict: fine, found: "pods may be run in namespace " + namespace}}
}

// shownDSN is a DSN without what is secret in it.
func shownDSN(dsn string) string {
	if u, err := url.Parse(dsn); err == nil && u.Host != "" {
		return "postgres://" + u.Host + u.Path
	}
	return "the database"
}

func (d doctor) privateDatabase(ctx context.Context) finding {
	const subject = "PostgreSQL"
	expected := "the server's binaries, for a private database"
	advice := `run "make tools", or: apt-get install postgresql; or set DB_DSN`
	var found []string
	var majors []string
	for _, dir := range postgresDirs() {
		answer, err := ask(ctx, Tool{Path: filepath.Join(dir, "postgres")}, "--version")
		version := readRelease(answer)
		if err != nil || version == nil {
			continue
		}
		majors = append(majors, fmt.Sprint(version[0]))
		found = append(found, fmt.Sprintf("%d.%d, %s", version[0], append(version, 0)[1], dir))
	}
	if len(found) == 0 {
		return finding{subject, fail, "none in PATH or /usr/lib/postgresql, and DB_DSN is not set", expected, advice}
	}
	raw, err := os.ReadFile(filepath.Join(d.cfg.Database.DataDir, "postgres", "PG_VERSION"))
	if made := strings.TrimSpace(string(raw)); err == nil && !slices.Contains(majors, made) {
		return finding{subject, fail, strings.Join(found, "; "),
			fmt.Sprintf("version %.10q, which made the database in %s", made, d.cfg.Database.DataDir),
			"install that version beside the other, or set another DATA_DIR, or set DB_DSN"}
	}
	return finding{subject: subject, verdict: fine, found: strings.Join(found, "; ") + " (for a private database)"}
}

// postgresDirs lists where both binaries are that a private database needs.
func postgresDirs() (dirs []string) {
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // fails on a bad pattern only
	if path, err := exec.LookPath("postgres"); err == nil {
		candidates = append([]string{filepath.Dir(path)}, candidates...)
	}
	for _, dir := range candidates {
		_, errServer := exec.LookPath(filepath.Join(dir, "postgres"))
		_, errInit := exec.LookPath(filepath.Join(dir, "initdb"))
		if errServer != nil || errInit != nil {
			continue
		}
		// What is in PATH is often a link into an installation.
		if server, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil {
			dir = filepath.Dir(server)
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// dataDirectory finds out, without making it, whether the data directory can
// be written to.
func (d doctor) dataDirectory(context.Context) []finding {
	const subject = "data directory"
	dir := d.cfg.Database.DataDir
	bad := func(err error) []finding {
		return []finding{{subject, fail, fmt.Sprintf("%s: %v", dir, err), "a directory that this user can write to",
			"set DATA_DIR, or change the directory's owner"}}
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		if err != nil {
			return bad(err)
		}
		return []finding{{subject: subject, verdict: fine, found: dir}}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return bad(err)
	}
	above := filepath.Dir(dir)
	for {
		info, err := os.Stat(above)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			above = filepath.Dir(above)
			continue
		case err != nil:
			return bad(err)
		case !info.IsDir():
			return bad(fmt.Errorf("%s is no directory", above))
		}
		break
	}
	if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
		return bad(fmt.Errorf("is not there, and cannot be made in %s: %w", above, err))
	}
	return []finding{{subject: subject, verdict: fine, found: dir + " (made at the first start)"}}
}
