package postgres_test

import (
	"context"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

func TestAContextEndsACallToAnUnresponsiveServer(t *testing.T) {
	t.Run("and the next connection works", func(t *testing.T) {
		dsn := database(t)
		proxied := startProxy(t, dsn)
		s, db := openSlow(t, proxied.dsn), raw(t, dsn)
		m := register(t, s, 1)
		heartbeat(t, s, "a")
		proxied.dropAll.Store(true)
		for name, do := range map[string]func(ctx context.Context) error{
			"a query":       func(ctx context.Context) error { _, err := s.Get(ctx, m.ID); return err },
			"a transaction": func(ctx context.Context) error { _, err := s.Accept(ctx, m.ID, report()); return err },
			"a lease":       func(ctx context.Context) error { _, err := s.Lease(ctx, 1, time.Minute); return err },
			"a heartbeat":   func(ctx context.Context) error { _, err := s.Heartbeat(ctx, "a"); return err },
			"a ping":        s.Ping,
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			requireWithin(t, promptly, name, func() {
				expectFailure(t, name, do(ctx))
			})
			cancel()
		}
		proxied.dropAll.Store(false)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		heartbeat(t, s, "a")
		check(t, s.Close())
		eventually(t, "no connection is left", func() bool { return countConnections(t, db) == 0 })
	})

	t.Run("while a prepared statement runs, whose cancellation is lost, too", func(t *testing.T) {
		proxied := startProxy(t, database(t))
		s := openSlow(t, proxied.dsn)
		m := register(t, s, 1)
		proxied.lose(func(statement string) loss {
			if strings.Contains(statement, "FOR UPDATE") {
				proxied.dropAll.Store(true)
				return silentLoss
			}
			return noLoss
		})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		expectFailure(t, "what is not answered", errorOf(s.Accept(ctx, m.ID, report())))
		requireWithin(t, promptly, "to end its transaction", func() { _ = s.Close() })
	})

	t.Run("without a context a call ends a second after the statement timeout", func(t *testing.T) {
		proxied := startProxy(t, database(t))
		s := must(postgres.Open(t.Context(), proxied.dsn, postgres.Config{StatementTimeout: 500 * time.Millisecond}))(t)
		defer s.Close()
		proxied.dropAll.Store(true)
		ended := make(chan error, 1)
		go func() { ended <- errorOf(s.Get(context.Background(), registration(1).ID)) }()
		select {
		case err := <-ended:
			expectFailure(t, "what is not answered", err)
		case <-time.After(promptly):
			t.Error("it goes on")
		}
	})

	t.Run("a context that ends after a call keeps the connection", func(t *testing.T) {
		s, db := newStore(t)
		m := register(t, s, 1)
		process := func() int {
			return value[int](t, db, `SELECT max(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stream-monitor'`)
		}
		before := process()
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			must(s.Get(ctx, m.ID))(t)
			must(s.Accept(ctx, m.ID, report()))(t)
			cancel()
		}
		expect(t, "the process that serves", process(), before)
	})
}

// The server keeps the transaction and its locks when a connection is lost silently.
func TestALostTransactionLocksItsMonitorForSecondsOnly(t *testing.T) {
	proxied := startProxy(t, database(t))
	s := open(t, proxied.dsn)
	m := register(t, s, 1)
	proxied.lose(func(statement string) loss {
		if proxied.lost == 0 && strings.Contains(statement, "FOR UPDATE") {
			return silentLoss
		}
		return noLoss
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := inBackground(t, func() error {
		expectFailure(t, "what is not answered", errorOf(s.Accept(ctx, m.ID, report())))
		return nil
	})
	eventually(t, "the server has locked the monitor", func() bool { return proxied.withheld.Load() == 1 })
	cancel()
	wait()
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	check(t, reportUntilAccepted(ctx, s, m.ID, report()))
}

// A gateway with little CPU may pause for seconds between two statements, which costs no transaction. The server ends a
// transaction that is idle for longer, which is repeated.
func TestATransactionIsRepeatedOnlyAfterALongPauseOfItsGateway(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		commits  int
	}{"as usual": {"", 1}, "for longer than the server's patience": {" idle_in_transaction_session_timeout=500", 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxied := startProxy(t, database(t))
			s := open(t, proxied.dsn+c.settings)
			m := register(t, s, 1)
			commits := 0
			proxied.lose(func(statement string) loss {
				if strings.HasSuffix(statement, "COMMIT") {
					if commits++; commits == 1 {
						time.Sleep(3 * time.Second) // the server's patience is what is tested
					}
				}
				return noLoss
			})
			acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
			expect(t, "tries of the transaction", commits, c.commits)
		})
	}
}

