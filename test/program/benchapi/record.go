package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

//go:embed fill.sql
var fillStatements string

// Size of the measured installation, and of a measurement.
const (
	filledMonitors = 1000
	requests       = 200
)

// A gateway answers the start of the feed from memory for 1 s. So it is requested fewer
// times, each of which reads the database.
const (
	feedStart     = "/api/v1/feed?follow=false"
	startRequests = 30
	startPause    = 1100 * time.Millisecond
)

// maxRecordP99 is the limit of the requests that an operator waits for.
const maxRecordP99 = 50 * time.Millisecond

// question is a request that is measured.
type question struct {
	name, path string
	limited    bool // by maxRecordP99
}

// measureRecord fills a database with 1,000 monitors, measures the requests of an
// operator through a gateway, and writes the plans of their queries to a file. It then
// measures the sweeps.
func measureRecord(ctx context.Context, dir, binary, planFile string) (err error) {
	log := &plans.Log{}
	db, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "record-db"), Log: slog.New(log)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Stop(context.WithoutCancel(ctx))) }()
	conn, err := fill(ctx, db.DSN())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	questions, err := questionsOf(ctx, conn)
	if err != nil {
		return err
	}
	service := system.Config{Binary: binary, DataDir: filepath.Join(dir, "record-data"), Env: []string{
		"DB_DSN=" + db.DSN(), "MAX_MONITORS=10000", "YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true",
	}}
	if err := mergeMinutes(ctx, db.DSN(), conn); err != nil {
		return err
	}
	unlock, err := lockPending(ctx, conn)
	if err != nil {
		return err
	}
	if err := explainQuestions(ctx, service, conn, log, questions, planFile); err != nil {
		return errors.Join(err, unlock())
	}
	fmt.Println("plans of the queries:", planFile)
	late, err := measureQuestions(ctx, service, questions)
	if err = errors.Join(err, unlock()); err != nil {
		return err
	}
	slow, err := measureLocks(ctx, db.DSN(), conn)
	if len(late) > 0 {
		err = errors.Join(err, fmt.Errorf("p99 above %s, or no answer: %s", maxRecordP99, strings.Join(late, "; ")))
	} else {
		fmt.Printf("passed: the p99 of every limited request is at most %s\n", maxRecordP99)
	}
	if len(slow) > 0 {
		err = errors.Join(err, fmt.Errorf("transactions of sweeps above %s: %s", maxLock, strings.Join(slow, "; ")))
	}
	return err
}

// lockPending locks the pending deliveries until unlock. The gateway skips locked ones. It
// would try the others, and end their monitors when all attempts have failed.
func lockPending(ctx context.Context, conn *sqlx.DB) (unlock func() error, err error) {
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `SELECT FROM deliveries WHERE state = 'pending' FOR UPDATE`); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx.Rollback, nil
}

// fill stores the monitors and their record.
func fill(ctx context.Context, dsn string) (*sqlx.DB, error) {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return nil, err
	}
	// With its epoch, the ids of the feed stay valid when a gateway starts.
	if err := errors.Join(store.Migrate(ctx), store.RenewFeedEpoch(ctx), store.Close()); err != nil {
		return nil, err
	}
	conn, err := sqlx.Open("postgres", dsn)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for statement := range strings.SplitSeq(fillStatements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := conn.ExecContext(ctx, statement, filledMonitors); err != nil {
			return nil, errors.Join(fmt.Errorf("fill the database: %w in\n%s", err, statement), conn.Close())
		}
	}
	if _, err := conn.ExecContext(ctx, `VACUUM ANALYZE`); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	fmt.Printf("\n%d monitors with events, incidents and history filled in %.0f s\n", filledMonitors, time.Since(began).Seconds())
	return conn, nil
}

// mergeMinutes merges the minutes of the filled history, as the elected gateway does, and
// prints how long it took.
func mergeMinutes(ctx context.Context, dsn string, conn *sqlx.DB) (err error) {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	before := history.SettledBefore(time.Now())
	var slowest, total time.Duration
	steps := 0
	for more := true; more; steps++ {
		began := time.Now()
		if more, err = store.MergeMinutes(ctx, before); err != nil {
			return err
		}
		slowest, total = max(slowest, time.Since(began)), total+time.Since(began)
	}
	fmt.Printf("%-42s %8d steps     mean %6.1f ms   slowest %6.1f ms\n", "merging minutes by ten", steps, ms(total)/float64(steps), ms(slowest))
	_, err = conn.ExecContext(ctx, `VACUUM ANALYZE history_ten_minutes`) // as the server does by itself
	return err
}

