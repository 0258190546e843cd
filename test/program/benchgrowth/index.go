package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/migrations"
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
func measureIndex(ctx context.Context, dsn string, store *postgres.Store, db *sql.DB) (err error) {
	migrating, err := sql.Open("postgres", dsn+" statement_timeout=0 lock_timeout=500")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, migrating.Close()) }()
	load, err := startLoad(ctx, store, db)
	if err != nil {
		return err
	}
	wait.For(ctx, beforeBuild)
	before := load.take()
	began := time.Now()
	err = migrations.Migrate(ctx, migrating, migrations.Config{
		Files: fstest.MapFS{"99999_bench_growth.sql": &fstest.MapFile{Data: []byte(buildIndex)}}, Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	})
	took := time.Since(began)
	during := load.take()
	if err = errors.Join(err, load.stop()); err != nil {
		return err
	}
	before.print("before the index")
	fmt.Printf("the index was built in %.1f s\n", took.Seconds())
	during.print("while it was built")
	if len(during.reports) == 0 || during.delivered == 0 {
		return errors.New("nothing was reported or delivered while the index was built, so nothing was measured: use more events")
	}
	if slowest := slices.Max(during.reports); slowest > maxReport {
		return fmt.Errorf("the slowest report took %s, more than %s", slowest, maxReport)
	}
	fmt.Printf("passed: no report took longer than %s\n", maxReport)
	return nil
}

// load reports events of some monitors and delivers them.
type load struct {
	store  *postgres.Store
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu       sync.Mutex
	measured figures
	failed   error
}

// figures are what a load has done for a time.
type figures struct {
	reports   []time.Duration
	leases    []time.Duration
	delivered int
}

func (f figures) print(when string) {
	if len(f.reports) == 0 || len(f.leases) == 0 {
		return
	}
	slices.Sort(f.reports)
	slices.Sort(f.leases)
	fmt.Printf("%-20s %6d reports   median %6.1f ms   p99 %6.1f ms   slowest %6.1f ms;   %6d deliveries, slowest lease %6.1f ms\n", when, len(f.reports),
		ms(f.reports[len(f.reports)/2]), ms(f.reports[len(f.reports)*99/100]), ms(f.reports[len(f.reports)-1]), f.delivered, ms(f.leases[len(f.leases)-1]))
}

func startLoad(ctx context.Context, store *postgres.Store, db *sql.DB) (*load, error) {
	rows, err := db.QueryContext(ctx, `SELECT id FROM monitors WHERE status = 'monitoring' AND generation = 1 ORDER BY id LIMIT $1`, reporters)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var ids []monitor.ID
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, monitor.ID(id))
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &load{store: store, cancel: cancel}
	for n, id := range ids {
		l.all.Go(func() {
			for pause := reportPause * time.Duration(n) / reporters; wait.For(ctx, pause); pause = reportPause {
				l.report(ctx, id)
			}
		})
	}
	l.all.Go(func() {
		for wait.For(ctx, 100*time.Millisecond) {
			l.deliver(ctx)
		}
	})
	return l, nil
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

// note adds to the figures, or stores the first failure.
func (l *load) note(err error, add func(*figures)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = errors.Join(l.failed, err)
		return
	}
	add(&l.measured)
}

func (l *load) report(ctx context.Context, id monitor.ID) {
	began := time.Now()
	_, err := l.store.Accept(context.WithoutCancel(ctx), id, monitor.Report{
		Generation: 1, At: began.UTC(), Status: monitor.Monitoring, StreamStatus: monitor.StreamLive,
		Health: monitor.Health{Video: monitor.OK, Audio: monitor.OK, LastCheckAt: began.UTC()}, Snapshot: json.RawMessage(`{"mode":"monitoring"}`),
		Events: []event.Event{{ID: uuid.Must(uuid.NewV7()).String(), Type: event.StreamStarted, At: began.UTC(), Data: event.Started{StartedAt: began.UTC(), DetectedAt: began.UTC()}}},
	})
	l.note(err, func(f *figures) { f.reports = append(f.reports, time.Since(began)) })
}

func (l *load) deliver(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	began := time.Now()
	leased, err := l.store.Lease(ctx, 32, 30*time.Second)
	l.note(err, func(f *figures) { f.leases = append(f.leases, time.Since(began)) })
	for _, d := range leased.Deliveries {
		_, err := l.store.Record(ctx, d, delivered())
		l.note(err, func(f *figures) { f.delivered++ })
	}
}
