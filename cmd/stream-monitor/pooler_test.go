package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/test/harness/pgpair"
)

// TestAPoolerThatSharesSessionsIsAWrongSetting uses a real PgBouncer: nothing repairs it but another DB_DSN.
func TestAPoolerThatSharesSessionsIsAWrongSetting(t *testing.T) { // decision P3
	clearEnvironment(t)
	dir, err := os.MkdirTemp("", "pgpair-") //nolint:usetesting // another user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pair, err := pgpair.Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pair.Close(); err != nil {
			t.Error(err)
		}
	})
	dsn, err := pair.Pool(t.Context(), "transaction")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"migrate", "--db-dsn=" + dsn},
		{"serve", "--db-dsn=" + dsn, "--api-key=an-api-key-for-tests", "--webhook-signing-key=b", "--internal-api-key=an-internal-key-for-tests"},
	} {
		status, said := runFailing(t, args...)
		for began := time.Now(); strings.Contains(said, "connection refused") && time.Since(began) < 20*time.Second; { // PgBouncer starts
			status, said = runFailing(t, args...)
		}
		if status != config.UsageStatus || !strings.Contains(said, "pool_mode=session") {
			t.Errorf("%s ends with %d, want %d, and says %s", args[0], status, config.UsageStatus, said)
		}
	}
}
