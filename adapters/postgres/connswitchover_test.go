package postgres_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/test/harness/pgpair"
)

// startPair starts two servers whose database is migrated.
func startPair(t *testing.T) *pgpair.Pair {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgpair-") //nolint:usetesting // another user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pair := must(pgpair.Start(t.Context(), dir))(t)
	t.Cleanup(func() {
		check(t, pair.Close())
	})
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
	writes := func(ctx context.Context, s *postgres.Store, id string) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := s.Heartbeat(ctx, id)
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	leads := [2]bool{}
	last := [2]time.Time{} // when a gateway last wrote
	longest := [2]time.Duration{}
	for i, s := range gateways {
		last[i] = time.Now()
		all.Go(func() {
			for ctx.Err() == nil {
				if writes(ctx, s, []string{"one", "two"}[i]) == nil {
					longest[i] = max(longest[i], time.Since(last[i]))
					last[i] = time.Now()
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		all.Go(func() {
			for ctx.Err() == nil {
				mu.Lock() // one asks after the other, so two answers are of the same time
				limited, cancel := context.WithTimeout(ctx, time.Second)
				is, err := s.TryLead(limited)
				cancel()
				leads[i] = is && err == nil
				if leads[0] && leads[1] && s.CheckWrites(ctx) == nil {
					t.Error("both lead")
				}
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	eventually(t, "one leads", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return leads[0] || leads[1]
	})
	check(t, pair.Switch(t.Context()))
	reading := open(t, pair.ServerDSN(0)+" target_session_attrs=any")
	check(t, reading.Ping(t.Context()))
	if err := reading.CheckWrites(t.Context()); err == nil {
		t.Error("a standby says that it can write")
	}
	if led, err := reading.TryLead(t.Context()); led || err == nil {
		t.Errorf("one leads by a standby: %v, %v", led, err)
	}
	eventually(t, "all write while the address leads to both", func() bool {
		return writes(t.Context(), gateways[0], "one") == nil && writes(t.Context(), gateways[1], "two") == nil &&
			gateways[0].CheckWrites(t.Context()) == nil && gateways[1].CheckWrites(t.Context()) == nil
	})
	pair.Settle()
	eventually(t, "one leads again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return leads[0] || leads[1]
	})
	cancel()
	all.Wait()
	t.Logf("the longest pauses of writing were %v", longest)
	for _, pause := range longest {
		if pause > 30*time.Second { // 10 s on an idle machine
			t.Errorf("a gateway could not write for %v", pause)
		}
	}
}
