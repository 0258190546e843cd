package postgres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// away is how long the database is away in these tests. All backoffs have reached
// their maximum by then.
const away = 2 * time.Second

// backWithin is how soon an alert must be sent after the database is back, on a busy machine. If the
// network has acknowledged a request and dropped it, the wait for the answer ends a second after the
// statement timeout. A gateway that did not notice it would wait for minutes.
const backWithin = 30 * time.Second

// shortDir returns a new directory whose path is short enough for a socket in it. A
// server whose socket is elsewhere has another address after a restart.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg-") //nolint:usetesting // the path of t.TempDir contains the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startServer starts a migrated server for this test alone.
func startServer(t testing.TB, dir string) (*embedded.Server, *postgres.Store) {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := open(t, server.DSN())
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return server, s
}

// postmaster returns the process id of the server in dir; 0: none.
func postmaster(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		return 0
	}
	return pid
}

// reportUntilAccepted repeats a report until it is accepted, as a worker does.
func reportUntilAccepted(ctx context.Context, s *postgres.Store, id monitor.ID, r monitor.Report) error {
	for {
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		answer, err := s.Accept(limited, id, r)
		cancel()
		if err == nil && answer.Order == monitor.Run {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("order %q: %w (%w)", answer.Order, ctx.Err(), err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func TestAnEventIsSentWithinSecondsOfTheDatabasesReturn(t *testing.T) {
	// alerted measures from back, which blocks until the database is there again.
	// One alert is pending all the time, one is reported while it is away.
	alerted := func(t *testing.T, direct, s *postgres.Store, within time.Duration, leave, back func()) {
		t.Helper()
		good := startReceiver(t, nil)
		startDispatcher(t, s, s.Outbox, delivery.SendTimeout)
		before, during := registerWithCallback(t, direct, 1, good.url), registerWithCallback(t, direct, 2, good.url)
		acceptReport(t, direct, before.ID, report(blackout(1)), monitor.Run)
		eventually(t, "all works", func() bool { return len(good.eventsOf(before.ID)) == 1 })
		leave()
		worker := make(chan error, 1)
		go func() { worker <- reportUntilAccepted(t.Context(), s, during.ID, report(blackout(2))) }()
		time.Sleep(away) // the time that it is away is what is tested
		back()
		began := time.Now()
		eventually(t, "it leaves", func() bool { return len(good.eventsOf(during.ID)) == 1 })
		took := time.Since(began)
		t.Logf("it left %v after the database was back", took)
		if took > within {
			t.Errorf("it took %v", took)
		}
		if err := <-worker; err != nil {
			t.Error(err)
		}
	}

	t.Run("after it was stopped", func(t *testing.T) {
		dir := shortDir(t)
		server, s := startServer(t, dir)
		alerted(t, s, s, backWithin, func() {
			if err := server.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, func() { startServer(t, dir) })
	})

	t.Run("after its network dropped everything", func(t *testing.T) {
		dsn := database(t)
		proxied := startProxy(t, dsn)
		alerted(t, open(t, dsn), open(t, proxied.dsn), backWithin, func() { proxied.dropAll.Store(true) }, func() { proxied.dropAll.Store(false) })
	})

	t.Run("after its process was stopped", func(t *testing.T) {
		dir := shortDir(t)
		_, s := startServer(t, dir)
		all := func(signal syscall.Signal) {
			pid := postmaster(dir)
			if pid == 0 {
				t.Fatal("there is no server")
			}
			found, err := filepath.Glob("/proc/[0-9]*/stat")
			if err != nil {
				t.Fatal(err)
			}
			for _, stat := range found {
				text, err := os.ReadFile(stat)
				if err != nil {
					continue // it has ended meanwhile
				}
				_, rest, _ := strings.Cut(string(text), ") ")
				fields := strings.Fields(rest)
				child, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
				if child == pid || len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
					_ = syscall.Kill(child, signal)
				}
			}
		}
		alerted(t, s, s, backWithin, func() { all(syscall.SIGSTOP) }, func() { all(syscall.SIGCONT) })
	})
}

// The server is killed repeatedly while workers report and a dispatcher delivers.
func TestEveryAcknowledgedEventIsDeliveredAlthoughTheServerIsKilled(t *testing.T) {
	const monitors, each, kills = 6, 30, 4
	dir := shortDir(t)
	server, s := startServer(t, dir)
	slow := startReceiver(t, nil)
	startDispatcher(t, s, s.Outbox, delivery.SendTimeout)
	want := map[monitor.ID][]string{}
	var workers sync.WaitGroup
	for n := range monitors {
		m := registerWithCallback(t, s, n, slow.url)
		var reports []monitor.Report
		for i := range each {
			r := report(blackout(i))
			reports = append(reports, r)
			want[m.ID] = append(want[m.ID], r.Events[0].ID)
		}
		workers.Go(func() {
			for _, r := range reports {
				if err := reportUntilAccepted(t.Context(), s, m.ID, r); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(100 * time.Millisecond) // a worker reports now and then
			}
		})
	}
	arrived := func() (n int) {
		for id := range want {
			n += len(slow.eventsOf(id))
		}
		return n
	}
	for i := range kills {
		before := arrived()
		eventually(t, "some arrive", func() bool { return arrived() > before+5 })
		eventually(t, "a running server is killed", func() bool { // the pid file of a dead one stays until the next has started
			pid := postmaster(dir)
			return pid != 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
		})
		t.Logf("kill %d after %d webhooks", i+1, arrived())
	}
	workers.Wait()
	twice := 0
	for id, events := range want {
		once := func() []string { return slices.Compact(slow.eventsOf(id)) }
		for deadline := time.Now().Add(45 * time.Second); len(once()) < len(events) && time.Now().Before(deadline); { // a lease may have to run out
			time.Sleep(10 * time.Millisecond)
		}
		if !slices.Equal(once(), events) {
			t.Errorf("%s: arrived\n%v, reported\n%v", id, once(), events)
		}
		twice += len(slow.eventsOf(id)) - len(events)
	}
	t.Logf("%d events, %d arrived twice", monitors*each, twice)
	if twice > kills*monitors {
		t.Errorf("%d arrived twice; at most %d were under way when the server died", twice, kills*monitors)
	}
	db := raw(t, server.DSN())
	eventually(t, "all is recorded", func() bool {
		var sent, others int
		err := db.QueryRowContext(t.Context(), `
			SELECT count(*) FILTER (WHERE webhook_status = 'sent'), count(*) FILTER (WHERE webhook_status <> 'sent') FROM monitor_events`).Scan(&sent, &others)
		return err == nil && sent == monitors*each && others == 0
	})
}
