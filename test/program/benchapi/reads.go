package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// connections is the number of requests in flight at any time.
const connections = 16

// The API must reach these on a machine with two cores.
const (
	minRate = 2000                  // requests per second
	maxP99  = 20 * time.Millisecond // of a request
)

// measureReads measures reads of one monitor.
func measureReads(ctx context.Context, g gateway, duration time.Duration) error {
	var rate float64
	var took bench.Times
	for _, c := range []struct{ name, env string }{
		{"GET of one monitor, counted by rate limits", "RATE_LIMIT_QUERY_PER_MIN=60000000"}, {"GET of one monitor", "RATE_LIMIT_QUERY_PER_MIN=0"},
	} {
		err := g.run(ctx, func(s *system.Service) (err error) {
			id, err := s.Register(ctx, "https://www.youtube.com/watch?v=benchmarkID", "http://127.0.0.1:9/hook", nil)
			if err != nil {
				return err
			}
			url := s.URL() + "/api/v1/monitors/" + id
			if _, err = readAll(ctx, url, duration/10); err != nil { // warm
				return err
			}
			took, err = readAll(ctx, url, duration)
			rate = float64(len(took)) / duration.Seconds()
			fmt.Printf("%-42s %8.0f /s   %s\n", c.name, rate, took)
			_, stopped := s.Call(ctx, http.MethodDelete, "/api/v1/monitors/"+id, nil)
			return errors.Join(err, stopped)
		}, c.env)
		if err != nil {
			return err
		}
	}
	if rate < minRate || took.Percentile(99) > maxP99 {
		return fmt.Errorf("expected at least %d requests per second and a p99 of at most %s", minRate, maxP99)
	}
	return nil
}

// readAll requests url repeatedly, over all connections at once.
func readAll(ctx context.Context, url string, duration time.Duration) (bench.Times, error) {
	client := &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	until := time.Now().Add(duration)
	took := make([]bench.Times, connections)
	failed := make([]error, connections)
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			for time.Now().Before(until) && failed[i] == nil {
				began := time.Now()
				_, failed[i] = get(ctx, client, url)
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	all.Wait()
	return slices.Concat(took...), errors.Join(failed...)
}

// get reads an answer and returns its length.
func get(ctx context.Context, client *http.Client, url string) (int64, error) {
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
		return 0, fmt.Errorf("%s is answered with %s", url, res.Status)
	}
	return io.Copy(io.Discard, res.Body)
}
