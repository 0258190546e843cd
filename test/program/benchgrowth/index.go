package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing/fstest"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/migrations"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

// maxReport is the limit of one report while an index is built.
const maxReport = time.Second

// The load while the index is built: each of the reporters stores an event in a report every
// reportPause.
const (
	reporters   = 20
	reportPause = 500 * time.Millisecond
	beforeBuild = 10 * time.Second // of the same load, for comparison
)

// buildIndex is the migration that is measured, written by the rules of CONTRIBUTING.md.
const buildIndex = `-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_bench_growth;
CREATE INDEX CONCURRENTLY idx_bench_growth ON monitor_events (event_type, created_at, id);`

// measureIndex builds an index of all events while reports and deliveries go on.
func measureIndex(ctx context.Context, store *postgres.Store, db bench.Database) (err error) {
	migrating, err := sql.Open("postgres", db.DSN+" statement_timeout=0 lock_timeout=500")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, migrating.Close()) }()
	var ids []string
	if err := db.QueryRowContext(ctx, `SELECT ARRAY(SELECT id FROM monitors WHERE status = 'monitoring' AND generation = 1 ORDER BY id LIMIT $1)`, reporters).Scan((*pq.StringArray)(&ids)); err != nil {
		return err
	}
	l := startLoad(ctx, store, ids)
	wait.For(ctx, beforeBuild)
	before := l.take()
	began := time.Now()
	err = migrations.Migrate(ctx, migrating, migrations.Config{
		Files: fstest.MapFS{"99999_bench_growth.sql": &fstest.MapFile{Data: []byte(buildIndex)}}, Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	})
	took := time.Since(began)
	during := l.take()
	if err = errors.Join(err, l.stop()); err != nil {
		return err
	}
	fmt.Printf("before the index     %s\nthe index was built in %.1f s\nwhile it was built   %s\n", before, took.Seconds(), during)
	if len(during.reports) == 0 || during.delivered == 0 {
		return errors.New("nothing was reported or delivered while the index was built, so nothing was measured: use more events")
	}
	if slowest := during.reports.Percentile(100); slowest > maxReport {
		return fmt.Errorf("the slowest report took %s, more than %s", slowest, maxReport)
	}
	return nil
}

// load reports events of some monitors and delivers them.
type load struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu       sync.Mutex
	measured figures
	failed   error
}

// figures are what a load has done for a time.
type figures struct {
	reports, leases bench.Times
	delivered       int
}

func (f figures) String() string {
	return fmt.Sprintf("%6d reports   %s;   %6d deliveries, slowest lease %6.1f ms", len(f.reports), f.reports, f.delivered, bench.MS(f.leases.Percentile(100)))
}

func startLoad(ctx context.Context, store *postgres.Store, ids []string) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel}
	working := context.WithoutCancel(ctx) // what has begun is finished
	for n, id := range ids {
		l.all.Go(func() {
			for pause := reportPause * time.Duration(n) / reporters; wait.For(ctx, pause); pause = reportPause {
				began := time.Now()
				started := event.Event{ID: newID(), Type: event.StreamStarted, At: began.UTC(), Data: event.Started{StartedAt: began.UTC(), DetectedAt: began.UTC()}}
				_, err := store.Accept(working, monitor.ID(id), newReport(started))
				l.note(err, func(f *figures) { f.reports = append(f.reports, time.Since(began)) })
			}
		})
	}
	l.all.Go(func() {
		for wait.For(ctx, 100*time.Millisecond) {
			began := time.Now()
			leased, err := store.Lease(working, 32, 30*time.Second)
			l.note(err, func(f *figures) { f.leases = append(f.leases, time.Since(began)) })
			for _, d := range leased.Deliveries {
				_, err := store.Record(working, d, delivered())
				l.note(err, func(f *figures) { f.delivered++ })
			}
		}
	})
	return l
}

// take returns what the load has done since the call before.
func (l *load) take() figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.measured
	l.measured = figures{}
	return taken
}

func (l *load) stop() error {
	l.cancel()
	l.all.Wait()
	return l.failed
}

// note adds to the figures, or stores a failure.
func (l *load) note(err error, add func(*figures)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = errors.Join(l.failed, err)
		return
	}
	add(&l.measured)
}