// questionsOf returns the requests that are measured, for the newest monitor.
func questionsOf(ctx context.Context, conn *sqlx.DB) ([]question, error) {
	var id, incident, cursor string
	err := conn.QueryRowContext(ctx, `
		SELECT m.id, (SELECT i.id FROM incidents i WHERE i.monitor_id = m.id ORDER BY seq LIMIT 1), (SELECT epoch || '-' || version - 100 FROM feed_head)
		FROM monitors m ORDER BY seq DESC LIMIT 1`).Scan(&id, &incident, &cursor)
	if err != nil {
		return nil, err
	}
	ago := func(d time.Duration) string { return "from=" + time.Now().Add(-d).UTC().Format(time.RFC3339) }
	const hour, day = time.Hour, 24 * time.Hour
	monitors, incidents, statistics := "/api/v1/monitors", "/api/v1/incidents", "/api/v1/statistics?zone=Asia/Tokyo"
	timeline := monitors + "/" + id + "/timeline?"
	return []question{
		{"monitors", monitors, true},
		{"monitors, 200", monitors + "?limit=200", true},
		{"monitors, status=completed", monitors + "?status=completed", true},
		{"monitors, trouble", monitors + "?trouble=true", true},
		{"monitors, blind", monitors + "?blind=true", true},
		{"monitors, live", monitors + "?live=true", true},
		{"monitors, q", monitors + "?q=channel+77", true},
		{"one monitor", monitors + "/" + id, true},
		{"its events", monitors + "/" + id + "/events", false},
		{"incidents", incidents, true},
		{"incidents, 200", incidents + "?limit=200", true},
		{"incidents, open", incidents + "?state=open", true},
		{"incidents, condition=no_media", incidents + "?condition=no_media", true},
		{"incidents, condition=late (none)", incidents + "?condition=late", true},
		{"incidents, severity=3", incidents + "?severity=3", true},
		{"incidents of a monitor", incidents + "?monitor_id=" + id, true},
		{"incidents of a month ago", incidents + "?" + ago(30*day) + "&to=" + time.Now().Add(-29*day).UTC().Format(time.RFC3339), true},
		{"one incident", incidents + "/" + incident, true},
		{"timeline, 1 h", timeline + ago(hour), true},
		{"timeline, 24 h", timeline + ago(day), true},
		{"timeline, 35 d", timeline + ago(35*day), true},
		{"timeline, 35 d in 2,000 buckets", timeline + ago(35*day) + "&buckets=2000", true},
		{"sessions", monitors + "/" + id + "/sessions", false},
		{"statistics, a monitor, 35 d", statistics + "&by=day&monitor_id=" + id + "&" + ago(35*day), false},
		{"statistics, all, 24 h", statistics + "&by=hour&" + ago(day), false},
		{"statistics, all, 35 d", statistics + "&by=day&" + ago(35*day), false},
		{"feed, start (state.replace), 1.1 s apart", feedStart, true},
		{"feed, 100 entries", "/api/v1/feed?after=" + cursor, false},
	}, nil
}

// measureQuestions prints the time of each request and returns those above their limit.
func measureQuestions(ctx context.Context, c system.Config, questions []question) (late []string, err error) {
	s, err := system.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	defer client.CloseIdleConnections()
	load, _ := os.ReadFile("/proc/loadavg") // absent elsewhere than on Linux
	fmt.Printf("%d requests each, one at a time (start of the feed: %d, each of which reads the database); load of the machine: %s\n", requests, startRequests, strings.TrimSpace(string(load)))
	for _, q := range questions {
		took, bytes, err := ask(ctx, client, s.URL(), q)
		if err != nil {
			fmt.Printf("%-42s FAILED: %s; the gateway's log ends:\n%s\n", q.name, err, s.Tail(3))
			late = append(late, q.name)
			continue
		}
		median, p99 := took[len(took)/2], took[len(took)*99/100]
		verdict := "no limit"
		switch {
		case q.limited && p99 > maxRecordP99:
			verdict = "FAILED: above " + maxRecordP99.String()
			late = append(late, q.name)
		case q.limited:
			verdict = "passed"
		}
		fmt.Printf("%-42s %8.1f kB   median %6.1f ms   p99 %6.1f ms   in %3d   %s\n", q.name, float64(bytes)/1000, ms(median), ms(p99), len(took), verdict)
	}
	return late, nil
}

// ask sends a request repeatedly and returns the times in order, and the length of the last answer.
// A slow request is sent for 20 s at most, without the pauses.
func ask(ctx context.Context, client *http.Client, gateway string, q question) (took []time.Duration, bytes int64, err error) {
	count, pause := requests, time.Duration(0)
	if q.path == feedStart {
		count, pause = startRequests, startPause
	}
	for total := time.Duration(0); len(took) < count && (len(took) < 3 || total < 20*time.Second); {
		if !wait.For(ctx, pause) {
			return nil, 0, ctx.Err()
		}
		began := time.Now()
		if bytes, err = fetch(ctx, client, gateway+q.path); err != nil {
			return nil, 0, err
		}
		took = append(took, time.Since(began))
		total += took[len(took)-1]
	}
	slices.Sort(took)
	return took, bytes, nil
}

// fetch reads an answer and returns its length.
func fetch(ctx context.Context, client *http.Client, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-API-Key", system.APIKey)
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("answered with %s", res.Status)
	}
	return io.Copy(io.Discard, res.Body)
}
