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

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// result is the result of one measurement.
type result struct {
	rate        float64 // answers per second
	median, p99 time.Duration
}

// measure starts a service and reads one of its monitors for the duration, over all
// connections at once.
func measure(ctx context.Context, duration time.Duration, c system.Config) (r result, err error) {
	s, err := system.Start(ctx, c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	id, err := s.Register(ctx, "https://www.youtube.com/watch?v=benchmarkID", "http://127.0.0.1:9/hook", nil)
	if err != nil {
		return r, err
	}
	defer func() {
		_, stopped := s.Call(ctx, http.MethodDelete, "/api/v1/monitors/"+id, nil)
		err = errors.Join(err, stopped)
	}()
	url := s.URL() + "/api/v1/monitors/" + id
	if _, err := read(ctx, url, duration/10); err != nil { // warm
		return r, err
	}
	began := time.Now()
	took, err := read(ctx, url, duration)
	if err != nil {
		return r, err
	}
	r.rate = float64(len(took)) / time.Since(began).Seconds()
	slices.Sort(took)
	r.median, r.p99 = took[len(took)/2], took[len(took)*99/100]
	return r, nil
}

// read requests url repeatedly and returns the time that each answer took.
func read(ctx context.Context, url string, duration time.Duration) ([]time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	until := time.Now().Add(duration)
	took := make([][]time.Duration, connections)
	failed := make([]error, connections)
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			for time.Now().Before(until) && ctx.Err() == nil && failed[i] == nil {
				began := time.Now()
				failed[i] = get(ctx, client, url)
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	all.Wait()
	return slices.Concat(took...), errors.Join(errors.Join(failed...), ctx.Err())
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-API-Key", system.APIKey)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("answered with %s", res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
