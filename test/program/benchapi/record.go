package main

import (
	"context"
	_ "embed"
	"fmt"
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

const (
	limited   = 200 // requests of each kind that an operator waits for
	unlimited = 10  // of each other kind
	longest   = 3 * time.Minute
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
	count      int // of requests

	asked time.Time // the newest
	took  bench.Times
	bytes int64
}

// fill stores 1,000 monitors with their history.
func fill(ctx context.Context, db bench.Database) error {
	settled := history.SettledBefore(time.Now()).UTC().Format("'" + time.RFC3339 + "'")
	return bench.WithStore(ctx, db.DSN, postgres.Config{}, func(*postgres.Store) error {
		return db.Fill(ctx, fillStatements, ":monitors", "1000", ":settled", settled)
	})
}

// questionsOf returns the requests that are measured, for the newest monitor.
func questionsOf(ctx context.Context, db bench.Database) (all []*question, err error) {
	var id, incident, cursor string
	err = db.QueryRowContext(ctx, `
		SELECT m.id, (SELECT i.id FROM incidents i WHERE i.monitor_id = m.id ORDER BY seq LIMIT 1), (SELECT epoch || '-' || version - 100 FROM feed_head)
		FROM monitors m ORDER BY seq DESC LIMIT 1`).Scan(&id, &incident, &cursor)
	ago := func(d time.Duration) string { return "from=" + time.Now().Add(-d).UTC().Format(time.RFC3339) }
	add := func(count int, name, path string) {
		all = append(all, &question{name: name, path: path, count: count})
	}
	const hour, day = time.Hour, 24 * time.Hour
	monitors, incidents, statistics := "/api/v1/monitors", "/api/v1/incidents", "/api/v1/statistics?zone=Asia/Tokyo"
	timeline := monitors + "/" + id + "/timeline?"
	add(limited, "monitors", monitors)
	add(limited, "monitors, 200", monitors+"?limit=200")
	add(limited, "monitors, status=completed", monitors+"?status=completed")
	add(limited, "monitors, trouble", monitors+"?trouble=true")
	add(limited, "monitors, blind", monitors+"?blind=true")
	add(limited, "monitors, live", monitors+"?live=true")
	add(limited, "monitors, q", monitors+"?q=channel+77")
	add(limited, "one monitor", monitors+"/"+id)
	add(unlimited, "its events", monitors+"/"+id+"/events")
	add(limited, "incidents", incidents)
	add(limited, "incidents, 200", incidents+"?limit=200")
	add(limited, "incidents, open", incidents+"?state=open")
	add(limited, "incidents, condition=no_media", incidents+"?condition=no_media")
	add(limited, "incidents, condition=late (none)", incidents+"?condition=late")
	add(limited, "incidents, severity=3", incidents+"?severity=3")
	add(limited, "incidents of a monitor", incidents+"?monitor_id="+id)
	add(limited, "incidents of a month ago", incidents+"?"+ago(30*day)+"&to="+time.Now().Add(-29*day).UTC().Format(time.RFC3339))
	add(limited, "one incident", incidents+"/"+incident)
	add(limited, "timeline, 1 h", timeline+ago(hour))
	add(limited, "timeline, 24 h", timeline+ago(day))
	add(limited, "timeline, 35 d", timeline+ago(35*day))
	add(limited, "timeline, 35 d in 2,000 buckets", timeline+ago(35*day)+"&buckets=2000")
	add(unlimited, "sessions", monitors+"/"+id+"/sessions")
	add(unlimited, "statistics, a monitor, 35 d", statistics+"&by=day&monitor_id="+id+"&"+ago(35*day))
	add(unlimited, "statistics, all, 24 h", statistics+"&by=hour&"+ago(day))
	add(unlimited, "statistics, all, 35 d", statistics+"&by=day&"+ago(35*day))
	add(startRequests, "feed, start (state.replace)", feedStart)
	add(unlimited, "feed, 100 entries", "/api/v1/feed?after="+cursor)
	return all, err
}

// measureRequests measures the requests of an operator, and prints the times of each. Error: some are
// above their limit.
func measureRequests(ctx context.Context, g gateway) error {
	questions, err := questionsOf(ctx, g.db)
	if err != nil {
		return err
	}
	if err := g.run(ctx, func(s *system.Service) error { return ask(ctx, s, questions) }); err != nil {
		return err
	}
	load, _ := os.ReadFile("/proc/loadavg") // absent elsewhere than on Linux
	fmt.Printf("requests in a database of 1000 monitors, one at a time; load of the machine: %s", load)
	var late []string
	for _, q := range questions {
		verdict := "passed"
		switch {
		case q.count == unlimited:
			verdict = "no limit"
		case q.took.Percentile(99) > maxRecordP99:
			verdict = "FAILED: above " + maxRecordP99.String()
			late = append(late, q.name)
		}
		fmt.Printf("%-42s %8.1f kB   %s   in %3d   %s\n", q.name, float64(q.bytes)/1000, q.took, len(q.took), verdict)
	}
	if len(late) > 0 {
		return fmt.Errorf("p99 above %s: %s", maxRecordP99, strings.Join(late, "; "))
	}
	return nil
}

// ask asks the questions in turn, one at a time. The start of the feed pauses while others are asked.
func ask(ctx context.Context, s *system.Service, questions []*question) error {
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	defer client.CloseIdleConnections()
	until := time.Now().Add(longest)
	for left := 1; left > 0 && time.Now().Before(until); wait.For(ctx, time.Millisecond) {
		left = 0
		for _, q := range questions {
			left += q.count - len(q.took)
			if len(q.took) == q.count || q.path == feedStart && time.Since(q.asked) < startPause {
				continue
			}
			var err error
			q.asked = time.Now()
			if q.bytes, err = get(ctx, client, s.URL()+q.path); err != nil {
				return err
			}
			q.took = append(q.took, time.Since(q.asked))
		}
	}
	return nil
}
