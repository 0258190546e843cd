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
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/migrations"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

// maxReport is the limit of one report while an index is built.
const maxReport = time.Second

// The load while the index is built: each of the reporters stores an event in a report every
// reportPause, and a dispatcher delivers.
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
	if _, err := db.ExecContext(ctx, clearDeliveries); err != nil {
		return err
	}
	l, stop, err := startLoad(ctx, store, db)
	if err != nil {
		return err
	}
	wait.For(ctx, beforeBuild)
	reports, delivered := l.take()
	fmt.Printf("before the index     %d reports   %s;   %d deliveries\n", len(reports), reports, delivered)
	began := time.Now()
	err = migrations.Migrate(ctx, migrating, migrations.Config{
		Files: fstest.MapFS{"99999_bench_growth.sql": &fstest.MapFile{Data: []byte(buildIndex)}}, Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	})
	took := time.Since(began)
	reports, delivered = l.take()
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	fmt.Printf("built in %6.1f s    %d reports   %s;   %d deliveries\n", took.Seconds(), len(reports), reports, delivered)
	if len(reports) == 0 || delivered == 0 {
		return errors.New("nothing was reported or delivered while the index was built, so nothing was measured: use more events")
	}
	if slowest := reports.Percentile(100); slowest > maxReport {
		return fmt.Errorf("the slowest report took %s, more than %s", slowest, maxReport)
	}
	return nil
}

// load reports events of some monitors and delivers them.
type load struct {
	instantReceiver

	mu      sync.Mutex
	reports bench.Times
	failed  error
}

// startLoad begins a load. stop waits for its end.
func startLoad(ctx context.Context, store *postgres.Store, db bench.Database) (l *load, stop func() error, err error) {
	l = &load{}
	var ids []string
	err = db.QueryRowContext(ctx, `SELECT ARRAY(SELECT id FROM monitors WHERE status = 'monitoring' AND generation = 1 ORDER BY id LIMIT $1)`, reporters).Scan((*pq.StringArray)(&ids))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	dispatcher, err := delivery.New(store.Outbox, delivery.NewSender(delivery.SenderConfig{Webhooks: l}), store.Listen(ctx), delivery.Config{GracePeriod: time.Second})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	working := context.WithoutCancel(ctx) // what has begun is finished
	var all sync.WaitGroup
	all.Go(func() { dispatcher.Run(ctx) })
	for n, id := range ids {
		all.Go(func() {
			for pause := reportPause * time.Duration(n) / reporters; wait.For(ctx, pause); pause = reportPause {
				began := time.Now()
				_, err := store.Accept(working, monitor.ID(id), bench.NewReport(bench.NewStart()))
				l.note(time.Since(began), err)
			}
		})
	}
	return l, func() error { cancel(); all.Wait(); return l.failed }, nil
}

func (l *load) note(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reports, l.failed = append(l.reports, took), errors.Join(l.failed, err)
}

// take returns what the load has done since the call before.
func (l *load) take() (reports bench.Times, delivered int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	reports, l.reports = l.reports, nil
	return reports, l.got.Swap(0)
}
