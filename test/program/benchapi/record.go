package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

//go:embed fill.sql
var fillStatements string

// Size of the measured installation, and of a measurement.
const (
	filledMonitors = 1000
	requests       = 200
	longest        = 20 * time.Second // of the requests of one kind, without the pauses
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

// measureRecord fills a database with 1,000 monitors, and measures the requests of an operator
// through a gateway, and the sweeps.
func measureRecord(ctx context.Context, dir, binary string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) error {
		err := bench.WithStore(ctx, db.DSN, postgres.Config{}, func(store *postgres.Store) error { return fill(ctx, store, db) })
		if err != nil {
			return err
		}
		questions, err := questionsOf(ctx, db)
		if err != nil {
			return err
		}
		slow := withGateway(ctx, binary, dir, db.DSN, func(s *system.Service) error { return measureQuestions(ctx, s, questions) })
		return errors.Join(slow, measureSweeps(ctx, db))
	})
}

// fill stores the monitors and their record, and merges their minutes as the elected gateway does.
func fill(ctx context.Context, store *postgres.Store, db bench.Database) error {
	began := time.Now()
	for statement := range strings.SplitSeq(strings.TrimSpace(fillStatements), ";\n") {
		if _, err := db.ExecContext(ctx, statement, filledMonitors); err != nil {
			return fmt.Errorf("fill the database: %w in\n%s", err, statement)
		}
	}
	if _, err := db.ExecContext(ctx, `VACUUM ANALYZE`); err != nil {
		return err
	}
	fmt.Printf("\n%d monitors with events, incidents and history filled in %.0f s\n", filledMonitors, time.Since(began).Seconds())
	var steps bench.Times
	for more := true; more; {
		var err error
		began := time.Now()
		if more, err = store.MergeMinutes(ctx, history.SettledBefore(time.Now())); err != nil {
			return err
		}
		steps = append(steps, time.Since(began))
	}
	fmt.Printf("%-42s %8d steps   %s\n", "merging minutes by ten", len(steps), steps)
	_, err := db.ExecContext(ctx, `VACUUM ANALYZE history_ten_minutes`) // as the server does by itself
	return err
}

// questionsOf returns the requests that are measured, for the newest monitor.
func questionsOf(ctx context.Context, db bench.Database) ([]question, error) {
	var id, incident, cursor string
	err := db.QueryRowContext(ctx, `
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

// measureQuestions prints the time of each request. Error: some are above their limit.
func measureQuestions(ctx context.Context, s *system.Service, questions []question) error {
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	defer client.CloseIdleConnections()
	load, _ := os.ReadFile("/proc/loadavg") // absent elsewhere than on Linux
	fmt.Printf("%d requests each, one at a time (start of the feed: %d); load of the machine: %s", requests, startRequests, load)
	var late []string
	for _, q := range questions {
		count, pause := requests, time.Duration(0)
		if q.path == feedStart {
			count, pause = startRequests, startPause
		}
		var took bench.Times
		var bytes int64
		for until := time.Now().Add(longest + time.Duration(count)*pause); len(took) < count && (len(took) < 3 || time.Now().Before(until)); {
			wait.For(ctx, pause)
			began := time.Now()
			var err error
			if bytes, err = get(ctx, client, s.URL()+q.path); err != nil {
				return fmt.Errorf("%s: %w; the gateway's log ends:\n%s", q.name, err, s.Tail(3))
			}
			took = append(took, time.Since(began))
		}
		verdict := "no limit"
		switch {
		case q.limited && took.Percentile(99) > maxRecordP99:
			verdict = "FAILED: above " + maxRecordP99.String()
			late = append(late, q.name)
		case q.limited:
			verdict = "passed"
		}
		fmt.Printf("%-42s %8.1f kB   %s   in %3d   %s\n", q.name, float64(bytes)/1000, took, len(took), verdict)
	}
	if len(late) > 0 {
		return fmt.Errorf("p99 above %s: %s", maxRecordP99, strings.Join(late, "; "))
	}
	return nil
}
