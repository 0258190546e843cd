package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/test/harness/pgpair"
)

// absentDatabase fails every try until the time there. A zero time means forever.
func absentDatabase(there *time.Time, log io.Writer) (setup *databaseSetup, tries *[]time.Time) {
	tries = &[]time.Time{}
	return &databaseSetup{
		migrate: func(context.Context) error { return nil },
		reach: func(context.Context) error {
			*tries = append(*tries, time.Now())
			if there.IsZero() || time.Now().Before(*there) {
				return errors.New("connection refused")
			}
			return nil
		},
		log:  slog.New(slog.NewTextHandler(log, nil)),
		done: make(chan struct{}),
	}, tries
}

func TestTheStartWaitsForADatabaseThatCannotBeReached(t *testing.T) { // section 10.4
	t.Run("with a try every 2 s and a warning every 10 s", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const away = time.Minute
			back := time.Now().Add(away)
			var log bytes.Buffer
			setup, tries := absentDatabase(&back, &log)
			if err := setup.tryOnce(t.Context()); err != nil {
				t.Fatalf("it does not begin: %v", err)
			}
			if setup.checkReady(t.Context(), func(context.Context) error { return nil }) == nil {
				t.Error("ready with a database that is not prepared")
			}
			began := false
			component := start(setup.runAfterSetup(func(context.Context) { began = true }))
			setup.retryUntilDone(t.Context())
			<-component.done
			if !began || !setup.isDone() || setup.checkReady(t.Context(), func(context.Context) error { return nil }) != nil {
				t.Error("not prepared when the database is available")
			}
			for i, at := range *tries {
				if i > 0 && at.Sub((*tries)[i-1]) > 2*time.Second {
					t.Errorf("%v between two tries", at.Sub((*tries)[i-1]))
				}
			}
			if n := len(*tries); n < 30 || n > 40 {
				t.Errorf("%d tries in %v", n, away)
			}
			if n := strings.Count(log.String(), "level=WARN"); n < 5 || n > 6 {
				t.Errorf("%d warnings in %v:\n%s", n, away, &log)
			}
			for _, say := range []string{"DB_DSN", "connection refused", "the database is available"} {
				if !strings.Contains(log.String(), say) {
					t.Errorf("does not say %q", say)
				}
			}
		})
	})

	t.Run("and for a migration that takes longer than a connection may", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			setup, _ := absentDatabase(new(time.Now()), io.Discard)
			setup.migrate = func(ctx context.Context) error {
				select {
				case <-time.After(4 * firstTryLimit):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			if err := setup.tryOnce(t.Context()); err != nil || !setup.isDone() {
				t.Errorf("the gateway starts without its tables: %v", err)
			}
		})
	})

	t.Run("until the gateway is stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			setup, _ := absentDatabase(&time.Time{}, io.Discard)
			component := start(setup.retryUntilDone)
			waiting := start(setup.runAfterSetup(func(context.Context) { t.Error("began without a database") }))
			time.Sleep(time.Hour)
			component.stop()
			waiting.stop()
			asked, cancel := context.WithCancel(t.Context())
			cancel()
			if setup.tryOnce(asked) == nil {
				t.Error("it begins")
			}
		})
	})

	t.Run("also by the election of the leader", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			back := time.Now().Add(15 * time.Second)
			setup, _ := absentDatabase(&back, io.Discard)
			store := electionAfterSetup{elected{}, setup}
			running := start(setup.retryUntilDone)
			defer running.stop()
			limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := store.TryLead(limited); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
			if leads, err := store.TryLead(t.Context()); err != nil || !leads {
				t.Errorf("%v, %v", leads, err)
			}
			if late := time.Since(back); late > retryPauseMax {
				t.Errorf("elected %v after the database was there", late)
			}
		})
	})
}

// elected is a Store that always elects the caller.
type elected struct{ supervisor.Store }

func (elected) TryLead(context.Context) (bool, error) { return true, nil }

func TestADatabaseThatRefusesTheGatewayEndsTheStart(t *testing.T) {
	clearEnvironment(t)
	began := time.Now()
	status, said := runFailing(t, "serve", "--db-dsn="+server.In("another")+" password=hunter2",
		"--api-key=an-api-key-for-tests", "--webhook-signing-key=b", "--internal-api-key=an-internal-key-for-tests", "--listen-addr=127.0.0.1:0", "--internal-listen-addr=127.0.0.1:0")
	if status != statusFailed || !strings.Contains(said, "does not exist (3D000)") || strings.Contains(said, "hunter2") {
		t.Errorf("ends with %d: %s", status, said)
	}
	if took := time.Since(began); took > 4*firstTryLimit {
		t.Errorf("it took %v", took)
	}
}

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
	t.Cleanup(pair.Close)
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
