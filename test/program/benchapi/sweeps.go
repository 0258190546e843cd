package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/tcpproxy"
)

// maxLock is the limit of how long a sweep may hold a lock.
const maxLock = 100 * time.Millisecond

// roundTrip is how long a message to the database and its answer take.
const roundTrip = 5 * time.Millisecond

//go:embed transactions.sql
var timeTransactions string

// A sweep is work of the elected gateway. It runs as the gateway runs it, in batches.
type sweep struct {
	name string
	fill string // makes something due
	run  func(ctx context.Context) error
}

// measureSweeps runs every sweep over a slow network and prints how long its transactions
// took. Error: one in a hundred took longer than maxLock. The sweeps delete much of what fill has
// stored.
func measureSweeps(ctx context.Context, db bench.Database) (err error) {
	dsn, closeNetwork, err := slowNetwork(db.DSN)
	if err != nil {
		return err
	}
	defer closeNetwork()
	return bench.WithStore(ctx, dsn, postgres.Config{}, func(store *postgres.Store) error {
		fmt.Printf("transactions of the sweeps, with a network of %s there and back\n", roundTrip)
		var errs []error
		for _, s := range sweepsOf(store) {
			errs = append(errs, s.measure(ctx, db))
		}
		return errors.Join(errs...)
	})
}

func (s sweep) measure(ctx context.Context, db bench.Database) error {
	for _, statement := range []string{s.fill, timeTransactions} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("prepare the sweep of %s: %w", s.name, err)
		}
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	var ms pq.Float64Array
	if err := db.QueryRowContext(ctx, `SELECT ARRAY(SELECT ms FROM bench_transactions)`).Scan(&ms); err != nil {
		return err
	}
	if len(ms) < 5 {
		return fmt.Errorf("the sweep of %s had %d transactions, which is too few to be measured", s.name, len(ms))
	}
	var took bench.Times
	for _, t := range ms {
		took = append(took, time.Duration(t*float64(time.Millisecond)))
	}
	fmt.Printf("%-42s %8d transactions   %s\n", s.name, len(took), took)
	if took.Percentile(99) > maxLock {
		return fmt.Errorf("the p99 of the transactions of the sweep of %s is above %s", s.name, maxLock)
	}
	return nil
}

// sweepsOf returns all sweeps. Incidents come first, because their monitors' other
// incidents expire then.
func sweepsOf(store *postgres.Store) []sweep {
	log := slog.New(slog.DiscardHandler)
	expiry := histories.NewMonitorExpiry(store, 24*time.Hour, log)
	history := histories.NewExpiry(store, 33*24*time.Hour, time.Now)
	evidenceSweep := evidences.NewSweep(store, store.BlobStore(), evidence.Retention{}, log)
	return []sweep{
		{"incidents without recovery", reportedMonitors, incidents.NewReconcile(store, nil, log).Run},
		{"incidents", dueIncidents, incidents.NewService(store).Sweep},
		{"evidence", expiredEvidence, evidenceSweep.Run},
		{"blobs", orphanedBlobs, evidenceSweep.Run},
		{"events and incidents of ended monitors", expiredEvents, expiry.Run},
		{"history", ``, func(ctx context.Context) error { _, _, err := history.DeleteExpired(ctx); return err }},
		{"feed", ``, func(ctx context.Context) error {
			for more := true; more; {
				var err error
				if _, more, err = store.DeleteFeed(ctx, 30*time.Minute); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// reportedMonitors makes the active monitors report just now that all is well, as their
// lanes say. One in ten has an open incident.
const reportedMonitors = `UPDATE monitors SET reported_at = now() WHERE ended_at IS NULL`

// dueIncidents makes the newest incident of nearly each monitor quiet and unresolved.
const dueIncidents = `
	UPDATE incidents SET state = 'open', resolved_at = NULL, due_at = now() WHERE state = 'resolved' AND id IN (
		SELECT DISTINCT ON (monitor_id) id FROM incidents ORDER BY monitor_id, seq DESC)`

// expiredEvidence gives each incident a record of two files that has expired, and a
// picture of it, instead of the filled evidence. Half of the incidents are severe.
var expiredEvidence = strings.ReplaceAll(`
	TRUNCATE evidence, evidence_files, evidence_blobs;
	INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
	SELECT id, monitor_id, gen_random_uuid(), id, 'black', 'alert', 'normal', now() - interval '15 days' FROM incidents;
	INSERT INTO evidence_blobs (sha256, size) SELECT SHA256, 1 FROM evidence, unnest(ARRAY['onset', 'clip']) variant;
	INSERT INTO evidence_files (evidence_id, variant, sha256, size, width, height, taken_at)
	SELECT id, variant, SHA256, 1, 640, 360, created_at FROM evidence, unnest(ARRAY['onset', 'clip']) variant;
	UPDATE incidents SET picture = jsonb_build_object('evidence_id', id, 'variant', 'onset', 'condition', 'black', 'clarity', 1, 'taken_at', opened_at)`,
	"SHA256", "decode(md5(id || variant) || md5(variant || id), 'hex')")

// orphanedBlobs adds 300 pictures and 5 clips of 20 MiB, and makes them and the blobs of
// deleted evidence orphans.
const orphanedBlobs = `
	UPDATE evidence_blobs SET reserved_at = now() - interval '2 hours';
	INSERT INTO blobs (upload, sha256, size, complete)
	SELECT gen_random_uuid(), decode(md5(n::text) || md5('blob'), 'hex'), CASE WHEN n <= 5 THEN 20971520 ELSE 60000 END, true FROM generate_series(1, 305) n;
	INSERT INTO blob_chunks (upload, number, data)
	SELECT upload, number, convert_to(repeat('x', least(size, 262144)::int), 'UTF8') FROM blobs, generate_series(0, (size - 1) / 262144) number;
	INSERT INTO evidence_blobs (sha256, size, reserved_at) SELECT sha256, size, now() - interval '2 hours' FROM blobs`

// expiredEvents gives an ended monitor 20,000 more events.
const expiredEvents = `
	INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
	SELECT gen_random_uuid(), monitor_id, event_type, payload, body, 'sent', created_at - interval '90 days' + k * interval '1 s'
	FROM monitor_events, generate_series(1, 200) k WHERE monitor_id = (SELECT id FROM monitors WHERE ended_at IS NOT NULL LIMIT 1)`

var hostWords = regexp.MustCompile(`host='([^']*)' port=(\d+)`)

// slowNetwork returns a DSN of the same database, from which every message takes half of roundTrip each
// way. The given DSN names a unix socket.
func slowNetwork(dsn string) (slow string, closeNetwork func(), err error) {
	words := hostWords.FindStringSubmatch(dsn)
	if words == nil {
		return "", nil, fmt.Errorf("no socket in %s", dsn)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	proxy := tcpproxy.Start(listener, tcpproxy.To("unix", words[1]+"/.s.PGSQL."+words[2]))
	proxy.Disturb(tcpproxy.Disturbance{Delay: roundTrip / 2})
	return strings.Replace(dsn, words[0], fmt.Sprintf("host=127.0.0.1 port=%d", proxy.Addr().Port), 1), proxy.Close, nil
}
