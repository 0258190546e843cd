package doctor

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
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// database checks the database of DB_DSN or, without one, the binaries for a private
// database (decision P3).
func (d Doctor) database(ctx context.Context) []finding {
	const subject = "PostgreSQL"
	if !d.Settings.Database.HasExternalDatabase() {
		return []finding{d.privateDatabase(ctx)}
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	asked := time.Now()
	at, err := d.DatabaseTime(ctx, d.Settings.Database.DBDSN)
	if err != nil {
		return []finding{{subject, fail, fmt.Sprintf("%s does not answer: %v", redactDSN(d.Settings.Database.DBDSN), err),
			fmt.Sprintf("an answer within %v", pingTimeout), "check DB_DSN, and that the server accepts connections from this machine"}}
	}
	answers := finding{subject: subject, verdict: fine, found: redactDSN(d.Settings.Database.DBDSN) + " answers (DB_DSN)"}
	// Its time lies between the question and the answer.
	if early, late := asked.Sub(at), time.Until(at); max(early, late) > maxClockDifference {
		answers.verdict, answers.expected = warn, fmt.Sprintf("a clock at most %v away from this machine's", maxClockDifference)
		answers.found += fmt.Sprintf("; its clock shows %s, which is %v away from this machine's", at.UTC().Format(time.RFC3339), max(early, late).Round(time.Second))
		answers.advice = "let both machines take their time from NTP; before the clock of the database is set back, read docs/recovery.md"
	}
	return []finding{answers}
}

// maxClockDifference is how far the clock of the database may be from this machine's.
const maxClockDifference = 5 * time.Second

// cluster checks the cluster in which workers are to run, if any.
func (d Doctor) cluster(ctx context.Context) []finding {
	const subject = "Kubernetes"
	if d.Settings.WorkerRuntime != config.RuntimeKubernetes {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	namespace, err := d.CheckCluster(ctx, d.Settings.Cluster)
	if err != nil {
		return []finding{{subject, fail, strings.ReplaceAll(err.Error(), "\n", "; "),
			"a cluster that lets this gateway run pods (section 14.3)", "install the Helm chart, or check KUBECONFIG and WORKER_NAMESPACE"}}
	}
	return []finding{{subject: subject, verdict: fine, found: "pods may be run in namespace " + namespace}}
}

// redactDSN returns a DSN without its secrets.
func redactDSN(dsn string) string {
	if u, err := url.Parse(dsn); err == nil && u.Host != "" {
		return "postgres://" + u.Host + u.Path
	}
	return "the database"
}

func (d Doctor) privateDatabase(ctx context.Context) finding {
	const subject = "PostgreSQL"
	expected := "the server's binaries, for a private database"
	advice := `run "make tools", or: apt-get install postgresql; or set DB_DSN`
	var found []string
	var majors []string
	for _, dir := range postgresDirs() {
		answer, err := runTool(ctx, tool.Confinement{}, filepath.Join(dir, "postgres"), "--version")
		version := parseVersion(answer)
		if err != nil || version == nil {
			continue
		}
		majors = append(majors, fmt.Sprint(version[0]))
		found = append(found, fmt.Sprintf("%d.%d, %s", version[0], append(version, 0)[1], dir))
	}
	if len(found) == 0 {
		return finding{subject, fail, "none in PATH or /usr/lib/postgresql, and DB_DSN is not set", expected, advice}
	}
	raw, err := os.ReadFile(filepath.Join(d.Settings.Database.DataDir, "postgres", "PG_VERSION"))
	if made := strings.TrimSpace(string(raw)); err == nil && !slices.Contains(majors, made) {
		return finding{subject, fail, strings.Join(found, "; "),
			fmt.Sprintf("version %.10q, because that version created the database in %s", made, d.Settings.Database.DataDir),
			"install that version beside the other, or set another DATA_DIR, or set DB_DSN"}
	}
	return finding{subject: subject, verdict: fine, found: strings.Join(found, "; ") + " (for a private database)"}
}

// postgresDirs lists the directories with both binaries of a private database.
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
		// The entry in PATH is often a symbolic link into an installation.
		if server, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil {
			dir = filepath.Dir(server)
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// dataDirectory checks that the data directory can be written to.
func (d Doctor) dataDirectory(context.Context) []finding {
	return []finding{checkDirectory("data directory", d.Settings.Database.DataDir, "DATA_DIR")}
}

// openFiles checks that a gateway may open enough files for its connections.
func (d Doctor) openFiles(context.Context) []finding {
	f := finding{
		subject: "open files", verdict: fine, found: fmt.Sprintf("%d may be open", d.OpenFiles),
		advice: "raise the limit: LimitNOFILE of systemd, --ulimit nofile of docker, ulimit -n",
	}
	if each, wanted := config.MaxConnections(d.OpenFiles, d.Settings.MaxMonitors, httpapi.MaxConnections); each < httpapi.MaxConnections {
		f.verdict, f.expected = warn, fmt.Sprintf("%d, for %d connections to each port; with these there are %d", wanted, httpapi.MaxConnections, each)
	}
	return []finding{f}
}

// evidence checks that the store of EVIDENCE_STORE can be written to.
func (d Doctor) evidence(ctx context.Context) []finding {
	const subject = "evidence"
	if dir, is := d.Settings.Evidence.Directory(); is {
		return []finding{checkDirectory(subject, dir, "EVIDENCE_STORE")}
	}
	if _, _, is := d.Settings.Evidence.Bucket(); !is {
		return []finding{{subject: subject, verdict: fine, found: "in the database"}}
	}
	store := d.Settings.Evidence.EvidenceStore
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := d.CheckBucket(ctx, d.Settings.Evidence); err != nil {
		return []finding{{subject, fail, fmt.Sprintf("%s: %v", store, err),
			"a bucket in which an object can be written, read and deleted",
			"check EVIDENCE_STORE, EVIDENCE_S3_ENDPOINT, EVIDENCE_S3_REGION and the rights of EVIDENCE_S3_ACCESS_KEY"}}
	}
	return []finding{{subject: subject, verdict: fine, found: store + " can be written to"}}
}

// checkDirectory checks, without creating it, that a directory can be written to.
// setting names it.
func checkDirectory(subject, dir, setting string) finding {
	bad := func(err error) finding {
		return finding{subject, fail, fmt.Sprintf("%s: %v", dir, err), "a directory that this user can write to",
			"set " + setting + ", or change the directory's owner"}
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		if err != nil {
			return bad(err)
		}
		return finding{subject: subject, verdict: fine, found: dir}
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
			return bad(fmt.Errorf("%s is not a directory", above))
		}
		break
	}
	if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
		return bad(fmt.Errorf("does not exist, and cannot be created in %s: %w", above, err))
	}
	return finding{subject: subject, verdict: fine, found: dir + " (will be created at the first start)"}
}
