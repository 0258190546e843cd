package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// maxLock is the limit of how long a sweep may hold a lock.
const maxLock = 100 * time.Millisecond

// A sweep is work of the elected gateway. It runs as the gateway runs it, in batches.
type sweep struct {
	name string
	fill string // makes something due
	run  func(ctx context.Context) error
}

// measureLocks runs every sweep through a proxy and prints how long its transactions
// took. It returns the sweeps of which one in a hundred took longer than maxLock. The
// sweeps delete much of what fill has stored.
func measureLocks(ctx context.Context, dsn string, conn *sqlx.DB) (slow []string, err error) {
	network, err := startProxy(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, network.close()) }()
	store, err := postgres.Open(ctx, network.dsn, postgres.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	sweeps := sweepsOf(store)
	fmt.Printf("transactions of the sweeps, with a network of %s there and back\n", roundTrip)
	for _, s := range sweeps {
		if _, err := conn.ExecContext(ctx, s.fill); err != nil {
			return nil, fmt.Errorf("prepare the sweep of %s: %w", s.name, err)
		}
		network.times()
		if err := s.run(ctx); err != nil {
			return nil, err
		}
		took := network.times()
		if len(took) < 5 {
			return nil, fmt.Errorf("the sweep of %s had %d transactions, which is too few to be measured", s.name, len(took))
		}
		p99, verdict := took[len(took)*99/100], "passed"
		if p99 > maxLock {
			verdict = "FAILED: above " + maxLock.String()
			slow = append(slow, s.name)
		}
		fmt.Printf("%-42s %8d transactions   median %6.1f ms   p99 %6.1f ms   slowest %6.1f ms   %s\n",
			s.name, len(took), ms(took[len(took)/2]), ms(p99), ms(took[len(took)-1]), verdict)
	}
	return slow, nil
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