func TestAnUnresponsiveListeningConnectionIsReplaced(t *testing.T) {
	listening := func(t *testing.T, dsn string) <-chan struct{} {
		t.Helper()
		s := open(t, dsn)
		s.ShortenTimeouts()
		wakes, stop := listen(t, s)
		t.Cleanup(func() { requireWithin(t, patience, "to stop listening", stop) })
		return wakes
	}
	// requireWakeupByEvent fails the test unless an event wakes the listener.
	requireWakeupByEvent := func(t *testing.T, dsn string, wakes <-chan struct{}) {
		t.Helper()
		s := open(t, dsn)
		registerWith(t, s, 1, blackout(1))
		requireWakeup(t, wakes, "an event is stored")
	}

	t.Run("an idle connection is kept", func(t *testing.T) {
		dsn := database(t)
		wakes := listening(t, dsn)
		select {
		case <-wakes:
			t.Error("it was made anew")
		case <-time.After(3 * time.Second):
		}
		requireWakeupByEvent(t, dsn, wakes)
	})

	t.Run("when the network drops everything", func(t *testing.T) {
		dsn := database(t)
		proxied := startProxy(t, dsn)
		wakes := listening(t, proxied.dsn)
		proxied.dropAll.Store(true)
		time.AfterFunc(3*time.Second, func() { proxied.dropAll.Store(false) })
		requireWakeup(t, wakes, "it listens again")
		requireWakeupByEvent(t, dsn, wakes)
		proxied.dropAll.Store(true) // while it stops to listen
	})

	t.Run("when its server process is stopped", func(t *testing.T) {
		dsn := database(t)
		wakes := listening(t, dsn)
		const listener = ` FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stream-monitor' AND query LIKE '%LISTEN%'`
		db := raw(t, dsn)
		eventually(t, "the connection that listens is seen", func() bool { return value[bool](t, db, `SELECT count(*) = 1`+listener) })
		pid := value[int](t, db, `SELECT pid`+listener)
		check(t, syscall.Kill(pid, syscall.SIGSTOP))
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
		requireWakeup(t, wakes, "it listens on another connection")
		requireWakeupByEvent(t, dsn, wakes)
	})
}

// listen lets a store listen until stop, which waits for the end of the listener.
func listen(t testing.TB, s *postgres.Store) (wakes <-chan struct{}, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wakes = s.Listen(ctx)
	requireWakeup(t, wakes, "it listens")
	return wakes, func() {
		cancel()
		for range wakes { // until it is closed
		}
	}
}

func requireWakeup(t testing.TB, wakes <-chan struct{}, why string) {
	t.Helper()
	select {
	case <-wakes:
	case <-time.After(patience):
		t.Fatalf("no wake-up in %s after %s", patience, why)
	}
}

func TestAListenerEndsWithItsContextAndLogsNoLostConnection(t *testing.T) {
	log := &logbuffer.Buffer{}
	s := must(postgres.Open(t.Context(), database(t), postgres.Config{Log: slog.New(slog.NewTextHandler(log, nil))}))(t)
	defer s.Close()
	before := goleak.IgnoreCurrent()
	for range 20 {
		_, stop := listen(t, s)
		stop()
	}
	goleak.VerifyNone(t, before)
	if log.Contains("connection lost") {
		t.Errorf("logged:\n%s", log)
	}
}
