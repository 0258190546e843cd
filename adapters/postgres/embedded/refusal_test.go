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
)

func TestRefusing(t *testing.T) {
	t.Run("a database of another version is left alone, with both versions named", func(t *testing.T) {
		dir := t.TempDir()
		own := started(t, dir)
		version, err := ask(t, own, `SHOW server_version`)
		if err != nil {
			t.Fatal(err)
		}
		stop(t, own)
		cluster := filepath.Join(dir, "postgres")
		if err := os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := tree(t, cluster)
		major, _, _ := strings.Cut(version, ".")
		refused(t.Context(), t, dir, "PostgreSQL 9", major, "nothing was touched", "pg_upgrade", "DB_DSN")
		if after := tree(t, cluster); after != before {
			t.Errorf("before\n%s, after\n%s", before, after)
		}
	})

	t.Run("a directory that holds something else is left alone", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "postgres", "photographs"), 0o700); err != nil {
			t.Fatal(err)
		}
		before := tree(t, filepath.Join(dir, "postgres"))
		refused(t.Context(), t, dir, "no PostgreSQL database", "nothing was touched")
		if after := tree(t, filepath.Join(dir, "postgres")); after != before {
			t.Errorf("before\n%s, after\n%s", before, after)
		}
	})

	t.Run("a second server on one directory is refused and does the first no harm", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		refused(t.Context(), t, dir, "another stream-monitor", dir)
		answered(t, s, `SELECT 'here'`, "here")
	})

	t.Run("without an installation it says what to install", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if err != nil || len(installed) > 0 {
			s := started(t, t.TempDir()) // found all the same
			answered(t, s, `SELECT 'here'`, "here")
			return
		}
		if err := refused(t.Context(), t, t.TempDir(), "apt-get install postgresql", "DB_DSN"); !errors.Is(err, embedded.ErrNotInstalled) {
			t.Errorf("the error is %v", err)
		}
	})

	t.Run("a start that is cancelled leaves nothing running", func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if err := refused(ctx, t, dir); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		answered(t, started(t, dir), `SELECT 'here'`, "here")
	})
}
