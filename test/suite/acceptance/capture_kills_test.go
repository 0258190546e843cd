package acceptance_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// cutCapture is a stream whose evidence goes to a bucket, with parts that can be killed.
type cutCapture struct {
	*watchedStream
	settings    testenv.Config
	databaseDir string
	sql         *sql.DB
	bucket      *bucketServer
	temp        string // the gateway's directory for temporary files
}

func startCutCapture(t *testing.T) *cutCapture {
	t.Helper()
	c := &cutCapture{databaseDir: databaseDir(t), bucket: startBucket(t), temp: t.TempDir()}
	db := &database{Server: startDatabase(t, c.databaseDir)}
	t.Cleanup(db.end) // after its gateway's
	c.settings = testenv.Config{Binary: binary, Env: append(c.bucket.env(), "DB_DSN="+db.DSN(), "TMPDIR="+c.temp)}
	env := startEnv(t, c.settings.Env...)
	var err error
	if c.sql, err = sql.Open("postgres", db.DSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.sql.Close() })
	c.watchedStream = watchStream(t, env, livestream.Config{Preroll: 30 * time.Second}, nil)
	return c
}

// count returns the result of a query of one number, or -1 if the database does not answer.
func (c *cutCapture) count(query string) (n int) {
	if err := c.sql.QueryRowContext(c.t.Context(), query).Scan(&n); err != nil {
		return -1
	}
	return n
}

// orphans returns how many blobs are announced, or stored, and have no file in a record.
func (c *cutCapture) orphans() int {
	return c.count(`SELECT count(*) FROM evidence_blobs b WHERE NOT EXISTS (SELECT FROM evidence_files f WHERE f.sha256 = b.sha256)`)
}

func (c *cutCapture) killWorker() { onlyWorker(c.t, c.id).Kill() }

func (c *cutCapture) killGateway() {
	if err := c.env.KillAndRestart(c.t.Context(), c.settings); err != nil {
		c.t.Fatal(err)
	}
}

// killDatabase kills the server of PostgreSQL, which is then started again.
func (c *cutCapture) killDatabase() {
	text, err := os.ReadFile(filepath.Join(c.databaseDir, "postgres", "postmaster.pid"))
	if err != nil {
		c.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		c.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cutCapture) killBucket() {
	c.bucket.kill()
	sleep(c.t.Context(), 5*time.Second)
	c.bucket.run()
}

// assertOneRecord asserts that the evidence of an event has one record.
func (c *cutCapture) assertOneRecord(eventID string) {
	c.t.Helper()
	answer, err := c.env.Service.Call(c.t.Context(), http.MethodGet, "/api/v1/evidence?event_id="+eventID, nil)
	if err != nil || answer.Status != http.StatusOK {
		c.t.Fatalf("the evidence was answered with %v %v", answer, err)
	}
	if records := answer.Body["evidence"].([]any); len(records) != 1 {
		c.t.Errorf("event %s has %d records: %v", eventID, len(records), records)
	}
}

// assertNothingIsLeft lets the blobs become old, sweeps, and asserts that each has a file
// in a record, and that no temporary file is left.
func (c *cutCapture) assertNothingIsLeft() {
	c.t.Helper()
	store, err := postgres.Open(c.t.Context(), strings.TrimPrefix(c.settings.Env[len(c.settings.Env)-2], "DB_DSN="), postgres.Config{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	blobs := c.bucket.store()
	if orphans := c.orphans(); orphans > 0 {
		c.t.Logf("%d blobs have no file", orphans)
	}
	sweep := evidences.NewSweep(store, blobs, evidence.Retention{}, slog.New(slog.DiscardHandler))
	for range 2 { // the first finds what the database does not know
		if _, err := c.sql.ExecContext(c.t.Context(), `UPDATE evidence_blobs SET reserved_at = now() - interval '2 hours'`); err != nil {
			c.t.Fatal(err)
		}
		if err := sweep.Run(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
	}
	stored, err := blobs.List(c.t.Context(), evidence.Digest{}, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	if files := c.count(`SELECT count(DISTINCT sha256) FROM evidence_files`); len(stored) != files || files == 0 {
		c.t.Errorf("the bucket has %d blobs for %d files", len(stored), files)
	}
	entries, err := os.ReadDir(c.temp)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "stream-monitor-tools-") {
			continue // the caches of yt-dlp and deno, which stay
		}
		if strings.HasPrefix(e.Name(), "stream-monitor-") && !strings.HasSuffix(e.Name(), ".lock") {
			c.t.Errorf("%s is left", e.Name())
		}
	}
	// The kernel frees an unnamed file when it is closed.
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.env.Service.PID()))
	for _, fd := range open {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, c.temp) && strings.HasSuffix(target, "(deleted)") {
			c.t.Errorf("the gateway holds %s", target)
		}
	}
}

// A bucket that is stopped holds each capture in the middle of an upload.
func TestAPartThatIsKilledDuringAnUploadLosesNothing(t *testing.T) { // section 16.2
	t.Parallel()
	for name, kill := range map[string]func(*cutCapture){
		"the worker":       (*cutCapture).killWorker,
		"the gateway":      (*cutCapture).killGateway,
		"the database":     (*cutCapture).killDatabase,
		"the object store": (*cutCapture).killBucket,
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1, 120*time.Second)
			c := startCutCapture(t)
			c.bucket.stop()
			c.goBlack()
			alert := c.waitEvent(blackoutAlert, 60*time.Second)
			eventually(t, 30*time.Second, "an upload is under way", func() bool { return c.orphans() > 0 })
			kill(c)
			c.bucket.resume()
			sleep(t.Context(), 10*time.Second)
			c.Black(false)
			recovered := c.waitEvent(blackoutRecovered, 60*time.Second)
			c.waitEvidence(recovered.EventID, "recovery", "levels", "level")
			c.assertOneRecord(recovered.EventID)
			if name != "the worker" && name != "the gateway" { // their captures are lost
				f := c.waitEvidence(alert.EventID, "before", "onset", "levels", "level", "clip")
				f.assertClip(t, 20)
				c.assertOneRecord(alert.EventID)
			}
			c.endAndAssert(blackoutAlert, blackoutRecovered)
			waitNoWorker(t, c.env, c.id)
			c.waitIncident(5*time.Second, "resolved black-")
			c.assertNothingIsLeft()
		})
	}
}
