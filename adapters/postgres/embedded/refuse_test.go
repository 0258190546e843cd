package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestStartRefusesWhatItMustNotTouch(t *testing.T) {
	t.Run("a cluster of another version is not touched, and both versions are named", func(t *testing.T) {
		dir := t.TempDir()
		own := started(t, dir)
		version := must.Get(own.query(`SHOW server_version`))(t)
		own.stop()
		cluster := filepath.Join(dir, "postgres")
		must.Do(t, os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("9\n"), 0o600))
		major, _, _ := strings.Cut(version, ".")
		expectUntouched(t, cluster, func() {
			expectRefusal(t.Context(), t, dir, "PostgreSQL 9", major, "nothing was touched", "pg_upgrade", "DB_DSN")
		})
	})

	t.Run("a directory with other files is not touched", func(t *testing.T) {
		dir := t.TempDir()
		must.Do(t, os.MkdirAll(filepath.Join(dir, "postgres", "photographs"), 0o700))
		expectUntouched(t, filepath.Join(dir, "postgres"), func() { expectRefusal(t.Context(), t, dir, "no PostgreSQL database", "nothing was touched") })
	})

	t.Run("a second server on one directory is refused, and the first continues", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		expectRefusal(t.Context(), t, dir, "another stream-monitor", dir)
		s.expect(`SELECT 'here'`, "here")
	})

	t.Run("without an installation the error says what to install", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if err != nil || len(installed) > 0 {
			s := started(t, t.TempDir()) // found outside PATH
			s.expect(`SELECT 'here'`, "here")
			return
		}
		if err := expectRefusal(t.Context(), t, t.TempDir(), "apt-get install postgresql", "DB_DSN"); !errors.Is(err, embedded.ErrNotInstalled) {
			t.Errorf("the error is %v", err)
		}
	})

	t.Run("a cancelled start leaves no process", func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if err := expectRefusal(ctx, t, dir); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		started(t, dir).expect(`SELECT 'here'`, "here")
	})
}
