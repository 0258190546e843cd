package postgres_test

import (
	"context"
	"errors"
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
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/pgpair"
)

// shortDir returns a new directory that other users can enter, and whose path is short enough for a socket in it. A
// server whose socket is elsewhere has another address after a restart.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg-") //nolint:usetesting // the path of t.TempDir contains the test's name, and is closed to others
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startServer starts a migrated server for this test alone.
func startServer(t testing.TB, dir string) (*embedded.Server, *postgres.Store) {
	t.Helper()
	server := must(embedded.Start(t.Context(), embedded.Config{DataDir: dir}))(t)
	t.Cleanup(func() { check(t, server.Stop(context.Background())) })
	s := open(t, server.DSN())
	check(t, s.Migrate(t.Context()))
	return server, s
}

// killServer kills the server in dir, whose pid file stays until the next one has started.
func killServer(t *testing.T, dir string) {
	t.Helper()
	eventually(t, "a running server is killed", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
		line, _, _ := strings.Cut(string(text), "\n")
		pid, invalid := strconv.Atoi(line)
		return err == nil && invalid == nil && syscall.Kill(pid, syscall.SIGKILL) == nil
	})
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

// The server is killed repeatedly while workers report and a dispatcher delivers.
func TestEveryAcknowledgedEventIsDeliveredAlthoughTheServerIsKilled(t *testing.T) {
	const monitors, each, kills = 6, 30, 4
	dir := shortDir(t)
	server, s := startServer(t, dir)
	slow := startReceiver(t, nil)
	startGateway(t, s, "")
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
			n += len(slow.at("/" + string(id)))
		}
		return n
	}
	for i := range kills {
		before := arrived()
		eventually(t, "some arrive", func() bool { return arrived() > before+5 })
		killServer(t, dir)
		t.Logf("kill %d after %d webhooks", i+1, arrived())
	}
	workers.Wait()
	twice := 0
	for id, events := range want {
		once := func() []string { return slices.Compact(slow.at("/" + string(id))) }
		for deadline := time.Now().Add(45 * time.Second); len(once()) < len(events) && time.Now().Before(deadline); { // a lease may have to run out
			time.Sleep(10 * time.Millisecond)
		}
		expect(t, "arrived of "+string(id), once(), events)
		twice += len(slow.at("/"+string(id))) - len(events)
	}
	t.Logf("%d events, %d arrived twice", monitors*each, twice)
	if twice > kills*monitors {
		t.Errorf("%d arrived twice; at most %d were under way when the server died", twice, kills*monitors)
	}
	db := raw(t, server.DSN())
	eventually(t, "all is recorded", func() bool { return countRows(t, db, `monitor_events WHERE webhook_status <> 'sent'`) == 0 })
	expectRows(t, db, "monitor_events", monitors*each)
}

// startPair starts two servers whose database is migrated.
func startPair(t *testing.T) *pgpair.Pair {
	t.Helper()
	pair := must(pgpair.Start(t.Context(), shortDir(t)))(t)
	t.Cleanup(pair.Close)
	s := must(postgres.Open(t.Context(), pair.DSN(), postgres.Config{}))(t)
	defer s.Close()
	check(t, s.Migrate(t.Context()))
	return pair
}

// The address leads to the old and the new primary in turn for a while after a switch-over,
// and the old one answers everything but changes.
func TestASwitchOverCostsSeconds(t *testing.T) {
	pair := startPair(t)
	gateways := []*postgres.Store{open(t, pair.DSN()), open(t, pair.DSN())}
	each := func(do func(ctx context.Context, s *postgres.Store, id string) error) (succeeded int) {
		for i, s := range gateways {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if do(ctx, s, fmt.Sprint(i)) == nil {
				succeeded++
			}
			cancel()
		}
		return succeeded
	}
	writing := func() int {
		return each(func(ctx context.Context, s *postgres.Store, id string) error {
			return errors.Join(errorOf(s.Heartbeat(ctx, id)), s.CheckWrites(ctx))
		})
	}
	leaders := func() int {
		n := each(func(ctx context.Context, s *postgres.Store, _ string) error {
			leads, err := s.TryLead(ctx)
			if !leads {
				err = errors.Join(err, errors.New("it does not lead"))
			}
			return err
		})
		if n == 2 && writing() == 2 {
			t.Error("both lead")
		}
		return n
	}
	eventually(t, "one leads", func() bool { return leaders() == 1 })
	check(t, pair.Switch(t.Context()))
	reading := open(t, pair.ServerDSN(0)+" target_session_attrs=any")
	check(t, reading.Ping(t.Context()))
	expectFailure(t, "the writes of a standby", reading.CheckWrites(t.Context()))
	if led, err := reading.TryLead(t.Context()); led || err == nil {
		t.Errorf("one leads by a standby: %v, %v", led, err)
	}
	eventually(t, "all write while the address leads to both", func() bool { return leaders() < 2 && writing() == 2 })
	pair.Settle()
	eventually(t, "one leads again", func() bool { return leaders() == 1 })
}

func TestASharedSessionIsRefusedByName(t *testing.T) {
	pair := startPair(t)
	for _, mode := range []string{"session", "transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			dsn := must(pair.Pool(t.Context(), mode))(t)
			s := must(postgres.New(dsn, postgres.Config{}))(t)
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var err error
			eventually(t, "PgBouncer answers", func() bool {
				err = s.Ping(ctx)
				return err == nil || postgres.IsPermanent(err) || ctx.Err() != nil
			})
			if mode != "session" {
				if !errors.Is(err, postgres.ErrSharedSessions) || !postgres.IsPermanent(err) || !strings.Contains(err.Error(), "pool_mode=session") {
					t.Errorf("the error is %v", err)
				}
				return
			}
			check(t, err)
			check(t, s.Migrate(ctx))
			<-s.Listen(ctx)
			expect(t, "it leads", tryLead(t, s), true)
			heartbeat(t, s, "a")
			register(t, s, 1)
		})
	}
}
